#include "kiln/args.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "launch/access.h"

namespace kiln {
namespace {

using ByteSpan = std::span<const std::byte>;

template <class T, class Shown>
std::string number_text(ByteSpan bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return fmt::to_string(static_cast<Shown>(value));
}

std::string pointer_text(ByteSpan bytes) {
  std::uintptr_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return fmt::format("{:#x}", value);
}

std::string structure_text(ByteSpan bytes) {
  constexpr std::size_t shown = 16;
  std::string text = fmt::format("{{{} bytes:", bytes.size());
  for (const std::byte byte : bytes.first(std::min(bytes.size(), shown))) {
    fmt::format_to(std::back_inserter(text), " {:02x}", static_cast<unsigned>(byte));
  }
  return text + (bytes.size() > shown ? " …}" : "}");
}

struct KindFacts {
  const char* name;
  std::size_t size;  ///< 0 where it is not the kind that tells.
  std::string (*text)(ByteSpan);
};

template <class T, class Shown = T>
constexpr KindFacts number(const char* name) {
  return {name, sizeof(T), number_text<T, Shown>};
}

constexpr std::array kinds{
    number<std::uint8_t, bool>("bool"),
    number<std::int8_t, int>("int8"),
    number<std::int16_t>("int16"),
    number<std::int32_t>("int32"),
    number<std::int64_t>("int64"),
    number<std::uint8_t, unsigned>("uint8"),
    number<std::uint16_t>("uint16"),
    number<std::uint32_t>("uint32"),
    number<std::uint64_t>("uint64"),
    number<Half, float>("half"),
    number<BFloat16, float>("bfloat16"),
    number<Float8E4M3, float>("float8_e4m3"),
    number<Float8E5M2, float>("float8_e5m2"),
    number<float>("float"),
    number<double>("double"),
    KindFacts{"pointer", sizeof(void*), pointer_text},
    KindFacts{"array", 0, structure_text},
    KindFacts{"structure", 0, structure_text},
};
static_assert(kinds.size() == static_cast<std::size_t>(ArgKind::structure) + 1);

const KindFacts& facts_of(ArgKind kind) { return kinds[static_cast<std::size_t>(kind)]; }

std::string array_text(ArgKind element, ByteSpan bytes) {
  constexpr std::size_t shown = 8;
  const auto& [name, size, text_of] = facts_of(element);
  if (size == 0) return structure_text(bytes);
  std::string text = "{";
  const std::size_t count = bytes.size() / size;
  for (std::size_t index = 0; index < std::min(count, shown); ++index) {
    if (index != 0) text += ", ";
    text += text_of(bytes.subspan(index * size, size));
  }
  if (count > shown) text += fmt::format(", … {} in all", count);
  return text + "}";
}

}  // namespace

const char* to_string(ArgKind kind) noexcept { return facts_of(kind).name; }

struct Args::Large {
  struct alignas(max_alignment) Block {
    std::array<std::byte, max_alignment> bytes;
  };
  std::vector<Block> blocks;
  std::vector<detail::ArgPlace> layout;
  std::vector<const ArgType*> types;

  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(blocks.data()); }

  void reserve_bytes(std::size_t size) {
    blocks.resize(std::max(blocks.size(), detail::align_up(size, max_alignment) / max_alignment));
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
    std::copy_n(other.inline_layout_.data(), other.count_, inline_layout_.data());
    std::copy_n(other.inline_types_.data(), other.count_, inline_types_.data());
  }
  used_bytes_ = other.used_bytes_;
  count_ = other.count_;
  refused_ = other.refused_;
}

void Args::append(const void* value, std::size_t size, const ArgType& type) {
  const std::size_t offset = detail::align_up(used_bytes_, type.alignment);
  if (refused_ != 0 || size > max_bytes || offset + size > max_bytes) {
    ++refused_;
    return;
  }
  const auto place = detail::place_at(offset, size, type);
  if (!large_ && (count_ == inline_count || offset + size > inline_bytes)) move_to_heap();
  if (large_) {
    large_->reserve_bytes(offset + size);
    large_->layout.push_back(place);
    large_->types.push_back(&type);
  } else {
    inline_layout_[count_] = place;
    inline_types_[count_] = &type;
  }
  // No bytes may be nowhere.
  if (size != 0) std::memcpy(const_cast<std::byte*>(bytes()) + offset, value, size);
  used_bytes_ = offset + size;
  ++count_;
}

Outcome Args::replace(std::size_t position, const void* value, std::size_t size,
                      const ArgType& type) {
  if (position >= count_) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("there is no argument {} to replace: there are {}", position + 1, count_));
  }
  const ArgView old = (*this)[position];
  if (old.bytes.size() != size || old.alignment != type.alignment) {
    return fail(ErrorCode::argument_mismatch,
                fmt::format("argument {} of {} is {} bytes aligned to {} ({}); one of {} bytes "
                            "aligned to {} ({}) cannot replace it, as it would move the others",
                            position + 1, count_, old.bytes.size(), old.alignment, old.type, size,
                            type.alignment, type.name));
  }
  if (size != 0) std::memcpy(const_cast<std::byte*>(old.bytes.data()), value, size);
  (large_ ? large_->types.data() : inline_types_.data())[position] = &type;
  auto& place = (large_ ? large_->layout.data() : inline_layout_.data())[position];
  place = detail::place_at(place.offset, place.size, type);
  return {};
}

void Args::move_to_heap() {
  large_.reset(new Large);
  large_->reserve_bytes(used_bytes_);
  large_->layout.assign(inline_layout_.data(), inline_layout_.data() + count_);
  large_->types.assign(inline_types_.data(), inline_types_.data() + count_);
  std::copy_n(inline_storage_.data(), used_bytes_, large_->bytes());
}

const detail::ArgPlace* Args::layout() const noexcept {
  return large_ ? large_->layout.data() : inline_layout_.data();
}

const ArgType* const* Args::types() const noexcept {
  return large_ ? large_->types.data() : inline_types_.data();
}

const std::byte* Args::bytes() const noexcept {
  return large_ ? large_->bytes() : inline_storage_.data();
}

ArgView Args::operator[](std::size_t position) const noexcept {
  const detail::ArgPlace& place = layout()[position];
  const ArgType& type = *types()[position];
  return {type.kind, type.alignment, {bytes() + place.offset, place.size}, type.name};
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

detail::GivenArgs ArgsAccess::given(const Args& args, std::span<void*> pointers) noexcept {
  const Args::Large* large = args.large_.get();
  const detail::ArgPlace* layout =
      large != nullptr ? large->layout.data() : args.inline_layout_.data();
  const auto* types = large != nullptr ? large->types.data() : args.inline_types_.data();
  auto* bytes = const_cast<std::byte*>(args.bytes());
  for (std::size_t position = 0; position < args.count_; ++position) {
    pointers[position] = bytes + layout[position].offset;
  }
  return {pointers.data(), layout, types, args.count_, true};
}

std::string to_string(const Args& args) {
  const std::size_t held = args.size() - ArgsAccess::refused(args);
  std::string text = "(";
  for (std::size_t position = 0; position < held; ++position) {
    const ArgView view = args[position];
    if (position != 0) text += ", ";
    text.append(view.type).append(" ");
    text += view.kind == ArgKind::array
                ? array_text(ArgsAccess::type(args, position).element, view.bytes)
                : facts_of(view.kind).text(view.bytes);
  }
  if (!args.fits()) text += fmt::format(", and {} that did not fit", args.size() - held);
  return text + ")";
}

std::ostream& operator<<(std::ostream& stream, const Args& args) {
  return stream << to_string(args);
}

}  // namespace kiln
