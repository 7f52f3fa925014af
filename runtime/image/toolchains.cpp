#include "image/toolchains.h"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace kiln {

std::optional<ToolchainVersion> version_of(std::string_view toolchain) {
  const auto begin = toolchain.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  const auto* end = toolchain.data() + toolchain.size();
  ToolchainVersion version;
  const auto [dot, error] = std::from_chars(toolchain.data() + begin, end, version.major);
  if (error != std::errc()) return std::nullopt;
  if (dot != end && *dot == '.') (void)std::from_chars(dot + 1, end, version.minor);
  return version;
}

namespace {

// As NVIDIA's libraries that make images are named in entries.
bool is_one(std::string_view text) {
  const auto version = version_of(text);
  if (!version) return false;
  const auto written = fmt::format(" {}.{}", version->major, version->minor);
  return text == "NVRTC" + written || text == "nvJitLink" + written || text == "nvFatbin" + written;
}

}  // namespace

std::optional<EligibleToolchains> EligibleToolchains::parse(std::string_view text) {
  const bool is_rule = text == "own" || text == "same-major" || text == "any";
  if (!is_rule && !is_one(text)) return std::nullopt;
  return EligibleToolchains(text);
}

bool EligibleToolchains::include(const Toolchain& stored, const Toolchain* own) const {
  if (own != nullptr && own->identity == stored.identity) return true;
  if (text_ == "any") return true;
  if (text_ == "own") return own == nullptr;
  if (text_ != "same-major") return stored.text == text_;
  const auto theirs = version_of(stored.text);
  const auto ours = own != nullptr ? version_of(own->text) : std::nullopt;
  // Without a compiler there is no major to compare with. Whether the driver is too old is asked in any case.
  return own == nullptr || (theirs && ours && theirs->major == ours->major);
}

}  // namespace kiln
