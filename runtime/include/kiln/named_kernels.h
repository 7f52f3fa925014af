#pragma once

// kiln/named_kernels.h: kernels by an engine's own names, found at the rate of launches.
//
//     kiln::NamedKernels kernels;
//     kernels.set("rms_norm.4096", runtime.kernel(program, "rms_norm<__half, 4096>").value());
//     if (const auto kernel = kernels.find("rms_norm.4096")) kernel->launch(stream, {.block = {256}}, x).value();

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "kiln/export.h"
#include "kiln/launch.h"

namespace KILN_EXPORT kiln {

/// Kernels by name, or by number, or both. Safe to use from any thread. find() takes no lock and nothing from the heap, so that
/// it never waits for a set(). What was set stays until the table ends, and takes some 100 bytes and its name; it may be
/// replaced. A kernel is as valid as any handle: as long as its runtime.
class NamedKernels {
 public:
  NamedKernels();
  ~NamedKernels();
  NamedKernels(NamedKernels&& other) noexcept;
  NamedKernels& operator=(NamedKernels&& other) noexcept;

  /// The kernel that was set last under this name; nothing where there is none.
  [[nodiscard]] std::optional<Kernel> find(std::string_view name) const noexcept;
  /// The same by number. Numbers are names of their own: 7 is not "7".
  [[nodiscard]] std::optional<Kernel> find(std::uint64_t number) const noexcept;

  void set(std::string_view name, const Kernel& kernel);
  void set(std::uint64_t number, const Kernel& kernel);

  /// How many names and numbers there are.
  [[nodiscard]] std::size_t size() const;

 private:
  struct KILN_INTERNAL State;
  std::unique_ptr<State> state_;
};

}  // namespace kiln
