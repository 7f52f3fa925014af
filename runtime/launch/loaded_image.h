#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/artifact.h"
#include "kiln/error.h"
#include "launch/kernel_record.h"
#include "vendor/driver.h"

namespace kiln {

/// An artifact in the driver, with a record for each of its kernels. Safe to use from any thread until it ends: nothing
/// changes. end() unloads the image, so all launches must be over by then. The object and its records stay, and may be
/// loaded again.
class LoadedImage {
 public:
  /// Gives the image to the driver. Needs no context. Where one is current, loads the kernels into it at
  /// once, so that no launch has to. Asks the driver (of CUDA 12.4 or later) for the kernels of an artifact
  /// that lists none, and for parameters that it does not tell. Errors: driver_failed, with the driver's
  /// code; 209 means that the device does not run this image.
  [[nodiscard]] static Result<std::unique_ptr<LoadedImage>> load(
      const std::shared_ptr<const vendor::Driver>& driver, const vendor::Device& device,
      const Artifact& artifact, const LaunchFailureCallback& failed);

  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;
  ~LoadedImage();

  /// Whether this object stands for the artifact, whose identity is its own.
  [[nodiscard]] bool is_of(const Artifact& artifact) const noexcept;

  /// Loads it again. REQUIRES: it has ended, and is of this artifact, for the same device. Errors: as load(); it has ended
  /// then.
  [[nodiscard]] Outcome load_again(const std::shared_ptr<const vendor::Driver>& driver,
                                   const Artifact& artifact, const LaunchFailureCallback& failed);

  /// Unloads it. Whoever has a record or this object finds an error from then on.
  void end() noexcept;

  /// How often it was loaded: a value from an earlier life does not fit this one.
  [[nodiscard]] unsigned life() const noexcept { return life_; }

  /// Errors: invalid_argument, where it has ended.
  [[nodiscard]] Outcome check_alive() const;

  /// The record of this expression's kernel, or nullptr. Valid as long as the image.
  [[nodiscard]] const KernelRecord* find(std::string_view expression) const noexcept;

  /// In the order of their expressions.
  [[nodiscard]] const std::vector<KernelRecord>& kernels() const noexcept { return kernels_; }

  [[nodiscard]] const vendor::Driver& driver() const noexcept { return *driver_; }
  [[nodiscard]] const vendor::Device& device() const noexcept { return device_; }
  [[nodiscard]] CUlibrary library() const noexcept { return library_; }
  [[nodiscard]] const std::string& program() const noexcept { return program_; }
  [[nodiscard]] const std::string& arch() const noexcept { return arch_; }

  /// The symbol of an expression that names no kernel; empty where there is none.
  [[nodiscard]] std::string_view symbol_of(std::string_view expression) const noexcept;

 private:
  LoadedImage(const vendor::Device& device, const Artifact& artifact);

  Outcome give_to_driver(const Artifact& artifact);
  [[nodiscard]] CUresult opinion_of_driver(const Artifact& artifact) const;
  void unload() noexcept;
  Outcome add_kernels(const std::vector<KernelInfo>& kernels, const LaunchFailureCallback& failed);
  Outcome renew_kernels(const LaunchFailureCallback& failed);
  Result<bool> find_kernel(KernelRecord& record);
  void load_kernels_now() const;

  std::shared_ptr<const vendor::Driver> driver_;  ///< Outlives the image's end.
  vendor::Device device_;
  std::string program_;
  std::string arch_;
  std::string kind_;
  CUlibrary library_ = nullptr;  ///< Null where it has ended.
  std::atomic<bool> alive_ = false;
  std::atomic<unsigned> life_ = 0;
  std::vector<KernelRecord> kernels_;
  std::vector<KernelInfo> others_;  ///< What is listed and is no kernel.
};

}  // namespace kiln
