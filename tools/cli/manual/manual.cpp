#include "manual/manual.h"

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "exit_code.h"
#include "kiln/version.h"
#include "manual/manifest_fields.h"
#include "manual/setting_meanings.h"

namespace kiln::cli {

namespace {

// Text as roff takes it for text: a plain '-' would become a hyphen, which nobody can paste into a shell.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\n':
        result += "\n.br\n";
        break;
      default:
        result += c;
    }
  }
  // At the beginning of a line these would make it a request.
  return text.starts_with('.') || text.starts_with('\'') ? "\\&" + result : result;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fP"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fP"; }

std::string section(std::string_view title, std::string_view body) {
  return fmt::format(".SH {}\n{}", title, body);
}

std::string item(std::string_view tag, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", tag, text);
}

std::string with_default(std::string_view text, std::string_view value) {
  return value.empty() ? std::string(text) : fmt::format("{} (default: {})", text, value);
}

// "-h, --help" or "--arch A[,B...]".
std::string tag_of(const DescribedOption& option) {
  std::vector<std::string> names;
  for (const auto& name : option.names) names.push_back(bold(name));
  auto tag = fmt::format("{}", fmt::join(names, ", "));
  if (option.value.empty()) return tag;
  return tag + (tag.empty() ? "" : " ") + italic(option.value);
}

std::string items(const std::vector<DescribedOption>& options) {
  std::string text;
  for (const auto& option : options) {
    text += item(tag_of(option), escaped(with_default(option.what, option.default_value)));
  }
  return text;
}

std::string operand_text(const DescribedOption& operand) {
  const auto text = italic(operand.value) + (operand.repeatable ? "..." : "");
  return operand.required ? text : "[" + text + "]";
}

// The words that a verb cannot do without, in the order in which a person writes them.
std::string usage(const DescribedVerb& verb) {
  auto text = bold("kiln " + verb.name);
  for (const auto& operand : verb.operands) text += " " + operand_text(operand);
  for (const auto& option : verb.options) {
    if (option.required)
      text += fmt::format(" {} {}", bold(option.names.front()), italic(option.value));
  }
  return text + " [" + italic("OPTION") + "...]\n";
}

std::string verbs_text(const std::vector<DescribedVerb>& verbs) {
  std::string text;
  for (const auto& verb : verbs) {
    text +=
        fmt::format(".SS {}\n{}.PP\n{}.\n", escaped(verb.name), usage(verb), escaped(verb.what));
    if (!verb.remark.empty()) text += escaped(verb.remark) + "\n";
    text += items(verb.operands) + items(verb.options);
  }
  return text;
}

std::string exits_text() {
  std::string text;
  for (const auto& [code, meaning] : exit_meanings)
    text += item(bold(fmt::format("{}", static_cast<int>(code))), escaped(meaning));
  return text;
}

std::string environment_text() {
  std::string text =
      "The command line goes before the environment, the environment before files of settings, and "
      "these "
      "before defaults.\n";
  for (const auto& [variable, meaning, default_value] : setting_meanings())
    text += item(bold(variable), escaped(with_default(meaning, default_value)));
  return text;
}

constexpr std::string_view small_manifest = R"({"kiln_manifest": 1, "targets": ["sm_80", "sm_90a"],
 "programs": [{"name": "scale.cu", "source_file": "scale.cu",
               "kernels": ["scale<float>", "scale<double>"]}]})";

std::string fields_text(std::string_view title, std::span<const ManifestField> fields) {
  auto text = fmt::format(".SS {}\n", title);
  for (const auto& [name, what] : fields) text += item(bold(name), escaped(what));
  return text;
}

std::string manifests_text() {
  return fmt::format(
             "JSON, which {}, {} and {} take. A relative path is relative to the manifest, and an "
             "unknown "
             "field is an error. What KILN_RECORD writes is a manifest too, a line for each "
             "program.\n"
             ".PP\n.RS 4\n.EX\n{}\n.EE\n.RE\n",
             bold("prewarm"), bold("compile"), bold("explain"), escaped(small_manifest)) +
         fields_text("Fields of a manifest", manifest_fields()) +
         fields_text("Fields of a program", program_fields()) +
         fields_text("Fields of a variant", variant_fields());
}

struct Example {
  std::string_view command;
  std::string_view what;
};
constexpr std::array examples{
    Example{"kiln compile scale.cu --arch sm_80,sm_90a --name 'scale<float>'",
            "Compile a kernel for two architectures, or serve what is kept of it."},
    Example{"kiln explain scale.cu --arch sm_80 --name 'scale<float>'",
            "Tell whether it would be served; if not, what differs from what is kept."},
    Example{"kiln ls --sort size", "List what is kept, the largest first."},
    Example{"kiln stats", "Tell how much was served, and what that saved."},
    Example{"kiln report -o kernels.html",
            "Write a page to look at: sizes, registers and spills, hits and misses."},
    Example{"kiln export kernels.kiln", "Write all that is kept into one file, to be shipped."},
    Example{"kiln --cache kernels.kiln ls", "Look into such a file."},
    Example{"kiln gc --older-than 30d --dry-run", "Tell what a clean-up would remove."}};

std::string examples_text() {
  std::string text;
  for (const auto& [command, what] : examples)
    text +=
        fmt::format(".PP\n{}\n.PP\n.RS 4\n.EX\n{}\n.EE\n.RE\n", escaped(what), escaped(command));
  return text;
}

struct File {
  std::string_view path;
  std::string_view what;
};
constexpr std::array files{
    File{"$XDG_CACHE_HOME/kiln, else ~/.cache/kiln",
         "The cache's folder where KILN_CACHE_DIR and --cache name none."},
    File{"$XDG_CONFIG_HOME/kiln/config, else ~/.config/kiln/config; /etc/kiln/config",
         "Settings: a line each, as KILN_LOG=info. Such a file must be yours or root's, be "
         "writable by "
         "nobody else and be no link."},
    File{"share/kiln/kiln.schema.json",
         "Below where the tool is installed: a JSON schema of what --json prints."},
    File{"kernels.v1.db", "In the cache's folder: what is kept, an SQLite database."},
    File{"kernels.v1.lock, kernels.v1.flights", "Locks: who writes, and who compiles what."},
    File{"kernels.v1.tally", "What this tool counted that changed no database."}};

std::string files_text() {
  std::string text;
  for (const auto& [path, what] : files) text += item(italic(path), escaped(what));
  return text;
}

}  // namespace

std::string manual_page(const GrammarDescription& grammar) {
  // No date: the same sources make the same page.
  return fmt::format(".TH KILN 1 \"\" \"kiln {}\" \"User Commands\"\n", version()) +
         section("NAME", "kiln \\- " + escaped(KILN_DESCRIPTION) + "\n") +
         section("SYNOPSIS", fmt::format("{} [{}...] {} [{}...]\n", bold("kiln"), italic("OPTION"),
                                         italic("VERB"), italic("WORD"))) +
         section("DESCRIPTION", escaped(grammar.about) + "\n") +
         section("OPTIONS",
                 "These may stand before the verb and after it.\n" + items(grammar.options)) +
         section("VERBS", verbs_text(grammar.verbs)) + section("EXIT STATUS", exits_text()) +
         section("ENVIRONMENT", environment_text()) + section("FILES", files_text()) +
         section("MANIFESTS", manifests_text()) + section("EXAMPLES", examples_text()) +
         section("SEE ALSO", bold("nvdisasm") + "(1), " + bold("cuobjdump") + "(1), " +
                                 bold("sqlite3") + "(1)\n");
}

}  // namespace kiln::cli
