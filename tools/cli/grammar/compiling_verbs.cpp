// The verbs that compile: compile, link, explain, trace, prewarm.

#include <charconv>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "grammar/verb_grammar.h"
#include "verbs.h"
#include "words.h"

namespace kiln::cli {

namespace {

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

void add_compile(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<CompileWords>(
      "compile", "Compile a program, or serve it from the cache", compile);
  add_program(*verb, *words);
  add_output(*verb, words->output);
  verb->add_flag("--verbose", words->verbose, "With an error, all that the compiler was given");
}

void add_link(VerbGrammar& grammar) {
  const auto [verb, words] =
      grammar.verb<LinkWords>("link", "Link images to one, or serve that from the cache", link);
  required_operand(
      verb->add_option("INPUT", words->inputs,
                       "Files of LTO-IR, PTX or relocatable cubins, or entries, by their keys or "
                       "names; an entry's kernels keep their expressions"));
  add_newest(*verb, words->newest);
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

void add_explain(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<ProgramWords>(
      "explain", "Would a program be served from the cache; if not, in what do the entries differ",
      explain);
  add_program(*verb, *words);
}

void add_trace(VerbGrammar& grammar) {
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
      ->check(CLI::Range(1, 1'000'000'000))
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
  constexpr double most = 1e9;
  double seconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc() && rest == text.data() + text.size();
  const bool fits = whole && seconds > 0 && seconds <= most;
  return fits ? "" : fmt::format("{} is no number of seconds above nothing, up to 1e9", text);
}

void add_prewarm(VerbGrammar& grammar) {
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

}  // namespace

void add_compiling_verbs(VerbGrammar& grammar) {
  add_compile(grammar);
  add_link(grammar);
  add_explain(grammar);
  add_trace(grammar);
  add_prewarm(grammar);
}

}  // namespace kiln::cli
