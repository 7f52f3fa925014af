#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "json.h"
#include "kiln/kiln.h"
#include "output.h"
#include "verbs.h"
#include "verbs/child_process.h"
#include "verbs/entry_choice.h"
#include "verbs/inspect.h"
#include "verbs/kernel_names.h"

namespace kiln::cli {

namespace {

using Kernels = std::vector<KernelInfo>;
using PutLine = std::function<void(std::string_view line)>;

template <class Is>
Kernels those(const Kernels& all, const Is& is) {
  Kernels chosen;
  std::copy_if(all.begin(), all.end(), std::back_inserter(chosen), is);
  return chosen;
}

// The name itself goes first: an expression may hold what a pattern means otherwise.
Kernels chosen_kernels(const Artifact& artifact, const std::string& word) {
  if (word.empty()) return artifact.kernels;
  auto named = those(artifact.kernels, [&](const auto& kernel) { return is_named(kernel, word); });
  if (!named.empty()) return named;
  auto matching = those(artifact.kernels, [&](const auto& kernel) { return fits(kernel, word); });
  if (!matching.empty()) return matching;
  std::vector<std::string> names;
  for (const auto& kernel : artifact.kernels) names.push_back(kernel.expression);
  refuse(ErrorCode::not_found, fmt::format("{} has no kernel '{}'; it has {}", artifact.program,
                                           word, fmt::join(names, ", ")));
}

// Passes on what nvdisasm prints of some kernels alone. A section of code begins with a line that names it.
class SectionFilter {
 public:
  SectionFilter(const Kernels& kernels, bool all, const PutLine& put)
      : kernels_(kernels), put_(put), wanted_(true), all_(all) {}

  void operator()(std::string_view line) {
    constexpr std::string_view banner = "//--------------------- ";
    if (!all_ && line.starts_with(banner)) wanted_ = is_of_kernel(line.substr(banner.size()));
    if (wanted_) put_(line);
  }

 private:
  [[nodiscard]] bool is_of_kernel(std::string_view rest) const {
    const auto section = rest.substr(0, rest.find(' '));
    return std::any_of(kernels_.begin(), kernels_.end(), [&](const KernelInfo& kernel) {
      return section == ".text." + kernel.symbol;
    });
  }

  const Kernels& kernels_;
  const PutLine& put_;
  bool wanted_;
  const bool all_;
};

// What of PTX's lines is code: without comments, of which inline assembly brings some, and without what stands in quotes.
class PtxCode {
 public:
  std::string operator()(std::string_view line) {
    std::string code;
    while (!line.empty()) {
      if (in_comment_) {
        in_comment_ = !skip_to("*/", line);
      } else if (line.starts_with("//")) {
        break;
      } else if (line.starts_with("/*")) {
        line.remove_prefix(2);
        in_comment_ = true;
      } else if (line.starts_with('"')) {
        line.remove_prefix(1);
        (void)skip_to("\"", line);
      } else {
        code += line.front();
        line.remove_prefix(1);
      }
    }
    return code;
  }

 private:
  // Whether that is there; else nothing stays of the line.
  static bool skip_to(std::string_view end, std::string_view& line) {
    const auto at = line.find(end);
    line.remove_prefix(at == std::string_view::npos ? line.size() : at + end.size());
    return at != std::string_view::npos;
  }

  bool in_comment_ = false;
};

// The same of PTX. A kernel's definition begins with a directive that names it, and ends with its body.
class PtxFilter {
 public:
  PtxFilter(const Kernels& kernels, bool all, const PutLine& put)
      : kernels_(kernels), put_(put), all_(all) {}

  void operator()(std::string_view line) {
    const auto code = code_of_(line);
    if (depth_ == 0 && !in_kernel_) in_kernel_ = begins_kernel(code);
    if (all_ || in_kernel_ || is_about_all(code)) put_(line);
    const auto before = depth_;
    depth_ += std::count(code.begin(), code.end(), '{') - std::count(code.begin(), code.end(), '}');
    if (in_kernel_ && before > depth_ && depth_ == 0) in_kernel_ = false;
  }

 private:
  [[nodiscard]] bool begins_kernel(std::string_view code) const {
    constexpr std::string_view directive = ".entry ";
    const auto at = code.find(directive);
    if (at == std::string_view::npos) return false;
    const auto rest = code.substr(at + directive.size());
    const auto name = rest.substr(0, rest.find_first_of("( \t"));
    return std::any_of(kernels_.begin(), kernels_.end(),
                       [&](const KernelInfo& kernel) { return kernel.symbol == name; });
  }

  [[nodiscard]] static bool is_about_all(std::string_view code) {
    return code.starts_with(".version") || code.starts_with(".target") ||
           code.starts_with(".address_size");
  }

