#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/reporter.h"
#include "image/served_artifact.h"
#include "kiln/digest.h"
#include "kiln/error.h"
#include "kiln/launch.h"
#include "kiln/program.h"
#include "launch/ended_images.h"
#include "launch/kernel_record.h"
#include "launch/kernel_table.h"
#include "launch/loaded_image.h"
#include "vendor/driver.h"

namespace kiln {

/// An image for a device, and what was chosen of the program to make it.
struct ChosenImage {
  ServedArtifact obtained;
  ProgramChoice choice;
};

/// The kernels of a runtime. It loads each image once for each device, however many kernels and programs use
/// it, and keeps it until the runtime ends. Safe to use from any thread.
class Kernels {
 public:
  /// Gives the image to load for a device. It is asked again after its last answer was forgotten. The choice
  /// is valid as long as the program.
  using Obtain =
      std::function<Result<ChosenImage>(const vendor::Device& device, const Program& program)>;
  /// Forgets the image of this key, which the driver refused.
  using Forget = std::function<void(const Digest& key)>;

  Kernels(const Reporter& reporter, Obtain obtain, Forget forget);
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;
  /// Unloads all images. Their handles find an error from then on.
  ~Kernels();

  /// The kernel of this expression for the device of the calling thread's context. Errors: those of
  /// Runtime::kernel().
  [[nodiscard]] Result<Kernel> find(const std::shared_ptr<const vendor::Driver>& driver,
                                    const Program& program, std::string_view expression);

  /// The same from the image that `obtain` gives and no other. Not memoised by expression.
  [[nodiscard]] Result<Kernel> find(const std::shared_ptr<const vendor::Driver>& driver,
                                    const Program& program, std::string_view expression,
                                    const Obtain& obtain);

  /// The program's image, for the same device. Errors: those of Runtime::module().
  [[nodiscard]] Result<const LoadedImage*> image(
      const std::shared_ptr<const vendor::Driver>& driver, const Program& program);

  /// Loads this image for the same device, whatever made it. Errors: capturing, driver_failed.
  [[nodiscard]] Result<const LoadedImage*> image(
      const std::shared_ptr<const vendor::Driver>& driver, const Artifact& artifact);

  [[nodiscard]] std::uint64_t loads() const noexcept { return loads_; }
  [[nodiscard]] std::uint64_t refusals() const noexcept { return refusals_; }

 private:
  /// What is loaded of a program for a device.
  struct Loaded {
    const LoadedImage* image;
    std::map<std::string, std::string, std::less<>>
        renamed;  ///< Expressions with another name there.
  };

  static Result<const KernelRecord*> record_of(const Result<Loaded>& loaded, const Program& program,
                                               std::string_view expression);
  Result<Loaded> loaded_for(const std::shared_ptr<const vendor::Driver>& driver, CUdevice device,
                            const Program& program, std::string_view wanted);
  Result<Loaded> load_for(const std::shared_ptr<const vendor::Driver>& driver, CUdevice device,
                          const Program& program, std::string_view wanted, const Obtain& obtain);
  Result<const LoadedImage*> load(const std::shared_ptr<const vendor::Driver>& driver,
                                  const vendor::Device& device, const Artifact& artifact,
                                  Origin origin, const std::string& remark);
  Result<std::unique_ptr<LoadedImage>> load_image(
      const std::shared_ptr<const vendor::Driver>& driver, const vendor::Device& device,
      const Artifact& artifact, const ImageIdentity& identity);
  bool first_refusal(const Digest& identity);
  bool is_final(const Digest& identity, Origin origin);

  const Reporter& reporter_;
  const Obtain obtain_;
  const Forget forget_;

  std::mutex mutex_;
  LoadedImages images_;
  std::map<std::pair<std::uint64_t, CUdevice>, Loaded> by_program_;
  std::set<Digest> refused_;  ///< Images that the driver did not take.
  std::set<Digest> final_;    ///< Images that the compiler made here.
  KernelTable known_;
  std::atomic<std::uint64_t> loads_{0};
  std::atomic<std::uint64_t> refusals_{0};
};

}  // namespace kiln
