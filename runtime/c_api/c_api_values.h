#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "c_api/c_api_errors.h"

namespace kiln::c_api {

// What callers of the C API give and get. All of it throws what refuse() throws; `name` is the parameter's
// or the field's, for the message.

/// What a pointer that must not be null points to.
template <class T>
[[nodiscard]] T& given(T* pointer, std::string_view name) {
  if (pointer == nullptr) refuse(fmt::format("'{}' is null", name));
  return *pointer;
}

[[nodiscard]] inline Runtime& runtime_of(kiln_runtime* handle) {
  return given(handle, "runtime").runtime;
}

[[nodiscard]] inline const Runtime& runtime_of(const kiln_runtime* handle) {
  return given(handle, "runtime").runtime;
}

[[nodiscard]] inline const Program& program_of(const kiln_program* handle) {
  return given(handle, "program").program;
}

/// Makes a handle of what `make` gives, and stores it in `*handle`. Gives what `make` throws as an error;
/// `*handle` is then unchanged.
template <class Handle, class Make>
[[nodiscard]] kiln_error* make_handle(Handle** handle, std::string_view name, const Make& make) {
  return guarded([&] {
    auto& made = given(handle, name);
    made = new Handle{make()};
  });
}

[[nodiscard]] inline std::string given_text(const char* text, std::string_view name) {
  return &given(text, name);
}

template <class T>
[[nodiscard]] std::span<const T> given_list(const T* values, std::size_t count,
                                            std::string_view name) {
  if (values == nullptr && count != 0)
    refuse(fmt::format("'{}' is null, and its count is {}", name, count));
  return {values, count};
}

[[nodiscard]] inline std::span<const std::byte> given_bytes(const kiln_bytes& bytes,
                                                            std::string_view name) {
  return given_list(static_cast<const std::byte*>(bytes.data), bytes.size, name);
}

[[nodiscard]] inline std::optional<std::string> optional_text(const char* text) {
  return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

[[nodiscard]] inline std::vector<std::string> texts(const char* const* values, std::size_t count,
                                                    std::string_view name) {
  std::vector<std::string> copies;
  for (const char* value : given_list(values, count, name)) {
    copies.push_back(given_text(value, name));
  }
  return copies;
}

[[nodiscard]] inline std::vector<std::filesystem::path> paths(const char* const* values,
                                                              std::size_t count,
                                                              std::string_view name) {
  const auto copies = texts(values, count, name);
  return {copies.begin(), copies.end()};
}

/// The `size` of a caller's structure, which may differ from this library's. A size beyond that of any
/// structure means that it was never set.
template <class T>
[[nodiscard]] std::size_t size_of(const T* structure, std::string_view name) {
  constexpr std::size_t most = 4096;
  const std::size_t size = given(structure, name).size;
  if (size < sizeof(size) || size > most) {
    refuse(fmt::format("the size of '{}' is {}: set it to sizeof, which is {} in this library",
                       name, size, sizeof(T)));
  }
  return size;
}

/// Reads a caller's structure. Fields that it lacks are not set; fields that this library lacks must not be
/// set.
template <class T>
[[nodiscard]] T read(const T* structure, std::string_view name) {
  const std::size_t size = size_of(structure, name);
  const auto* bytes = reinterpret_cast<const unsigned char*>(structure);
  const std::size_t known = std::min(size, sizeof(T));
  if (std::any_of(bytes + known, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    refuse(fmt::format("'{}' has a field set that this library, of API version {}, does not know",
                       name, KILN_API_VERSION));
  }
  T value{};
  std::memcpy(&value, bytes, known);
  return value;
}

/// Fills a caller's structure as far as both know it, and sets the rest of it to zero.
template <class T>
void write(T* structure, std::string_view name, T value) {
  value.size = size_of(structure, name);
  auto* bytes = reinterpret_cast<unsigned char*>(structure);
  std::memset(bytes, 0, value.size);
  std::memcpy(bytes, &value, std::min(value.size, sizeof(T)));
}

// Enumerations by position, so that C's numbers stay where they are whatever becomes of C++'s. Where C has
// "not set", that is 0 and the others follow.

inline constexpr std::array image_kinds{ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir,
                                        ImageKind::optixir, ImageKind::fatbin};
inline constexpr std::array origins{Origin::compiled, Origin::memory, Origin::local, Origin::bundle,
                                    Origin::remote};
inline constexpr std::array event_kinds{EventKind::hit,           EventKind::miss,
                                        EventKind::compile_begin, EventKind::compile_end,
                                        EventKind::store,         EventKind::not_stored,
                                        EventKind::load,          EventKind::launch_failed,
                                        EventKind::remote_store,  EventKind::lease_wait};
inline constexpr std::array parameter_kind_values{ParameterKind::unknown, ParameterKind::integer,
                                                  ParameterKind::floating, ParameterKind::pointer,
                                                  ParameterKind::other};
inline constexpr std::array modes{Mode::jit, Mode::warn, Mode::cache_only};
inline constexpr std::array log_levels{LogLevel::off, LogLevel::warn, LogLevel::info,
                                       LogLevel::debug};
inline constexpr std::array switches{true, false};
inline constexpr std::array tools{&Runtime::compiler, &Runtime::driver, &Runtime::linker,
                                  &Runtime::packer, &Runtime::worker};
/// The first is 1, as 0 is no error.
inline constexpr std::array error_codes{
    ErrorCode::invalid_argument, ErrorCode::invalid_setting,  ErrorCode::invalid_option,
    ErrorCode::unknown_arch,     ErrorCode::unknown_kernel,   ErrorCode::header_not_found,
    ErrorCode::compile_failed,   ErrorCode::link_failed,      ErrorCode::not_cached,
    ErrorCode::cancelled,        ErrorCode::queue_full,       ErrorCode::timed_out,
    ErrorCode::worker_failed,    ErrorCode::compiler_missing, ErrorCode::driver_missing,
    ErrorCode::driver_failed,    ErrorCode::capturing,        ErrorCode::argument_mismatch,
    ErrorCode::cache_unusable,   ErrorCode::too_large,        ErrorCode::not_found,
    ErrorCode::ambiguous,        ErrorCode::io_failed};
static_assert(error_codes.size() == static_cast<std::size_t>(ErrorCode::io_failed) + 1 &&
              error_codes.size() == KILN_ERROR_IO_FAILED);
inline constexpr std::array cluster_schedulings{ClusterScheduling::spread,
                                                ClusterScheduling::load_balancing};

/// The value at this position. The error names `number`, which the caller gave.
template <class Values>
[[nodiscard]] auto enumerator_at(const Values& values, std::int64_t position, std::int32_t number,
                                 std::string_view name) {
  if (position < 0 || position >= std::ssize(values)) {
    refuse(fmt::format("'{}' is {}, which is none of its values", name, number));
  }
  return values[static_cast<std::size_t>(position)];
}

template <class Values>
[[nodiscard]] auto enumerator(const Values& values, std::int32_t number, std::string_view name) {
  return enumerator_at(values, number, number, name);
}

template <class Values>
[[nodiscard]] std::optional<typename Values::value_type> optional_enumerator(
    const Values& values, std::int32_t number, std::string_view name) {
  if (number == 0) return std::nullopt;
  return enumerator_at(values, std::int64_t{number} - 1, number, name);
}

template <class Values>
[[nodiscard]] std::int32_t number_of(const Values& values, typename Values::value_type value) {
  return static_cast<std::int32_t>(std::ranges::find(values, value) - values.begin());
}

[[nodiscard]] inline kiln_image_kind image_kind_number(const std::string& name) {
  return number_of(image_kinds, parse_image_kind(name).value());
}

[[nodiscard]] inline Target target_of(const char* arch, kiln_image_kind kind) {
  return Target::parse(given_text(arch, "arch"), enumerator(image_kinds, kind, "kind")).value();
}

/// Longer ones are cut off at a year, which steady_clock can still add to its own.
[[nodiscard]] inline std::chrono::milliseconds milliseconds(std::uint64_t count) {
  constexpr std::chrono::milliseconds year = std::chrono::years(1);
  return std::min<std::uint64_t>(count, year.count()) * std::chrono::milliseconds(1);
}

/// Borrows all that it is given.
[[nodiscard]] inline kiln_kernel_info info_of(const KernelInfo& info, const Parameters& parameters,
                                              const std::string& arch, const std::string& kind) {
  return {.size = sizeof(kiln_kernel_info),
          .expression = info.expression.c_str(),
          .symbol = info.symbol.c_str(),
          .arch = arch.c_str(),
          .kind = image_kind_number(kind),
          .registers = info.registers,
          .shared_bytes = info.shared_bytes,
          .local_bytes = info.local_bytes,
          .params_known = info.params_known,
          .param_count = parameters.params.size(),
          .params = parameters.params.data(),
          .param_kinds = parameters.kinds.data()};
}

}  // namespace kiln::c_api