  const Kernels& kernels_;
  const PutLine& put_;
  const bool all_;
  PtxCode code_of_;
  bool in_kernel_ = false;
  std::ptrdiff_t depth_ = 0;
};

void for_each_line(std::string_view text, const PutLine& put) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    put(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// What is printed of an entry, and by whom it is read.
struct Listing {
  const StoredEntry& entry;
  Kernels kernels;
  bool all = false;  ///< Whatever is in the image, and not the kernels alone.
  bool ptx = false;
};

std::filesystem::path path_of(const Availability& tool) {
  if (!tool.available) refuse(ErrorCode::compiler_missing, tool.reason);
  return tool.path;
}

// Whatever is done with its lines, a program that reads an image prints some.
void read_by(const std::filesystem::path& program, const std::vector<std::string>& words,
             const std::filesystem::path& search_first, const PutLine& line) {
  bool printed = false;
  run_program(program, words, search_first, [&](std::string_view text) {
    printed = true;
    line(text);
  });
  if (!printed)
    refuse(ErrorCode::io_failed, fmt::format("{} printed nothing of the image", program.string()));
}

// Gives the program that read it.
std::string read_fatbin(const Runtime& runtime, const Listing& listing, const PutLine& put) {
  const auto cuobjdump = path_of(runtime.unpacker());
  const BytesAsFile image(listing.entry.artifact.image);
  std::vector<std::string> words{listing.ptx ? "-ptx" : "-sass"};
  if (!listing.all && !listing.ptx) {
    std::vector<std::string> symbols;
    for (const auto& kernel : listing.kernels) symbols.push_back(kernel.symbol);
    words.insert(words.end(), {"-fun", fmt::format("{}", fmt::join(symbols, ","))});
  }
  words.push_back(image.path());
  PtxFilter filter(listing.kernels, listing.all || !listing.ptx, put);
  read_by(cuobjdump, words, path_of(runtime.disassembler()).parent_path(), std::ref(filter));
  return cuobjdump.string();
}

std::string read_cubin(const Runtime& runtime, const Listing& listing, const PutLine& put) {
  const auto nvdisasm = path_of(runtime.disassembler());
  const BytesAsFile image(listing.entry.artifact.image);
  SectionFilter filter(listing.kernels, listing.all, put);
  read_by(nvdisasm, {"-c", image.path()}, nvdisasm.parent_path(), std::ref(filter));
  return nvdisasm.string();
}

// Compiled again, unless it is stored; nothing is kept of it.
std::string ptx_of(const Globals& globals, Cache& cache, const StoredEntry& entry) {
  auto runtime = open_runtime_to_look(globals);
  const auto listed = recorded_program(cache, entry.summary.key).value();
  const auto program = runtime.program_of(listed).value();
  const auto target = Target::parse(entry.request.arch, ImageKind::ptx).value();
  return runtime.compile(program, target).value().image.string();
}

// Gives the program that read the image; empty for PTX that needs none.
std::string list(const Globals& globals, Cache& cache, const Listing& listing, const PutLine& put) {
  const auto& artifact = listing.entry.artifact;
  const auto kind = parse_image_kind(artifact.kind).value();
  const bool has_code = kind == ImageKind::cubin || kind == ImageKind::fatbin;
  if (!listing.ptx && !has_code) {
    refuse(ErrorCode::invalid_argument,
           fmt::format("{} for {} is {}, which holds no machine code: --ptx prints its PTX, and a "
                       "cubin of it has some",
                       artifact.program, artifact.arch, artifact.kind));
  }
  if (kind == ImageKind::fatbin) return read_fatbin(open_runtime_to_look(globals), listing, put);
  if (!listing.ptx) return read_cubin(open_runtime_to_look(globals), listing, put);
  PtxFilter filter(listing.kernels, listing.all, put);
  const auto text =
      kind == ImageKind::ptx ? artifact.image.string() : ptx_of(globals, cache, listing.entry);
  for_each_line(text, std::ref(filter));
  return {};
}

Json listing_json(const Listing& listing, const std::string& tool, std::string text) {
  const auto& artifact = listing.entry.artifact;
  auto kernels = Json::array();
  for (const auto& kernel : listing.kernels)
    kernels.push_back({{"expression", kernel.expression}, {"symbol", kernel.symbol}});
  return {{"key", artifact.key.hex()},
          {"program", artifact.program},
          {"arch", artifact.arch},
          {"image", artifact.kind},
          {"form", listing.ptx ? "ptx" : "sass"},
          {"kernels", std::move(kernels)},
          {"tool", tool.empty() ? Json() : Json(tool)},
          {"text", std::move(text)}};
}

// PTX, or a fatbin of nothing else.
bool holds_ptx_alone(const Artifact& artifact) {
  if (artifact.kind != to_string(ImageKind::fatbin))
    return artifact.kind == to_string(ImageKind::ptx);
  return artifact.arch.find("sm_") == std::string::npos;
}

}  // namespace

ExitCode disassemble(const Globals& globals, const DisasmWords& words) {
  auto cache = open_for_inspection(globals).value();
  const auto entry = find_entry(cache, words);
  const bool ptx = words.ptx || holds_ptx_alone(entry.artifact);
  const Listing listing{entry, chosen_kernels(entry.artifact, words.kernel), words.kernel.empty(),
                        ptx};
  if (globals.json) {
    std::string text;
    const auto tool =
        list(globals, cache, listing, [&](std::string_view line) { text.append(line) += '\n'; });
    print_json(listing_json(listing, tool, std::move(text)));
  } else {
    (void)list(globals, cache, listing, [](std::string_view line) { put("{}\n", line); });
  }
  return ExitCode::done;
}

}  // namespace kiln::cli
