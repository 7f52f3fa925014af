#include "launch/kernels.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/stopwatch.h"
#include "image/driver_age.h"
#include "kiln/caller_state.h"
#include "vendor/nvtx.h"

namespace kiln {

namespace {

// The key alone does not do: a program that kiln cannot account for may have another image under the same
// key.
Digest image_identity(const Artifact& artifact) {
  return digest_of(std::string(artifact.key.view()).append(std::string_view(artifact.image)));
}

// Whether the driver says that it does not run the image, whatever the reason.
bool is_refusal(const Error& error) {
  switch (error.vendor_code) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_SOURCE:
      return error.code == ErrorCode::driver_failed;
    default:
      return false;
  }
}

// The program to load for this kernel: itself, or one of the kernel alone where it takes kernels that it does not list.
Result<Program> with_kernel(const Program& program, const std::string& expression) {
  const auto& listed = program.kernels();
  if (std::binary_search(listed.begin(), listed.end(), expression)) return program;
  if (program.extends()) return program.with_kernels({expression});
  if (listed.empty()) return program;
  return fail(ErrorCode::unknown_kernel,
              fmt::format("{}: '{}' is not among the program's kernels: {}", program.name(),
                          expression, fmt::join(listed, "; ")));
}

// Names the refusal first: that there is no compiler, say, matters only because an image was refused.
Error after(const std::optional<Error>& refusal, Error error) {
  if (!refusal) return error;
  return {refusal->code,
          fmt::format("{}; nor is there another image: {}", refusal->message, error.message),
          std::move(error.log), refusal->vendor_code};
}

// `variant` is empty for what has none.
std::string load_in_words(const Artifact& artifact, const vendor::Device& device,
                          std::string_view variant) {
  return fmt::format("{}{} on device {}, {} (compute capability {}.{})", artifact.kind,
                     variant.empty() ? "" : fmt::format(" of variant {}", variant), device.handle,
                     device.name, device.major, device.minor);
}

// A copy, since the choice ends with the program's handle.
std::map<std::string, std::string, std::less<>> renamed_by(const ProgramChoice& choice,
                                                           const Program& program) {
  std::map<std::string, std::string, std::less<>> renamed;
  for (const auto& expression : program.kernels()) {
    const auto own = choice.expression(expression);
    if (own != expression) renamed.emplace(expression, own);
  }
  return renamed;
}

tl::unexpected<Error> capturing(const std::string& program, std::string_view kernel) {
  return fail(
      ErrorCode::capturing,
      fmt::format(
          "{}{} is not loaded, and a stream is being captured, which loading would "
          "spoil with a driver before CUDA 12.3: load it beforehand (Runtime::load_all()), or "
          "update the driver (R545 or newer)",
          program, kernel.empty() ? "" : fmt::format(": kernel '{}'", kernel)));
}

}  // namespace

Kernels::Kernels(const Reporter& reporter, Obtain obtain, Forget forget)
    : reporter_(reporter), obtain_(std::move(obtain)), forget_(std::move(forget)) {}

Kernels::~Kernels() {
  while (!images_.empty()) {
    images_.begin()->second->end();
    EndedImages::of_process().keep(images_.extract(images_.begin()));
  }
}

Result<Kernel> Kernels::find(const std::shared_ptr<const vendor::Driver>& driver,
                             const Program& program, std::string_view expression) {
  const auto device = driver->current_device();
  if (!device) return tl::unexpected(device.error());
  if (const auto* record = known_.find(program.id(), *device, expression)) return Kernel(*record);
  const CallerState caller;
  const auto canonical = canonical_expression(expression);
  const auto asked = with_kernel(program, canonical);
  if (!asked) return tl::unexpected(asked.error());
  const auto record = record_of(loaded_for(driver, *device, *asked, canonical), *asked, canonical);
  if (!record) return tl::unexpected(record.error());
  known_.add(program.id(), *device, expression, **record);
  return Kernel(**record);
}

Result<Kernel> Kernels::find(const std::shared_ptr<const vendor::Driver>& driver,
                             const Program& program, std::string_view expression,
                             const Obtain& obtain) {
  const auto canonical = canonical_expression(expression);
  const auto asked = with_kernel(program, canonical);
  if (!asked) return tl::unexpected(asked.error());
  const auto device = driver->current_device();
  if (!device) return tl::unexpected(device.error());
  const auto record =
      record_of(load_for(driver, *device, *asked, canonical, obtain), *asked, canonical);
  if (!record) return tl::unexpected(record.error());
  return Kernel(**record);
}

Result<const LoadedImage*> Kernels::image(const std::shared_ptr<const vendor::Driver>& driver,
                                          const Program& program) {
  const auto device = driver->current_device();
  if (!device) return tl::unexpected(device.error());
  const auto loaded = loaded_for(driver, *device, program, {});
  if (!loaded) return tl::unexpected(loaded.error());
  return loaded->image;
}

Result<const LoadedImage*> Kernels::image(const std::shared_ptr<const vendor::Driver>& driver,
                                          const Artifact& artifact) {
  const auto device = driver->describe_current_device();
  if (!device) return tl::unexpected(device.error());
  return load(driver, *device, artifact, artifact.origin, load_in_words(artifact, *device, {}));
}

