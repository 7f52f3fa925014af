// The verbs that carry entries elsewhere: export, import, merge, push, pull.

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "grammar/verb_grammar.h"
#include "verbs.h"
#include "words.h"

namespace kiln::cli {

namespace {

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

void add_carried(CLI::App& verb, CarriedWords& words) {
  verb.add_option("MANIFEST", words.manifests,
                  "Only the entries of the programs in these manifests or records")
      ->type_name("");
  add_targets_instead(verb, words.archs, words.image);
}

void add_leaving(CLI::App& verb, LeavingWords& words) {
  add_carried(verb, words);
  verb.add_option("--engine", words.engine,
                  "Only the entries of engines whose names match, e.g. 'acme 1.*'")
      ->type_name("GLOB");
}

void add_export(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<ExportWords>(
      "export", "Write a bundle of all entries, or of some, to be shipped", export_bundle);
  required_operand(verb->add_option("BUNDLE", words->bundle, whole_or_not));
  add_leaving(*verb, words->entries);
  add_without_sources(*verb, words->without_sources);
  add_sign(*verb, words->sign);
}

void add_import(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<ImportWords>(
      "import", "Add the entries of bundles and other caches", import_files);
  add_shipped(*verb, words->files);
}

void add_merge(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<MergeWords>("merge", "Make one bundle of several", merge);
  add_shipped(*verb, words->files);
  verb->add_option("-o", words->bundle, whole_or_not)->required()->type_name("BUNDLE");
  add_without_sources(*verb, words->without_sources);
  add_sign(*verb, words->sign);
}

void add_store(CLI::App& verb, std::string& store, const char* way) {
  verb.add_option(
          way, store,
          "A store that machines share, e.g. file:///mnt/kernels or redis://cache; else the "
          "first one that KILN_REMOTE names")
      ->capture_default_str()
      ->type_name("URL");
}

void add_push(VerbGrammar& grammar) {
  const auto [verb, words] =
      grammar.verb<PushWords>("push", "Put entries into a store that machines share", push_entries);
  verb->footer(
      "What is in the store already is left as it is. A password is best kept in KILN_REMOTE: "
      "others "
      "see a command line.");
  add_store(*verb, words->store, "--to");
  add_leaving(*verb, words->entries);
  add_without_sources(*verb, words->without_sources);
  add_sign(*verb, words->sign);
}

void add_pull(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<PullWords>(
      "pull", "Add the entries of a store that machines share", pull_entries);
  verb->footer(
      "Where KILN_TRUSTED_KEYS is set, only what one of these keys has signed comes; else only "
      "files of the user's own, root's, and of those that KILN_CACHE_TRUST_OWNERS names.");
  add_store(*verb, words->store, "--from");
  add_carried(*verb, words->entries);
}

}  // namespace

void add_shipping_verbs(VerbGrammar& grammar) {
  add_export(grammar);
  add_import(grammar);
  add_merge(grammar);
  add_push(grammar);
  add_pull(grammar);
}

}  // namespace kiln::cli
