#include "lookup/fitness.h"

#include <utility>

#include <fmt/format.h>

#include "image/driver_age.h"
#include "lookup/replay.h"

namespace kiln {

Fitness::Fitness(const HeaderSearch& search, InstalledCompiler& compiler,
                 const EligibleToolchains& eligible, HeaderFiles& files, WhyNot& why_not,
                 std::optional<Loading> loading)
    : search_(search),
      compiler_(compiler),
      eligible_(eligible),
      files_(files),
      why_not_(why_not),
      loading_(loading),
      wide_(compiler.toolchain() == nullptr) {}

bool Fitness::fits(const Toolchain& toolchain) {
  if (!eligible_.include(toolchain, compiler_.toolchain())) {
    return refuse(fmt::format("it was made by another compiler, {}", toolchain.text));
  }
  if (loading_ && is_too_new(toolchain.text, loading_->kind, loading_->driver_version)) {
    return refuse(fmt::format("the driver is too old for what {} makes", toolchain.text));
  }
  const auto* own = compiler_.toolchain();
  if (own != nullptr && own->identity == toolchain.identity) {
    made_by_.clear();
    return true;
  }
  others_ = true;
  made_by_ = toolchain.text;
  return wide_;
}

bool Fitness::operator()(const DependencySet& dependencies, const Toolchain& toolchain,
                         const Witness* witness) {
  if (!fits(toolchain)) return false;
  auto replayed = replay(dependencies, search_, witness, files_);
  if (!replayed.difference.empty()) return refuse(std::move(replayed.difference));
  const bool can_compile = compiler_.search().files && replayed.compiles;
  if (!replayed.holds() && can_compile) return refuse(std::move(replayed.absence));
  trusted_ = replayed.absent;
  if (trusted_ == 0 || trusting_) return true;
  on_trust_.insert(digest_of(dependencies.material()));
  absence_ = std::move(replayed.absence);
  return false;
}

bool Fitness::trust() {
  trusting_ = on_trust_.size() == 1 || (!on_trust_.empty() && !compiler_.search().files);
  if (on_trust_.size() > 1 && !trusting_) {
    refuse(fmt::format("some of its headers are not here, and {} entries differ in them",
                       on_trust_.size()));
  } else if (!on_trust_.empty()) {
    refuse(absence_);
  }
  return trusting_;
}

bool Fitness::widen() {
  if (wide_ || !others_) return false;
  wide_ = true;
  trusting_ = false;
  on_trust_.clear();
  return true;
}

std::string Fitness::remark() const {
  std::vector<std::string> remarks;
  if (!made_by_.empty() && compiler_.toolchain() != nullptr)
    remarks.push_back(fmt::format("made by {}, not by the compiler here", made_by_));
  if (trusted_ != 0)
    remarks.push_back(
        fmt::format("{} of its headers are not here and are trusted: {}", trusted_, absence_));
  return fmt::format("{}", fmt::join(remarks, "; "));
}

bool Fitness::refuse(std::string why) {
  why_not_.refuse(std::move(why));
  return false;
}

}  // namespace kiln
