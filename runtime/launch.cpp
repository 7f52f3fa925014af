#include "kiln/launch.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernel_record.h"

namespace kiln {
namespace {

constexpr std::uint32_t float_infinity = 0x7f800000;
constexpr std::uint32_t float_magnitude = 0x7fffffff;

/// value / 2^shift, rounded to nearest, ties to even.
std::uint32_t shift_rounded(std::uint32_t value, int shift) {
  const std::uint32_t below_half = (std::uint32_t{1} << (shift - 1)) - 1;
  const std::uint32_t odd = (value >> shift) & 1;
  return (value + below_half + odd) >> shift;
}

std::uint16_t half_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  const std::uint32_t magnitude = bits & float_magnitude;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  std::uint32_t result = 0;
  if (magnitude > float_infinity) {
    result = 0x7e00;
  } else if (exponent > 15) {
    result = 0x7c00;
  } else if (exponent >= -14) {
    // A carry out of the mantissa raises the exponent, up to infinity, as it should.
    result = shift_rounded(magnitude - ((127 - 15) << 23), 13);
  } else if (exponent >= -25) {
    const std::uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
    result = shift_rounded(mantissa, -exponent - 1);
  }
  return static_cast<std::uint16_t>(sign | result);
}

float half_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) {
    return std::bit_cast<float>(sign | float_infinity | (magnitude & 0x3ff) << 13);
  }
  // Neither way makes a subnormal float, which a program may have told its processor to flush.
  const std::uint32_t bits_of_magnitude =
      magnitude < 0x400 ? std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24F)
                        : (magnitude << 13) + ((127 - 15) << 23);
  return std::bit_cast<float>(sign | bits_of_magnitude);
}

std::uint16_t bfloat16_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & float_magnitude) > float_infinity;
  return static_cast<std::uint16_t>(is_nan ? (bits >> 16) | 0x40 : shift_rounded(bits, 16));
}

std::size_t aligned(std::size_t offset, std::size_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

std::string text_of(const Dim3& size) { return fmt::format("{}x{}x{}", size.x, size.y, size.z); }

bool is_empty(const Dim3& size) { return size.x == 0 || size.y == 0 || size.z == 0; }

Result<void> check_config(const KernelRecord& record, const LaunchConfig& config) {
  if (!is_empty(config.grid) && !is_empty(config.block)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("kernel '{}': grid {} and block {}: no dimension may be 0",
                          record.info.expression, text_of(config.grid), text_of(config.block)));
}

Result<void> check_arguments(const KernelRecord& record, const Args& args) {
  const std::string& expression = record.info.expression;
  const std::vector<Parameter>& params = record.info.params;
  if (!args.fits()) {
    return fail(ErrorCode::argument_mismatch,
                fmt::format("kernel '{}': {} arguments were given, which together are larger than "
                            "the {} bytes that CUDA takes",
                            expression, args.size(), Args::max_bytes));
  }
  if (!record.info.params_known) return {};
  if (args.size() != params.size()) {
    return fail(ErrorCode::argument_mismatch,
                fmt::format("kernel '{}' takes {} arguments, {} were given", expression,
                            params.size(), args.size()));
  }
  for (std::size_t position = 0; position < params.size(); ++position) {
    const ArgView given = args[position];
    if (given.bytes.size() == params[position].size) continue;
    return fail(
        ErrorCode::argument_mismatch,
        fmt::format("kernel '{}': argument {} of {} takes {} bytes, but {} bytes were given "
                    "({})",
                    expression, position + 1, params.size(), params[position].size,
                    given.bytes.size(), to_string(given.kind)));
  }
  return {};
}

/// Hands the launch to the driver. `pointers` has room for one pointer for each argument.
Result<void> launch_checked(const KernelRecord& record, CUstream stream, const LaunchConfig& config,
                            const Args& args, std::span<void*> pointers) {
  for (std::size_t position = 0; position < args.size(); ++position) {
    pointers[position] = const_cast<std::byte*>(args[position].bytes.data());
  }
  const auto call = [&] {
    // The driver's headers say that a CUkernel is launched by casting it.
    return record.driver->functions().launch_kernel(
        reinterpret_cast<CUfunction>(record.kernel), config.grid.x, config.grid.y, config.grid.z,
        config.block.x, config.block.y, config.block.z, config.shared_bytes, stream,
        pointers.data(), nullptr);
  };
  CUresult result = call();
  if (result == CUDA_ERROR_INVALID_CONTEXT) {
    // A thread that never spoke to CUDA: seen only here, so that the ordinary launch pays nothing.
    if (auto ready = record.driver->ensure_context(record.device); !ready) return ready;
    result = call();
  }
  if (result == CUDA_SUCCESS) return {};
  return record.driver->failure(
      fmt::format("kernel '{}': the launch failed (grid {}, block {}, {} bytes of dynamic shared "
                  "memory)",
                  record.info.expression, text_of(config.grid), text_of(config.block),
                  config.shared_bytes),
      result);
}

Result<void> launch_record(const KernelRecord& record, CUstream stream, const LaunchConfig& config,
                           const Args& args) {
  if (auto sound = check_config(record, config); !sound) return sound;
  if (auto sound = check_arguments(record, args); !sound) return sound;
  if (args.size() <= Args::inline_count) {
    std::array<void*, Args::inline_count> pointers;
    return launch_checked(record, stream, config, args, pointers);
  }
  std::vector<void*> pointers(args.size());
  return launch_checked(record, stream, config, args, pointers);
}

}  // namespace

