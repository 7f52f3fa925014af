// The words of the command line: the only place that names them, and the only one that knows CLI11, whose
// header takes longer to compile than all that a verb does. One grammar, and so one file, though long.

#include "grammar.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kiln/target.h"
#include "kiln/version.h"
#include "output.h"
#include "usage.h"
#include "verbs.h"

namespace kiln::cli {

namespace {

constexpr const char* about =
    "kiln compiles CUDA C++ once and keeps the result: this tool compiles programs, and looks into "
    "caches and after them.";

constexpr const char* settings_hint =
    "Settings: KILN_CACHE_DIR and the others that `kiln config` lists; the command line goes "
    "first.";

constexpr const char* globals_hint = "Every verb takes --cache DIR, --json and --quiet too.";

std::string exit_hint() {
  std::vector<std::string> statuses;
  statuses.reserve(exit_meanings.size());
  for (const auto& [code, meaning] : exit_meanings)
    statuses.push_back(fmt::format("{} {}", static_cast<int>(code), meaning));
  return fmt::format("Exit status: {}.", fmt::join(statuses, ", "));
}

/// Most verbs have nothing to do when the whole line has been read.
void complete(const CLI::App&, void*) {}

// The compiler reads -D and --option in the order in which they stand.
void complete(const CLI::App& verb, ProgramWords* words) {
  const auto* defines = verb.get_option("-D");
  const auto* others = verb.get_option("--option");
  auto define = defines->results().begin();
  auto other = others->results().begin();
  for (const auto* option : verb.parse_order()) {
    if (option == defines) words->options.push_back("-D" + *define++);
    if (option == others) words->options.push_back(*other++);
  }
}

/// Adds verbs to the parser, and keeps the work of the one that was read.
class Grammar {
 public:
  Grammar(CLI::App& app, CommandLine& line) : app_(app), line_(line) {}

  /// A verb whose words are a Words. Its work begins after the whole line has been read.
  template <class Words>
  std::pair<CLI::App*, std::shared_ptr<Words>> verb(
      const char* name, const char* what,
      std::function<ExitCode(const Globals&, const Words&)> work) {
    auto words = std::make_shared<Words>();
    auto* verb = app_.add_subcommand(name, what);
    verb->callback([this, verb, words, work = std::move(work)] {
      complete(*verb, words.get());
      line_.action = [words, work](const Globals& globals) { return work(globals, *words); };
    });
    return {verb, words};
  }

