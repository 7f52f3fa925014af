#include "fingerprint.h"

#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace kiln {

namespace {

// One pass over the recorded look-ups; each parent is found before its children.
class Replay {
 public:
  Replay(const DependencySet& recorded, const HeaderSearch& search, const Witness* witness,
         HeaderFiles& files)
      : recorded_(recorded), search_(search), files_(files) {
    const bool fits = witness != nullptr && witness->stamps.size() == recorded.lookups.size();
    stamps_ = fits ? &witness->stamps : nullptr;
  }

  Replayed run() {
    Replayed result;
    found_.reserve(recorded_.lookups.size());
    for (std::size_t index = 0; index < recorded_.lookups.size(); ++index) {
      const auto& lookup = recorded_.lookups[index];
      found_.push_back(find(lookup));
      if (!found_.back().found() && !lookup.content.empty()) ++result.trusted;
      result.difference = compare(index);
      if (!result.difference.empty()) break;
    }
    return result;
  }

 private:
  FoundHeader find(const Dependency& lookup) const {
    if (lookup.parent == Dependency::no_parent) return search_.find(lookup.spelling);
    if (lookup.parent == Dependency::source_parent)
      return search_.find_quoted(lookup.spelling, search_.source());
    if (lookup.parent < found_.size() && found_[lookup.parent].found()) {
      return search_.find_quoted(lookup.spelling, found_[lookup.parent]);
    }
    return search_.find(lookup.spelling);
  }

  std::string compare(std::size_t index) {
    const auto& lookup = recorded_.lookups[index];
    const auto& here = found_[index];
    if (!here.found()) return {};
    if (lookup.content.empty())
      return fmt::format("header {} was absent and now is there", lookup.spelling);
    if (!lookup.path.empty() && lookup.path != here.place()) {
      return fmt::format("header {} reached the output as {} and is now elsewhere", lookup.spelling,
                         lookup.path);
    }
    if (here.embedded != nullptr ? here.embedded->digest == lookup.content : has_content(index))
      return {};
    return fmt::format("header {} changed", lookup.spelling);
  }

  bool has_content(std::size_t index) {
    const auto& here = found_[index];
    if (stamps_ != nullptr && (*stamps_)[index] == here.stamp) return true;
    return files_.digest(here.path, here.stamp) == recorded_.lookups[index].content;
  }

  const DependencySet& recorded_;
  const HeaderSearch& search_;
  HeaderFiles& files_;
  const std::vector<FileStamp>* stamps_;
  std::vector<FoundHeader> found_;
};

}  // namespace

Request request_of(const Program& program, const Target& target) {
  return {program.name(),    program.source_digest(), program.source().size(), program.options(),
          program.kernels(), target.arch(),           to_string(target.kind())};
}

Replayed replay(const DependencySet& recorded, const HeaderSearch& search, const Witness* witness,
                HeaderFiles& files) {
  if (!recorded.working_directory.empty()) {
    std::error_code failure;
    const auto here = std::filesystem::current_path(failure);
    if (failure || here != recorded.working_directory) {
      return {
          fmt::format("the working directory {} reached the output", recorded.working_directory)};
    }
  }
  return Replay(recorded, search, witness, files).run();
}

Fitness::Fitness(const HeaderSearch& search, CompilerOnThisMachine& compiler, HeaderFiles& files)
    : search_(search), compiler_(compiler), files_(files) {}

bool Fitness::operator()(const DependencySet& dependencies, const Digest& toolchain,
                         const Witness* witness) {
  if (!compiler_.accepts(toolchain)) return refuse("it was made by another compiler");
  auto replayed = replay(dependencies, search_, witness, files_);
  if (!replayed.difference.empty()) return refuse(std::move(replayed.difference));
  trusted_ = replayed.trusted;
  if (trusted_ == 0 || trusting_) return true;
  on_trust_.insert(digest_of(dependencies.material()));
  return false;
}

bool Fitness::trust() {
  trusting_ = on_trust_.size() == 1 || (!on_trust_.empty() && !compiler_.search().files);
  if (!trusting_ && !on_trust_.empty()) {
    refuse(fmt::format("some of its headers are not here, and {} entries differ in them",
                       on_trust_.size()));
  }
  return trusting_;
}

std::string Fitness::remark() const {
  return trusted_ == 0 ? ""
                       : fmt::format("{} of its headers are not here and are trusted", trusted_);
}

bool Fitness::refuse(std::string why) {
  if (why_not_.empty()) why_not_ = std::move(why);
  return false;
}

}  // namespace kiln