Half::Half(float value) noexcept : bits(half_bits(value)) {}
Half::operator float() const noexcept { return half_value(bits); }

Half Half::from_bits(std::uint16_t bits) noexcept {
  Half half;
  half.bits = bits;
  return half;
}

BFloat16::BFloat16(float value) noexcept : bits(bfloat16_bits(value)) {}
BFloat16::operator float() const noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

BFloat16 BFloat16::from_bits(std::uint16_t bits) noexcept {
  BFloat16 number;
  number.bits = bits;
  return number;
}

const char* to_string(ArgKind kind) noexcept {
  constexpr std::array names{"bool",     "int8",   "int16",  "int32",   "int64",
                             "uint8",    "uint16", "uint32", "uint64",  "half",
                             "bfloat16", "float",  "double", "pointer", "structure"};
  static_assert(names.size() == static_cast<std::size_t>(ArgKind::structure) + 1);
  return names[static_cast<std::size_t>(kind)];
}

struct Args::Large {
  struct alignas(max_alignment) Block {
    std::array<std::byte, max_alignment> bytes;
  };
  std::vector<Block> blocks;
  std::vector<Slot> slots;

  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(blocks.data()); }

  void reserve_bytes(std::size_t size) {
    blocks.resize(std::max(blocks.size(), aligned(size, max_alignment) / max_alignment));
  }
};

void Args::LargeDeleter::operator()(Large* large) const noexcept { delete large; }

Args::Args(const Args& other) { copy_from(other); }

Args::Args(Args&& other) noexcept { *this = std::move(other); }

Args& Args::operator=(const Args& other) {
  if (this != &other) copy_from(other);
  return *this;
}

Args& Args::operator=(Args&& other) noexcept {
  if (this == &other) return *this;
  if (other.large_) {
    large_ = std::move(other.large_);
    used_bytes_ = other.used_bytes_;
    count_ = other.count_;
    refused_ = other.refused_;
  } else {
    copy_from(other);  // Everything is inline, so nothing is allocated.
  }
  other.used_bytes_ = other.count_ = other.refused_ = 0;
  return *this;
}

void Args::copy_from(const Args& other) {
  large_.reset(other.large_ ? new Large(*other.large_) : nullptr);
  if (!large_) {
    std::copy_n(other.inline_storage_.data(), other.used_bytes_, inline_storage_.data());
    std::copy_n(other.inline_slots_.data(), other.count_, inline_slots_.data());
  }
  used_bytes_ = other.used_bytes_;
  count_ = other.count_;
  refused_ = other.refused_;
}

void Args::append(const void* value, std::size_t size, std::size_t alignment, ArgKind kind) {
  const std::size_t offset = aligned(used_bytes_, alignment);
  if (refused_ != 0 || offset + size > max_bytes) {
    ++refused_;
    return;
  }
  const Slot slot{static_cast<std::uint16_t>(offset), static_cast<std::uint16_t>(size),
                  static_cast<std::uint8_t>(alignment), kind};
  if (!large_ && (count_ == inline_count || offset + size > inline_bytes)) move_to_heap();
  if (large_) {
    large_->reserve_bytes(offset + size);
    large_->slots.push_back(slot);
    std::memcpy(large_->bytes() + offset, value, size);
  } else {
    inline_slots_[count_] = slot;
    std::memcpy(inline_storage_.data() + offset, value, size);
  }
  used_bytes_ = offset + size;
  ++count_;
}

void Args::move_to_heap() {
  large_.reset(new Large);
  large_->reserve_bytes(used_bytes_);
  large_->slots.assign(inline_slots_.data(), inline_slots_.data() + count_);
  std::copy_n(inline_storage_.data(), used_bytes_, large_->bytes());
}

const Args::Slot* Args::slots() const noexcept {
  return large_ ? large_->slots.data() : inline_slots_.data();
}

const std::byte* Args::bytes() const noexcept {
  return large_ ? large_->bytes() : inline_storage_.data();
}

ArgView Args::operator[](std::size_t position) const noexcept {
  const Slot& slot = slots()[position];
  return {slot.kind, slot.alignment, {bytes() + slot.offset, slot.size}};
}

bool Args::operator==(const Args& other) const noexcept {
  if (count_ != other.count_ || refused_ != other.refused_) return false;
  for (std::size_t position = 0; position < count_; ++position) {
    const ArgView left = (*this)[position];
    const ArgView right = other[position];
    if (left.kind != right.kind || left.alignment != right.alignment) return false;
    if (!std::ranges::equal(left.bytes, right.bytes)) return false;
  }
  return true;
}

Result<void> Kernel::launch(CUstream stream, const LaunchConfig& config, const Args& args) const {
  auto launched = launch_record(*record_, stream, config, args);
  if (!launched && record_->failed) record_->failed(launched.error());
  return launched;
}

const KernelInfo& Kernel::info() const noexcept { return record_->info; }

const std::string& Kernel::arch() const noexcept { return record_->arch; }

}  // namespace kiln
