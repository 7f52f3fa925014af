#include "lookup/fitness.h"

#include <utility>

#include <fmt/format.h>

#include "image/driver_age.h"
#include "kiln/signing.h"
#include "lookup/replay.h"

namespace kiln {

namespace {

bool look_as_in(const Witness* witness, const std::vector<FoundHeader>& found) {
  if (witness == nullptr || witness->stamps.size() != found.size()) return false;
  for (std::size_t index = 0; index < found.size(); ++index) {
    const auto& header = found[index];
    if (header.embedded != nullptr) return false;
    if (header.found() && !(witness->stamps[index] == header.stamp)) return false;
  }
  return true;
}

std::optional<std::string> hash_of(const FoundHeader& header, HeaderFiles& files) {
  if (header.embedded == nullptr) return files.hash(header.path, header.stamp);
  return text_hash(files.embedded(*header.embedded)->text);
}

}  // namespace

Fitness::Fitness(const Query& query, InstalledCompiler& compiler,
                 const EligibleToolchains& eligible, HeaderFiles& files, WhyNot& why_not,
                 std::optional<Loading> loading)
    : query_(query),
      compiler_(compiler),
      eligible_(eligible),
      files_(files),
      why_not_(why_not),
      loading_(loading),
      wide_(compiler.toolchain() == nullptr) {}

bool Fitness::fits(const Toolchain& toolchain) {
  if (!eligible_.include(toolchain, compiler_.toolchain())) {
    return refuse(fmt::format(
        "it was made by another compiler, {} (KILN_TOOLCHAINS says whose entries serve)",
        toolchain.text));
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

// A witness of this user's own says which headers have been compared before.
bool Fitness::are_texts(const SignedTexts& signed_texts, const DependencySet& dependencies,
                        const std::vector<FoundHeader>& found, const Witness* witness) {
  if (!signed_texts.is_source(text_hash(query_.program.source()))) return false;
  if (look_as_in(witness, found)) return true;
  std::vector<std::string> hashes(found.size());
  for (std::size_t index = 0; index < found.size(); ++index) {
    if (!found[index].found() || !dependencies.lookups[index].is_read()) continue;
    auto hash = hash_of(found[index], files_);
    if (!hash) return false;
    hashes[index] = std::move(*hash);
  }
  return signed_texts.are_headers(hashes);
}

bool Fitness::operator()(const DependencySet& dependencies, const Toolchain& toolchain,
                         const Witness* witness, const SignedTexts* signed_texts) {
  if (!fits(toolchain)) return false;
  auto replayed = replay(dependencies, query_.search, witness, files_, nullptr, end_);
  if (!replayed.difference.empty()) return refuse(std::move(replayed.difference));
  const bool can_compile = compiler_.search().files && replayed.compiles;
  if (!replayed.holds() && can_compile) return refuse(std::move(replayed.absence));
  trusted_ = replayed.absent;
  if (trusted_ == 0 || trusting_) {
    return signed_texts == nullptr ||
           are_texts(*signed_texts, dependencies, replayed.found, witness) ||
           refuse("its source or a header is not the one that was signed, and only looks alike");
  }
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
