// The verbs that look after caches: verify, gc, clear, pin, unpin; and after this user's keys and settings: key, config,
// doctor.

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "grammar/verb_grammar.h"
#include "verbs.h"
#include "words.h"

namespace kiln::cli {

namespace {

void add_verify(VerbGrammar& grammar) {
  const auto [verb, words] =
      grammar.verb<VerifyWords>("verify", "Tell whether everything is as it was written", verify);
  verb->add_flag("--deep", words->deep, "Decompress and decode everything as well");
  verb->add_flag("--signatures", words->signatures,
                 "Also whether a trusted key (KILN_TRUSTED_KEYS) signed each entry as it is");
}

void add_dry_run(CLI::App& verb, bool& dry_run) {
  verb.add_flag("--dry-run", dry_run, "Only tell what would be removed");
}

void add_gc(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<GcWords>(
      "gc", "Remove entries that are not pinned, those not used for longest first", collect);
  verb->add_option(
          "--max-size", words->max_size,
          "Down to this size of what the file uses for images, sources, headers and its own "
          "tables, e.g. 500M; a cache to its own limit if nothing is said")
      ->type_name("SIZE");
  verb->add_option("--older-than", words->older_than, "Those made longer ago than this, e.g. 30d")
      ->type_name("AGE");
  add_dry_run(*verb, words->dry_run);
  add_other_store(*verb, words->store,
                  "Of a folder that machines share, and not of the cache; there nothing is pinned");
}

void add_clear(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<ClearWords>(
      "clear", "Remove all entries, those of an engine, or those named, pinned ones too", clear);
  verb->add_option("KEY", words->keys,
                   "Only these entries, by their keys or names; nobody is asked")
      ->type_name("");
  verb->add_option("--engine", words->engine,
                   "Only the entries of engines whose names match, e.g. 'acme 1.*'")
      ->type_name("GLOB");
  verb->add_flag("--yes", words->yes, "Do not ask");
  add_dry_run(*verb, words->dry_run);
}

void add_pins(VerbGrammar& grammar) {
  const auto add = [&](const char* name, const char* what, bool pinned) {
    const auto [verb, words] =
        grammar.verb<PinWords>(name, what, [pinned](const Globals& globals, const PinWords& keys) {
          return pin(globals, keys, pinned);
        });
    verb->footer(entry_hint);
    required_operand(verb->add_option("KEY", words->keys, "The entries, by their keys or names"));
    add_newest(*verb, words->newest);
  };
  add("pin", "Keep entries from being evicted or collected", true);
  add("unpin", "Let pinned entries go again", false);
}

std::vector<std::string> key_actions() { return {"generate", "show"}; }

void add_key(VerbGrammar& grammar) {
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

void add_config(VerbGrammar& grammar) {
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

void add_doctor(VerbGrammar& grammar) {
  const auto [verb, words] = grammar.verb<DoctorWords>(
      "doctor", "Tell what was found on this machine, and what works", diagnose);
  verb->add_flag("--verbose", words->verbose,
                 "Also where everything was looked for, and each setting");
}

}  // namespace

std::vector<std::string> config_actions() { return {"get", "set", "unset"}; }

void add_keeping_verbs(VerbGrammar& grammar) {
  add_verify(grammar);
  add_gc(grammar);
  add_clear(grammar);
  add_pins(grammar);
}

void add_surroundings_verbs(VerbGrammar& grammar) {
  add_key(grammar);
  add_config(grammar);
  add_doctor(grammar);
}

}  // namespace kiln::cli
