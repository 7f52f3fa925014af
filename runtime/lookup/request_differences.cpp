#include "lookup/request_differences.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace kiln {

namespace {

using Field = Difference::Field;

constexpr std::size_t longest_value = 160;

// The same source is nearest, then the same name. Beyond that, what people change seldom weighs more.
constexpr unsigned source_weight = 64;
constexpr unsigned program_weight = 48;
constexpr unsigned engine_weight = 16;
constexpr unsigned kind_weight = 12;
constexpr unsigned arch_weight = 10;
constexpr unsigned option_weight = 4;
constexpr unsigned expression_weight = 4;

// Cuts a long value short, but not within a character.
std::string shortened(std::string_view value) {
  if (value.size() <= longest_value) return std::string(value);
  auto length = longest_value;
  while (length > 0 && (static_cast<unsigned char>(value[length]) & 0xc0) == 0x80) --length;
  return std::string(value.substr(0, length)).append("…");
}

class Comparison {
 public:
  Comparison(const Request& asked, const Request& stored) : asked_(asked), stored_(stored) {}

  WeighedDifferences run() {
    // Names all, so that one that is added is not forgotten.
    const auto& [program, source, source_bytes, options, expressions, arch, kind, standard_headers,
                 engine] = asked_;
    compare("program name", Field::program, program, stored_.program, program_weight);
    compare_sources();
    compare("engine", Field::engine, named(engine), named(stored_.engine), engine_weight);
    compare("architecture", Field::arch, arch, stored_.arch, arch_weight);
    compare("image kind", Field::image, kind, stored_.kind, kind_weight);
    compare("standard headers", Field::header, offer(standard_headers),
            offer(stored_.standard_headers), option_weight);
    compare_options();
    compare_expressions();
    return std::move(result_);
  }

 private:
  static std::string named(const std::string& engine) { return engine.empty() ? "none" : engine; }
  static std::string offer(bool offered) { return offered ? "offered" : "not offered"; }

  // An option: where it stands, what it says, and the option whose value it is.
  struct Option {
    std::size_t position;
    std::string_view text;
    [[nodiscard]] std::string_view stem() const { return text.substr(0, text.find('=')); }
  };
  using Options = std::vector<Option>;

  void add(Field field, std::string text, unsigned weight) {
    result_.differences.push_back({field, std::move(text)});
    result_.weight += weight;
  }

  void compare(std::string_view what, Field field, const std::string& asked,
               const std::string& stored, unsigned weight) {
    if (asked == stored) return;
    add(field, fmt::format("{}: {}, stored {}", what, shortened(asked), shortened(stored)), weight);
  }

  // A word that stands for a source tells no size.
  static std::string source_text(const Request& request) {
    const auto digest = request.source.hex().substr(0, 12);
    return request.source_bytes == 0
               ? fmt::format("a word with digest {}", digest)
               : fmt::format("{} bytes with digest {}", request.source_bytes, digest);
  }

  void compare_sources() {
    if (asked_.source == stored_.source) return;
    add(Field::source,
        fmt::format("source: {}, stored {}", source_text(asked_), source_text(stored_)),
        source_weight);
  }

  void compare_options() {
    if (asked_.options == stored_.options) return;
    auto [asked, stored] = unmatched_options();
    if (asked.empty() && stored.empty()) {
      return add(Field::option,
                 fmt::format("options: in the order {}, stored {}",
                             shortened(fmt::format("{}", fmt::join(asked_.options, " "))),
                             shortened(fmt::format("{}", fmt::join(stored_.options, " ")))),
                 option_weight);
    }
    pair_options(asked, stored,
                 [](const Option& one, const Option& other) { return one.stem() == other.stem(); });
    pair_options(asked, stored, [](const Option& one, const Option& other) {
      return one.position == other.position;
    });
    for (const auto& option : asked) {
      add(Field::option,
          fmt::format("option {}: {}, not stored", option.position + 1, shortened(option.text)),
          option_weight);
    }
    for (const auto& option : stored) {
      add(Field::option,
          fmt::format("option {} as stored: {}, not asked for", option.position + 1,
                      shortened(option.text)),
          option_weight);
    }
  }