 private:
  CLI::App& app_;
  CommandLine& line_;
};

/// An option that stands for one value each time, and may be repeated.
CLI::Option* one_each(CLI::Option* option, const char* type) {
  return option->allow_extra_args(false)->type_name(type);
}

CLI::Option* required_operand(CLI::Option* option) { return option->required()->type_name(""); }

// What a source needs beside its file and its architecture.
void add_program_options(CLI::App& verb, ProgramWords& words) {
  one_each(verb.add_option("--name", words.expressions,
                           "Name expression of a kernel wanted, e.g. 'f<float, 4>'; repeatable"),
           "EXPR");
  one_each(verb.add_option("-I", words.include_dirs, "Folder to search for headers; repeatable"),
           "DIR");
  verb.add_flag("--standard-headers", words.standard_headers,
                "Let the program include <cstdint>, <type_traits> and other standard headers");
  one_each(verb.add_option("-D", "Macro to define; repeatable"), "NAME[=VALUE]")
      ->expected(1, CLI::detail::expected_max_vector_size);
  one_each(
      verb.add_option("--option", "Option for the compiler, e.g. --option=--std=c++20; repeatable"),
      "OPTION")
      ->expected(1, CLI::detail::expected_max_vector_size);
  verb.add_option("--image", words.image,
                  "cubin, ptx, ltoir, optixir or fatbin (one for all architectures)")
      ->capture_default_str()
      ->type_name("KIND");
  verb.add_option("--program", words.program, "Of a manifest only the programs that fit this name")
      ->type_name("GLOB");
}

void add_program(CLI::App& verb, ProgramWords& words) {
  required_operand(verb.add_option("FILE", words.file,
                                   "CUDA C++ source, - for standard input; or a manifest (.json)"));
  one_each(verb.add_option("--arch", words.archs,
                           "Architectures, e.g. sm_80,sm_90a; or native; of a manifest's programs "
                           "their own, if none is named"),
           "A[,B...]")
      ->delimiter(',');
  add_program_options(verb, words);
}

void add_output(CLI::App& verb, std::string& output) {
  verb.add_option("-o", output,
                  "Write the image there; {arch} in the name is replaced; - is standard output, in "
                  "the place of the report")
      ->type_name("FILE");
}

void add_compile(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<CompileWords>(
      "compile", "Compile a program, or serve it from the cache", compile);
  add_program(*verb, *words);
  add_output(*verb, words->output);
  verb->add_flag("--verbose", words->verbose, "With an error, all that the compiler was given");
}

void add_link(Grammar& grammar) {
  const auto [verb, words] =
      grammar.verb<LinkWords>("link", "Link images to one, or serve that from the cache", link);
  required_operand(
      verb->add_option("INPUT", words->inputs,
                       "Files of LTO-IR, PTX or relocatable cubins, or entries, by their keys or "
                       "names; an entry's kernels keep their expressions"));
  verb->add_option("--arch", words->arch, "Architecture, e.g. sm_90a; or native")
      ->required()
      ->type_name("A");
  verb->add_option("--as", words->name, "What the linked image is called in listings")
      ->capture_default_str()
      ->type_name("NAME");
  one_each(verb->add_option(
               "--name", words->kernels,
               "Expression or symbol of a kernel to list; repeatable; all if none is named"),
           "EXPR");
  one_each(verb->add_option("--option", words->options,
                            "Option for the linker, e.g. --option=-maxrregcount=64; repeatable"),
           "OPTION");
  verb->add_option("--image", words->image, "cubin, or ptx where all inputs are LTO-IR")
      ->capture_default_str()
      ->type_name("KIND");
  add_output(*verb, words->output);
}

void add_explain(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<ProgramWords>(
      "explain", "Would a program be served from the cache; if not, in what do the entries differ",
      explain);
  add_program(*verb, *words);
}

void add_trace(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<TraceWords>(
      "trace", "Tell where the time of compiles goes: by phase, and by header", trace);
  verb->footer(
      "Compiles each program once, for one architecture, and keeps nothing of it. A header's own "
      "time is "
      "without what it includes.");
  required_operand(
      verb->add_option("FILE", words->files, "CUDA C++ sources, and manifests (.json)"));
  one_each(
      verb->add_option("--arch", words->archs,
                       "Architecture, e.g. sm_90a; of a manifest's program its first, if none is "
                       "named"),
      "A")
      ->delimiter(',');
  add_program_options(*verb, *words);
  verb->add_option("--top", words->top, "Rows of each table")
      ->capture_default_str()
      ->type_name("N");
  verb->add_option(
          "-o", words->output,
          "Write the traces there too, for Perfetto or chrome://tracing; - is standard output, "
          "in the place of the tables")
      ->type_name("FILE");
  verb->add_flag("--verbose", words->verbose, "With an error, all that the compiler was given");
}

// The parser's own check for numbers above nothing tells of all that there are.
std::string positive_seconds(const std::string& text) {
  double seconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc() && rest == text.data() + text.size();
  return whole && seconds > 0 ? "" : fmt::format("{} is no number of seconds above nothing", text);
}

void add_targets_instead(CLI::App& verb, std::vector<std::string>& archs, std::string& image) {
  one_each(verb.add_option("--arch", archs,
                           "Architectures in the place of those written down: sm_90a, "
                           "compute_90, ..."),
           "A[,B...]")
      ->delimiter(',');
  verb.add_option("--image", image, "Image kind in the place of the one written down")
      ->type_name("KIND");
}

void add_prewarm(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<PrewarmWords>(
      "prewarm", "Have everything in the cache that is written down", prewarm);
  verb->footer(
      "What is in the cache already is left as it is: a prewarm that was stopped goes on where it "
      "ended.");
  verb->add_option("MANIFEST", words->manifests,
                   "Manifests, or records that engines wrote under KILN_RECORD")
      ->type_name("");
  verb->add_option("--from", words->from,
                   "A bundle, or the folder of a cache, whose programs are compiled anew")
      ->type_name("FILE");
  add_targets_instead(*verb, words->archs, words->image);
  verb->add_option("--jobs", words->jobs, "Worker processes that compile at one time")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
  verb->add_option("--timeout", words->timeout, "Seconds that one compile may take")
      ->check(positive_seconds)
      ->type_name("SECONDS");
  verb->add_flag("--verbose", words->verbose, "The compiler's whole log for each failure");
}

void add_list(CLI::App& verb, ListWords& words) {
  one_each(verb.add_option("--arch", words.archs, "Only entries of these architectures"),
           "A[,B...]")
      ->delimiter(',');
  verb.add_option("--program", words.program,
                  "Only entries of programs whose names match, e.g. 'gemm*'")
      ->type_name("GLOB");
  verb.add_option("--engine", words.engine,
                  "Only entries of engines whose names match, e.g. 'acme*'")
      ->type_name("GLOB");
  verb.add_option("--kernel", words.kernel,
                  "Only with kernels whose expressions or symbols match, e.g. '*<float*'")
      ->type_name("GLOB");
  verb.add_option("--age", words.age,
                  "Only entries made in the last so long, e.g. 2h; a bundle tells no ages")
      ->type_name("AGE");
  verb.add_flag("--reverse", words.reverse, "The order turned round");
  verb.add_option("--limit", words.limit, "So many at most, the first of the order")
      ->check(CLI::Range(1, 1'000'000'000))
      ->type_name("N");
}

/// `what` begins what the option is for.
void add_other_store(CLI::App& verb, std::optional<std::string>& store, const char* what) {
  verb.add_option_function<std::string>(
          "--store", [&store](const std::string& url) { store = url; },
          fmt::format("{}; without a URL, of the first one that KILN_REMOTE names", what))
      ->expected(0, 1)
      ->default_str(first_remote)
      ->type_name("URL");
}

void add_ls(Grammar& grammar) {
  const auto [verb, words] =
      grammar.verb<LsWords>("ls", "List the entries of a cache", list_entries);
  verb->add_option("--sort", words->sort, "Order of the list")
      ->type_name("ORDER")
      ->check(CLI::IsMember(sort_orders()))
      ->capture_default_str();
  add_list(*verb, *words);
  one_each(verb->add_option("--image", words->images, "Only images of these kinds, e.g. cubin"),
           "K[,L...]")
      ->delimiter(',');
  verb->add_flag("--pinned", words->pinned, "Only entries that are pinned");
  add_other_store(*verb, words->store, "Of a store that machines share, and not of the cache");
  verb->footer(
      "Only an entry itself tells which program it is of, so --store reads each one; with --limit "
      "N "
      "it stops after the first N that fit. Of a web server nothing can be listed.");
}

void add_kernels(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<KernelsWords>(
      "kernels", "List the kernels of a cache, and what each takes of a GPU", list_kernels);
  verb->footer(
      "Spills are the bytes that a thread's instructions store to local memory and load again, as "
      "ptxas -v counts them; - where the image does not tell.");
  verb->add_option("--sort", words->sort, "Order of the list: what takes most comes first")
      ->type_name("FIGURE")
      ->check(CLI::IsMember(kernel_orders()))
      ->capture_default_str();
  add_list(*verb, *words);
  verb->add_option("--threads", words->threads,
                   "Threads of the block that the occupancy is for, else 256 or all that the "
                   "kernel takes")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

void add_diff(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<DiffWords>(
      "diff", "Compare the kernels of two entries, caches or bundles", diff);
  verb->footer(
      "Exit status 1 where a figure of a kernel has grown by more than is allowed. Kernels are the "
      "same where program, architecture and expression are; of two entries, where the expression "
      "is.");
  required_operand(verb->add_option("BEFORE", words->before,
                                    "A cache's folder, a bundle, or an entry, by its key or a "
                                    "name"));
  required_operand(verb->add_option("AFTER", words->after, "What it is compared with, likewise"));
  one_each(verb->add_option("--allow", words->allowed,
                            "How much a figure may grow: registers=8, size=5%; also spill, local "
                            "and shared; repeatable"),
           "FIGURE=GROWTH");
}

void add_report(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<ReportWords>(
      "report", "Write a page that shows what a cache holds, and what it did", write_report);
  verb->footer(
      "The page is one HTML file that loads nothing. Which headers cost most is known of traces: "
      "of files, or of a manifest's programs, each of which is compiled once for its first target "
      "and not kept.");
  verb->add_option("CACHE", words->of, "A cache's folder or a bundle, in the place of --cache")
      ->type_name("");
  one_each(verb->add_option("--manifest", words->manifests,
                            "Only what serves the programs of this manifest; also which of them "
                            "would not be served, and why; repeatable"),
           "MANIFEST");
  one_each(verb->add_option("--trace", words->traces,
                            "Time trace that kiln trace has written, in the place of a "
                            "manifest's compiles; repeatable"),
           "FILE");
  verb->add_option("-o", words->output, "The page to write; - is standard output")
      ->required()
      ->type_name("FILE");
}

constexpr const char* entry_hint =
    "An entry is named by its key or the first digits of it, by its program, or by one of its "
    "kernels; of the two latter a glob will do. What begins a key is never taken for a name.";

void add_entry_key(CLI::App& verb, std::string& key) {
  const auto own = verb.get_footer();
  verb.footer(own.empty() ? entry_hint : fmt::format("{} {}", own, entry_hint));
  required_operand(verb.add_option("KEY", key, "The entry, by its key or a name: 3f9c, gemm.cu"));
}

void add_show(Grammar& grammar) {
  const auto [verb, words] =
      grammar.verb<ShowWords>("show", "Show everything that is kept of one entry", show);
  add_entry_key(*verb, words->key);
  verb->add_flag("--all", words->all, "Do not shorten the list of dependencies");
}

void add_extract(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<ExtractWords>(
      "extract", "Write one part of an entry: its image, if nothing else is said", extract);
  add_entry_key(*verb, words->key);
  auto* part = verb->add_option_group("part")->require_option(0, 1);
  part->add_flag("--image", words->image, "The image's bytes, as readelf and nvdisasm take them");
  part->add_flag("--source", words->source, "The program's source");
  part->add_flag("--names", words->names, "Each name expression, a tab, its lowered name");
  part->add_flag("--log", words->log, "What the compiler said");
  auto* sources = part->add_option("--sources", words->sources,
                                   "The source and each header that it read, laid out below a "
                                   "folder where cuda-gdb and Nsight Compute find them");
  sources->type_name("DIR");
  verb->add_option("-o", words->output, "Where to; - is standard output")
      ->capture_default_str()
      ->type_name("FILE")
      ->excludes(sources);
}

void add_disasm(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<DisasmWords>(
      "disasm", "Print an entry's machine code, or its PTX, as text", disassemble);
  verb->footer(
      "Machine code is read by the toolkit's nvdisasm, and fatbins by its cuobjdump; PTX is taken "
      "from "
      "what is stored, or compiled again from the program that is kept.");
  add_entry_key(*verb, words->key);
  verb->add_option("KERNEL", words->kernel,
                   "Only kernels whose expression or symbol this is, or that match it, e.g. "
                   "'*gemm*'")
      ->type_name("");
  verb->add_flag("--ptx", words->ptx, "PTX, and not the machine code");
}

void add_compile_commands(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<CompileCommandsWords>(
      "compile-commands", "Tell clangd how to read the programs of a cache or a manifest",
      compile_commands);
  verb->footer(
      "Macros and the language's version are carried over, other options of the compiler left out. "
      "A program that is stored for several architectures is read as for the highest one.");
  verb->add_option("CACHE", words->from,
                   "A bundle, or the folder of a cache; else the one that --cache names")
      ->type_name("");
  verb->add_option("--manifest", words->manifest, "The programs of this manifest instead")
      ->type_name("MANIFEST");
  verb->add_option(
          "--sources", words->sources,
          "Where to lay out what has no file of its own: sources that are stored, embedded "
          "headers, and what the compiler brings along")
      ->required()
      ->type_name("DIR");
  verb->add_option("--arch", words->arch,
                   "Read all as for this architecture, e.g. sm_90a; of a manifest's program its "
                   "first, if none is named")
      ->type_name("A");
  verb->add_option("-o", words->output,
                   "Where to; compile_commands.json in this folder, if nothing is said; - is "
                   "standard output")
      ->type_name("FILE");
}

void add_stats(Grammar& grammar) {
  const auto [verb, words] =
      grammar.verb<StatsWords>("stats", "Sum up what a cache holds, and what it did", stats);
  verb->footer(
      "The history is that of all processes. This tool tells its hits at once. An engine tells "
      "when "
      "it stores, and at its end; one that only hits tells at most once a day, so that a hit "
      "writes "
      "nothing. Of a store that machines share it tells what kiln-remote did for all processes of "
      "this user since it was started; it ends a minute after the last of them.");
  auto* const reset = verb->add_flag("--reset", words->reset, "Let the history begin anew");
  verb->add_option("--openmetrics", words->openmetrics,
                   "Write it to this file as OpenMetrics has it, for node_exporter's textfile "
                   "collector; - is standard output")
      ->type_name("FILE")
      ->excludes(reset);
}

void add_verify(Grammar& grammar) {
  const auto [verb, words] =
      grammar.verb<VerifyWords>("verify", "Tell whether everything is as it was written", verify);
  verb->add_flag("--deep", words->deep, "Decompress and decode everything as well");
  verb->add_flag("--signatures", words->signatures,
                 "Also whether a trusted key (KILN_TRUSTED_KEYS) signed each entry as it is");
}

void add_gc(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<GcWords>(
      "gc", "Remove entries that are not pinned, those not used for longest first", collect);
  verb->add_option("--max-size", words->max_size,
                   "Down to this size, e.g. 500M; to the cache's own limit if nothing is said")
      ->type_name("SIZE");
  verb->add_option("--older-than", words->older_than, "Those made longer ago than this, e.g. 30d")
      ->type_name("AGE");
  verb->add_flag("--dry-run", words->dry_run, "Only tell what would be removed");
  add_other_store(*verb, words->store,
                  "Of a folder that machines share, and not of the cache; there nothing is pinned");
}

void add_clear(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<ClearWords>(
      "clear", "Remove all entries, those of an engine, or those named, pinned ones too", clear);
  verb->add_option("KEY", words->keys,
                   "Only these entries, by their keys or names; nobody is asked")
      ->type_name("");
  verb->add_option("--engine", words->engine,
                   "Only the entries of engines whose names match, e.g. 'acme 1.*'")
      ->type_name("GLOB");
  verb->add_flag("--yes", words->yes, "Do not ask");
}

void add_pins(Grammar& grammar) {
  const auto add = [&](const char* name, const char* what, bool pinned) {
    const auto [verb, words] =
        grammar.verb<PinWords>(name, what, [pinned](const Globals& globals, const PinWords& keys) {
          return pin(globals, keys, pinned);
        });
    verb->footer(entry_hint);
    required_operand(verb->add_option("KEY", words->keys, "The entries, by their keys or names"));
  };
  add("pin", "Keep entries from being evicted or collected", true);
  add("unpin", "Let pinned entries go again", false);
}

constexpr const char* whole_or_not =
    "The file to write, which appears whole or not at all; - is standard output";

void add_shipped(CLI::App& verb, std::vector<std::filesystem::path>& files) {
  required_operand(verb.add_option("FILE", files, "Bundles, or folders of caches"));
}

void add_without_sources(CLI::App& verb, bool& without_sources) {
  verb.add_flag("--without-sources", without_sources, "Leave out sources and headers");
}

void add_sign(CLI::App& verb, bool& sign) {
  verb.add_flag("--sign", sign, "Sign each entry with the key that KILN_SIGNING_KEY names");
}

void add_export(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<ExportWords>(
      "export", "Write a bundle of all entries, to be shipped", export_bundle);
  required_operand(verb->add_option("BUNDLE", words->bundle, whole_or_not));
  add_without_sources(*verb, words->without_sources);
  add_sign(*verb, words->sign);
}

void add_import(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<ImportWords>(
      "import", "Add the entries of bundles and other caches", import_files);
  add_shipped(*verb, words->files);
}

void add_merge(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<MergeWords>("merge", "Make one bundle of several", merge);
  add_shipped(*verb, words->files);
  verb->add_option("-o", words->bundle, whole_or_not)->required()->type_name("BUNDLE");
  add_without_sources(*verb, words->without_sources);
  add_sign(*verb, words->sign);
}

void add_store(CLI::App& verb, StoreWords& words, const char* way) {
  verb.add_option(
          way, words.store,
          "A store that machines share, e.g. file:///mnt/kernels or redis://cache; else the "
          "first one that KILN_REMOTE names")
      ->capture_default_str()
      ->type_name("URL");
  verb.add_option("MANIFEST", words.manifests,
                  "Only the entries of the programs in these manifests or records")
      ->type_name("");
  add_targets_instead(verb, words.archs, words.image);
}

void add_push(Grammar& grammar) {
  const auto [verb, words] =
      grammar.verb<PushWords>("push", "Put entries into a store that machines share", push_entries);
  verb->footer(
      "What is in the store already is left as it is. A password is best kept in KILN_REMOTE: "
      "others "
      "see a command line.");
  add_store(*verb, words->entries, "--to");
  add_without_sources(*verb, words->without_sources);
  add_sign(*verb, words->sign);
}

void add_pull(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<PullWords>(
      "pull", "Add the entries of a store that machines share", pull_entries);
  verb->footer(
      "Where KILN_TRUSTED_KEYS is set, only what one of these keys has signed comes; else only "
      "files of the user's own, root's, and of those that KILN_CACHE_TRUST_OWNERS names.");
  add_store(*verb, words->entries, "--from");
}

void add_doctor(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<DoctorWords>(
      "doctor", "Tell what was found on this machine, and what works", diagnose);
  verb->add_flag("--verbose", words->verbose,
                 "Also where everything was looked for, and each setting");
}

std::vector<std::string> config_actions() { return {"get", "set", "unset"}; }

void add_config(Grammar& grammar) {
  const auto [verb, words] = grammar.verb<ConfigWords>(
      "config", "List the settings, and where each comes from; or get, set or unset one", config);
  verb->footer(
      "The command line goes before the environment, and this before two files: "
      "$XDG_CONFIG_HOME/kiln/config (or ~/.config/kiln/config), which set and unset change, and "
      "/etc/kiln/config.");
  verb->add_option("ACTION", words->action, "get, set or unset")
      ->check(CLI::IsMember(config_actions()))
      ->type_name("");
  verb->add_option("SETTING", words->name, "The setting, e.g. KILN_CACHE_MAX_SIZE")->type_name("");
  verb->add_option("VALUE", words->value, "What to set it to")->type_name("");
}

std::vector<std::string> key_actions() { return {"generate", "show"}; }

void add_key(Grammar& grammar) {
  const auto [verb, words] =
      grammar.verb<KeyWords>("key", "Make a key that signs entries, or show public keys", key);
  verb->footer(
      "generate NAME makes NAME.key, which signs and stays where it is, and NAME.pub for whoever "
      "is "
      "to trust it. show prints the public halves of these files' keys, or of those that are set. "
      "To "
      "replace a key, make one of another name and trust both for a while.");
  required_operand(verb->add_option("ACTION", words->action, "generate or show"))
      ->check(CLI::IsMember(key_actions()));
  verb->add_option("NAME", words->names, "The new key's name, e.g. farm-1; or files of keys")
      ->type_name("");
  verb->add_option("--directory", words->directory, "Where generate puts the files")
      ->type_name("DIR")
      ->capture_default_str();
}

void add_globals(CLI::App& app, Globals& globals) {
  // The library wants an absolute path; on a command line a relative one means what a shell means.
  app.add_option_function<std::string>(
         "--cache",
         [&](const std::string& path) {
           std::error_code stays_empty;
           globals.cache = std::filesystem::absolute(path, stays_empty);
           if (globals.cache->empty())
             throw CLI::ValidationError("--cache",
                                        fmt::format("'{}' is no path; name a folder", path));
         },
         "The cache's folder (KILN_CACHE_DIR)")
      ->type_name("DIR");
  app.add_flag("--json", globals.json, "One JSON document per line");
  app.add_flag("--quiet", globals.quiet, "No warnings, and no report where files were asked for");
  app.set_version_flag("--version", fmt::format("kiln {}", version()));
}

void add_verbs(CLI::App& app, Grammar& grammar) {
  for (const auto add :
       {add_compile,          add_link,   add_explain, add_trace, add_prewarm, add_ls,
        add_kernels,          add_diff,   add_report,  add_show,  add_extract, add_disasm,
        add_compile_commands, add_stats,  add_verify,  add_gc,    add_clear,   add_pins,
        add_export,           add_import, add_merge,   add_push,  add_pull}) {
    add(grammar);
  }
  add_key(grammar);
  add_config(grammar);
  add_doctor(grammar);
  for (auto* verb : app.get_subcommands({})) verb->fallthrough();
}

// What --help says beside the words themselves.
void add_hints(CLI::App& app) {
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.get_formatter()->label("REQUIRED", "(required)");
  const auto common = fmt::format("{}\n{}", exit_hint(), settings_hint);
  app.footer(common);
  for (auto* verb : app.get_subcommands({})) {
    const auto own = verb->get_footer();
    verb->footer(fmt::format("{}\n{}", own.empty() ? common : own, globals_hint));
  }
}

ExitCode report_usage(const CLI::App& app, Globals& globals, const std::string& wrong) {
  // A command line that does not parse leaves its flags unset; those before the fault were read.
  globals.json = app.get_option("--json")->count() > 0;
  report(globals, {ErrorCode::invalid_argument, wrong, {}, 0});
  say("kiln --help and kiln VERB --help tell more.\n");
  return ExitCode::usage;
}

std::vector<std::string> image_kinds() {
  std::vector<std::string> kinds;
  for (const auto kind : {ImageKind::cubin, ImageKind::ptx, ImageKind::ltoir, ImageKind::optixir,
                          ImageKind::fatbin}) {
    kinds.emplace_back(to_string(kind));
  }
  return kinds;
}

// Those that people compile for today; the parser takes others too.
std::vector<std::string> usual_architectures() {
  return {"native", "sm_75",   "sm_80",   "sm_86",  "sm_89",   "sm_90",  "sm_90a",
          "sm_100", "sm_100a", "sm_103a", "sm_110", "sm_110a", "sm_120", "sm_120a"};
}

struct Values {
  Filling filling;
  std::vector<std::string> (*choices)() = nullptr;
};

// What a value is called tells which values there are.
void describe_filling(DescribedOption& option) {
  static const std::map<std::string, Values> values{
      {"FILE", {Filling::file}},
      {"MANIFEST", {Filling::file}},
      {"CACHE", {Filling::file}},
      {"BUNDLE", {Filling::file}},
      {"CACHE", {Filling::file}},
      {"DIR", {Filling::folder}},
      {"KEY", {Filling::entry}},
      {"INPUT", {Filling::entry_or_file}},
      {"BEFORE", {Filling::entry_or_file}},
      {"AFTER", {Filling::entry_or_file}},
      {"A", {Filling::choice, usual_architectures}},
      {"A[,B...]", {Filling::choice, usual_architectures}},
      {"KIND", {Filling::choice, image_kinds}},
      {"K[,L...]", {Filling::choice, image_kinds}},
      {"ORDER", {Filling::choice, sort_orders}},
      {"FIGURE", {Filling::choice, kernel_orders}},
      {"ACTION", {Filling::choice, config_actions}}};
  const auto found = values.find(option.value);
  if (found == values.end()) return;
  option.filling = found->second.filling;
  if (found->second.choices != nullptr) option.choices = found->second.choices();
}

DescribedOption describe(const CLI::Option& option) {
  DescribedOption described;
  for (const auto& name : option.get_snames()) described.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) described.names.push_back("--" + name);
  // The parser puts a colon and what it checks after the type.
  const auto type = option.get_type_name();
  const bool takes_value = option.get_items_expected_max() > 0;
  if (takes_value) described.value = type.substr(0, type.find(':'));
  if (option.get_positional()) described.value = option.get_name(true);
  described.what = option.get_description();
  // Where the value may be left out, the option as a whole has no default.
  if (option.get_expected_min() > 0) described.default_value = option.get_default_str();
  described.required = option.get_required();
  described.repeatable = takes_value && option.get_expected_max() > 1;
  describe_filling(described);
  return described;
}

// Groups of options are verbs without a name to the parser.
void describe_words(const CLI::App& app, DescribedVerb& verb) {
  for (const auto* option : app.get_options()) {
    // Each verb's --help is that of the tool's own options.
    if (app.get_parent() != nullptr && option == app.get_help_ptr()) continue;
    auto& list = option->get_positional() ? verb.operands : verb.options;
    list.push_back(describe(*option));
  }
  for (const auto* group :
       app.get_subcommands([](const auto* part) { return part->get_name().empty(); }))
    describe_words(*group, verb);
}

DescribedVerb describe_verb(const CLI::App& app) {
  DescribedVerb verb{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  describe_words(app, verb);
  return verb;
}

}  // namespace

GrammarDescription describe_command_line() {
  CommandLine line;
  CLI::App app(about, "kiln");
  Grammar grammar(app, line);
  add_globals(app, line.globals);
  add_verbs(app, grammar);
  GrammarDescription description{about, describe_verb(app).options, {}};
  for (const auto* verb : std::as_const(app).get_subcommands({}))
    description.verbs.push_back(describe_verb(*verb));
  return description;
}

CommandLine parse_command_line(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  CommandLine line;
  CLI::App app(about, "kiln");
  Grammar grammar(app, line);
  app.require_subcommand(1);
  add_globals(app, line.globals);
  add_verbs(app, grammar);
  add_hints(app);
  if (words.empty()) {
    fmt::print("{}", app.help());
    return line;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help and --version
    line.without_action = static_cast<ExitCode>(app.exit(asked));
  } catch (const CLI::ParseError& error) {
    line.action = nullptr;
    const UnreadWords unread{words, app.remaining(true), error.what()};
    line.without_action =
        report_usage(app, line.globals, what_is_wrong(describe_command_line(), unread));
  }
  return line;
}

}  // namespace kiln::cli