Result<const KernelRecord*> Kernels::record_of(const Result<Loaded>& loaded, const Program& program,
                                               std::string_view expression) {
  if (!loaded) return tl::unexpected(loaded.error());
  const auto at = loaded->renamed.find(expression);
  const auto own = at != loaded->renamed.end() ? std::string_view(at->second) : expression;
  if (const auto* record = loaded->image->find(own)) return record;
  return fail(ErrorCode::unknown_kernel,
              fmt::format("{}: the image for {} has no kernel '{}'", program.name(),
                          loaded->image->device().name, own));
}

// `wanted` is the kernel that was asked for; empty for a whole module.
Result<Kernels::Loaded> Kernels::loaded_for(const std::shared_ptr<const vendor::Driver>& driver,
                                            CUdevice device, const Program& program,
                                            std::string_view wanted) {
  const std::pair asked(program.id(), device);
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = by_program_.find(asked); at != by_program_.end()) return at->second;
  }
  auto loaded = load_for(driver, device, program, wanted, obtain_);
  if (!loaded) return loaded;
  constexpr std::size_t most = 65'536;
  const std::lock_guard lock(mutex_);
  // A host that makes a new program for each call would fill it for ever.
  if (by_program_.size() >= most) by_program_.clear();
  by_program_[asked] = *loaded;
  return loaded;
}

// Drops a stored image that the driver refuses, unless the driver is too old for it, and takes the next best
// one; the last is one that is compiled anew. Where the driver refuses that one, the refusal is final, so
// that nothing goes round in circles.
Result<Kernels::Loaded> Kernels::load_for(const std::shared_ptr<const vendor::Driver>& driver,
                                          CUdevice handle, const Program& program,
                                          std::string_view wanted, const Obtain& obtain) {
  // Such a driver refuses what is loaded amid a capture: nothing is compiled for it.
  if (driver->loading_spoils_a_capture()) return capturing(program.name(), wanted);
  const auto device = driver->describe(handle);
  if (!device) return tl::unexpected(device.error());
  std::optional<Error> refusal;
  for (;;) {
    const auto chosen = obtain(*device, program);
    if (!chosen) return tl::unexpected(after(refusal, chosen.error()));
    const auto& [artifact, origin] = chosen->obtained;
    const auto variant = program.variants().empty() ? std::string_view() : chosen->choice.variant();
    const auto image =
        load(driver, *device, *artifact, origin, load_in_words(*artifact, *device, variant));
    if (image) return Loaded{*image, renamed_by(chosen->choice, program)};
    if (!is_refusal(image.error())) return tl::unexpected(image.error());
    // An image that is compiled anew would be too new as well, and others who share the cache may have a
    // newer driver.
    if (!why_too_old(*artifact, driver->version()).empty()) return tl::unexpected(image.error());
    const auto identity = image_identity(*artifact);
    if (is_final(identity, origin)) return tl::unexpected(image.error());
    if (first_refusal(identity)) {
      ++refusals_;
      reporter_.warn(fmt::format("{}; it is dropped from the cache", image.error().message));
    }
    // Forgets it each time: another thread's look-up may have brought it back into memory.
    forget_(artifact->key);
    refusal = image.error();
  }
}

bool Kernels::first_refusal(const Digest& identity) {
  const std::lock_guard lock(mutex_);
  return refused_.insert(identity).second;
}

// Whether this very image came from the compiler here, so that compiling once more gives no other.
bool Kernels::is_final(const Digest& identity, Origin origin) {
  const std::lock_guard lock(mutex_);
  if (origin == Origin::compiled) final_.insert(identity);
  return final_.contains(identity);
}

Result<const LoadedImage*> Kernels::load(const std::shared_ptr<const vendor::Driver>& driver,
                                         const vendor::Device& device, const Artifact& artifact,
                                         Origin origin, const std::string& remark) {
  const std::lock_guard lock(mutex_);
  const ImageIdentity identity{image_identity(artifact), device.handle};
  if (const auto known = images_.find(identity); known != images_.end()) return known->second.get();
  if (driver->loading_spoils_a_capture()) return capturing(artifact.program, {});
  const vendor::ProfilerRange range(fmt::format("load {} for {}", artifact.program, artifact.arch));
  const Stopwatch watch;
  auto loaded = load_image(driver, device, artifact, identity);
  if (!loaded) return tl::unexpected(std::move(loaded.error()));
  const auto* image = images_.emplace(identity, std::move(*loaded)).first->second.get();
  ++loads_;
  reporter_.tell(EventKind::load, artifact, origin, watch.milliseconds(), remark);
  return image;
}

// In the place of an object that another runtime has left behind, where there is one.
Result<std::unique_ptr<LoadedImage>> Kernels::load_image(
    const std::shared_ptr<const vendor::Driver>& driver, const vendor::Device& device,
    const Artifact& artifact, const ImageIdentity& identity) {
  const auto failed = [this](const Error& error) {
    reporter_.tell({.kind = EventKind::launch_failed,
                    .program = {},
                    .arch = {},
                    .key = {},
                    .detail = error.message});
  };
  auto& ended = EndedImages::of_process();
  auto former = ended.take(identity, artifact);
  if (!former) return LoadedImage::load(driver, device, artifact, failed);
  if (former.mapped()->load_again(driver, artifact, failed)) return std::move(former.mapped());
  ended.keep(std::move(former));
  return LoadedImage::load(driver, device, artifact, failed);
}

}  // namespace kiln
