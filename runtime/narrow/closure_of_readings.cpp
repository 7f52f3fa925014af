#include "narrow/closure_of_readings.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "narrow/asked_questions.h"
#include "source/header_search.h"

namespace kiln {

namespace {

class AnswersOfThen final : public LookUpAnswers {
 public:
  AnswersOfThen(const HeaderSearch& search, const Readings& readings, HeaderFiles& files)
      : search_(search), asked_(readings, search), files_(files) {
    for (const auto& reading : readings.files)
      if (reading.read_at != 0) read_.emplace(reading.path, &reading);
  }

  // By one path a header may have been read below several include directories, and each is another includer.
  FoundHeader find(std::string_view spelling, const FoundHeader* quoted_in) override {
    const bool in_header = quoted_in != nullptr && quoted_in->path != search_.source().path;
    Dependency look_up{std::string(spelling), Dependency::no_parent};
    if (quoted_in != nullptr) look_up.parent = in_header ? 0 : Dependency::source_parent;
    if (!in_header) return find(look_up, Includer{search_.source()});
    if (quoted_in->embedded != nullptr) return find(look_up, Includer{*quoted_in});
    for (auto [at, end] = read_.equal_range(quoted_in->path); at != end; ++at) {
      auto found = find(look_up, Includer{*quoted_in, at->second});
      if (found.found()) return found;
    }
    return {};
  }

  bool is_anywhere(std::string_view spelling) override {
    return !HeaderFinder(search_).find_all(spelling).empty();
  }

  std::shared_ptr<const HeaderText> read(const FoundHeader& found) override {
    if (found.embedded != nullptr)
      return asked_.read_at(found) != 0 ? files_.embedded(*found.embedded) : nullptr;
    const auto at = read_.find(found.path);
    if (at == read_.end()) return nullptr;
    auto text = files_.read(found.path, found.stamp);
    return text && text->digest == at->second->content ? text : nullptr;
  }

 private:
  [[nodiscard]] FoundHeader find(const Dependency& look_up, const Includer& includer) const {
    auto walk = asked_.follow(look_up, includer);
    return walk.made ? std::move(walk.found) : FoundHeader{};
  }

  const HeaderSearch& search_;
  const AskedQuestions asked_;
  HeaderFiles& files_;
  std::unordered_multimap<std::string_view, const Reading*> read_;  ///< By path.
};

}  // namespace

Closure closure_of_readings(const Query& query, std::shared_ptr<const HeaderText> source,
                            const Readings& readings, HeaderFiles& files) {
  AnswersOfThen then(query.search, readings, files);
  return close_over(query.program, std::move(source), query.search, then);
}

}  // namespace kiln
