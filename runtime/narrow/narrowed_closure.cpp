#include "narrow/narrowed_closure.h"

#include <utility>

#include <fmt/format.h>

namespace kiln {

NarrowedClosure::NarrowedClosure(const Closure& whole, HeaderFiles& files)
    : whole_(whole), files_(files) {
  closure_.embedded = whole.embedded;
  closure_.source = whole.source;
  closure_.itself = whole.itself;
  closure_.unresolved = whole.unresolved;
  closure_.own_text_tells_path = whole.own_text_tells_path;
  closure_.own_path_uses = whole.own_path_uses;
  closure_.toolkit_tells_path = whole.toolkit_tells_path;
}

std::uint32_t NarrowedClosure::add(Dependency lookup, FoundHeader found, const Reading* reading,
                                   std::size_t index) {
  std::shared_ptr<const HeaderText> text;
  if (found.embedded != nullptr) {
    lookup.content = found.embedded->digest;
    text = known_text(index, lookup.content);
    if (!text) text = files_.embedded(*found.embedded);
  } else if (reading != nullptr) {
    lookup.content = reading->content;
    text = text_of(*reading, index);
  }
  readings_.push_back(found.embedded == nullptr ? reading : nullptr);
  places_.push_back(found.embedded != nullptr ? static_cast<const void*>(found.embedded) : reading);
  const auto position = static_cast<std::uint32_t>(closure_.found.size());
  closure_.dependencies.lookups.push_back(std::move(lookup));
  closure_.found.push_back(std::move(found));
  closure_.texts.push_back(std::move(text));
  return position;
}

void NarrowedClosure::remove_all() {
  closure_.dependencies.lookups.clear();
  closure_.found.clear();
  closure_.texts.clear();
  readings_.clear();
  places_.clear();
}

void NarrowedClosure::decline(std::string reason) {
  if (closure_.not_stored.empty()) closure_.not_stored = std::move(reason);
}

std::shared_ptr<const HeaderText> NarrowedClosure::known_text(std::size_t index,
                                                              const Digest& content) const {
  const bool is_known =
      index < whole_.texts.size() && whole_.texts[index] && whole_.texts[index]->digest == content;
  return is_known ? whole_.texts[index] : nullptr;
}

// The text that the compiler read, whatever lies on the disk by now.
std::shared_ptr<const HeaderText> NarrowedClosure::text_of(const Reading& reading,
                                                           std::size_t index) {
  if (auto text = known_text(index, reading.content)) return text;
  auto text = files_.read(reading.path, reading.stamp);
  if (text && text->digest == reading.content) return text;
  decline(fmt::format("while it was compiled, header {} changed", reading.path));
  return nullptr;
}

}  // namespace kiln