  // The options that the other one lacks, wherever they stand.
  [[nodiscard]] std::pair<Options, Options> unmatched_options() const {
    const auto listed = [](const std::vector<std::string>& texts) {
      Options options;
      for (const auto& text : texts) options.push_back({options.size(), text});
      std::stable_sort(options.begin(), options.end(), by_text);
      return options;
    };
    const Options asked = listed(asked_.options);
    const Options stored = listed(stored_.options);
    std::pair<Options, Options> unmatched;
    std::set_difference(asked.begin(), asked.end(), stored.begin(), stored.end(),
                        std::back_inserter(unmatched.first), by_text);
    std::set_difference(stored.begin(), stored.end(), asked.begin(), asked.end(),
                        std::back_inserter(unmatched.second), by_text);
    for (auto* options : {&unmatched.first, &unmatched.second}) {
      std::sort(options->begin(), options->end(), [](const Option& one, const Option& other) {
        return one.position < other.position;
      });
    }
    return unmatched;
  }

  static bool by_text(const Option& one, const Option& other) { return one.text < other.text; }

  // Tells of two that belong together as one that changed, and takes them out.
  template <class Match>
  void pair_options(Options& asked, Options& stored, Match match) {
    std::erase_if(asked, [&](const Option& option) {
      const auto other = std::find_if(stored.begin(), stored.end(), [&](const Option& candidate) {
        return match(option, candidate);
      });
      if (other == stored.end()) return false;
      const bool has_value =
          option.stem() == other->stem() && other->text.size() > other->stem().size();
      const auto was = has_value ? other->text.substr(other->stem().size() + 1) : other->text;
      add(Field::option,
          fmt::format("option {}: {}, stored {}", option.position + 1, shortened(option.text),
                      shortened(was)),
          option_weight);
      stored.erase(other);
      return true;
    });
  }

  void compare_expressions() {
    const auto tell = [&](const auto& these, const auto& those, std::string_view how) {
      std::vector<std::string> alone;
      std::set_difference(these.begin(), these.end(), those.begin(), those.end(),
                          std::back_inserter(alone));
      for (const auto& expression : alone) {
        add(Field::expression, fmt::format("name expression {}: {}", shortened(expression), how),
            expression_weight);
      }
    };
    tell(asked_.expressions, stored_.expressions, "asked for, not stored");
    tell(stored_.expressions, asked_.expressions, "stored, not asked for");
  }

  const Request& asked_;
  const Request& stored_;
  WeighedDifferences result_;
};

std::string_view line_at(std::string_view text, std::size_t begin) {
  if (begin > text.size()) return {};
  return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

}  // namespace

WeighedDifferences differences_of(const Request& asked, const Request& stored) {
  return Comparison(asked, stored).run();
}

std::string first_line_that_differs(std::string_view asked, std::string_view stored) {
  const auto [here, there] =
      std::mismatch(asked.begin(), asked.end(), stored.begin(), stored.end());
  const auto same = asked.substr(0, static_cast<std::size_t>(here - asked.begin()));
  const auto line = 1 + std::count(same.begin(), same.end(), '\n');
  const auto begin = same.rfind('\n') == std::string_view::npos ? 0 : same.rfind('\n') + 1;
  return fmt::format("line {} is '{}', stored '{}'", line, shortened(line_at(asked, begin)),
                     shortened(line_at(stored, begin)));
}

Difference toolchain_difference(const Toolchain& here, const Toolchain& stored) {
  if (here.text != stored.text) {
    return {Field::toolchain,
            fmt::format("toolchain: {}, stored {}", shortened(here.text), shortened(stored.text))};
  }
  return {Field::toolchain,
          fmt::format("toolchain: {} here, stored another build of it, or one with other NVRTC_* "
                      "variables",
                      shortened(here.text))};
}

}  // namespace kiln
