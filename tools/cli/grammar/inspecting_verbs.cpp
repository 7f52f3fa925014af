// The verbs that look into caches: ls, kernels, diff, report, show, extract, disasm, compile-commands, stats.

#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "grammar/verb_grammar.h"
#include "verbs.h"
#include "words.h"

namespace kiln::cli {

namespace {

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

void add_ls(VerbGrammar& grammar) {
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

void add_kernels(VerbGrammar& grammar) {
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

void add_diff(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<DiffWords>(
      "diff", "Compare the kernels of two entries, caches or bundles", diff);
  verb->footer(
      "Exit status 1 where a figure of a kernel has grown by more than is allowed. Kernels are the "
      "same where program, architecture and expression are; of two entries, where the expression "
      "is. Of several such entries the newest is compared. Where that is not told, as in a bundle, "
      "and the two sides differ, the exit status is 3.");
  required_operand(verb->add_option("BEFORE", words->before,
                                    "A cache's folder, a bundle, or an entry, by its key or a "
                                    "name"));
  required_operand(verb->add_option("AFTER", words->after, "What it is compared with, likewise"));
  one_each(verb->add_option("--allow", words->allowed,
                            "How much a figure may grow: registers=8, size=5%; also spill, local "
                            "and shared; repeatable"),
           "FIGURE=GROWTH");
}

void add_report(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<ReportWords>(
      "report", "Write a page that shows what a cache holds, and what it did", write_report);
  verb->footer(
      "The page is one HTML file that loads nothing. Which headers cost most is known of traces: "
      "of files, or of a manifest's programs, each of which is compiled once for its first target "
      "and not kept.");
  verb->add_option("CACHE", words->of, "A cache's folder or a bundle, in the place of --cache")
      ->type_name("");
  auto* const manifests = verb->add_option(
      "--manifest", words->manifests,
      "Only what serves the programs of this manifest; also which of them would not be served, "
      "and why; repeatable");
  one_each(manifests, "MANIFEST");
  one_each(verb->add_option("--arch", words->archs,
                            "For these architectures, and not for those that the manifest names"),
           "A[,B...]")
      ->delimiter(',')
      ->needs(manifests);
  one_each(verb->add_option("--trace", words->traces,
                            "Time trace that kiln trace has written, in the place of a "
                            "manifest's compiles; repeatable"),
           "FILE");
  verb->add_option("-o", words->output, "The page to write; - is standard output")
      ->required()
      ->type_name("FILE");
}

void add_entry(CLI::App& verb, EntryWords& words) {
  const auto own = verb.get_footer();
  verb.footer(own.empty() ? entry_hint : fmt::format("{} {}", own, entry_hint));
  required_operand(
      verb.add_option("KEY", words.key, "The entry, by its key or a name: 3f9c, gemm.cu"));
  add_newest(verb, words.newest);
}

void add_show(VerbGrammar& grammar) {
  const auto [verb, words] =
      grammar.verb<ShowWords>("show", "Show everything that is kept of one entry", show);
  add_entry(*verb, *words);
  verb->add_flag("--all", words->all, "Do not shorten the list of dependencies");
}

void add_extract(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<ExtractWords>(
      "extract", "Write one part of an entry: its image, if nothing else is said", extract);
  add_entry(*verb, *words);
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

void add_disasm(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<DisasmWords>(
      "disasm", "Print an entry's machine code, or its PTX, as text", disassemble);
  verb->footer(
      "Machine code is read by the toolkit's nvdisasm, and fatbins by its cuobjdump; PTX is taken "
      "from "
      "what is stored, or compiled again from the program that is kept.");
  add_entry(*verb, *words);
  verb->add_option("KERNEL", words->kernel,
                   "Only kernels whose expression or symbol this is, or that match it, e.g. "
                   "'*gemm*'")
      ->type_name("");
  verb->add_flag("--ptx", words->ptx, "PTX, and not the machine code");
}

void add_compile_commands(VerbGrammar& grammar) {
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

void add_stats(VerbGrammar& grammar) {
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

}  // namespace

void add_inspecting_verbs(VerbGrammar& grammar) {
  add_ls(grammar);
  add_kernels(grammar);
  add_diff(grammar);
  add_report(grammar);
  add_show(grammar);
  add_extract(grammar);
  add_disasm(grammar);
  add_compile_commands(grammar);
  add_stats(grammar);
}

}  // namespace kiln::cli
