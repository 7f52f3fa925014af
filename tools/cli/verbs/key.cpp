#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "json.h"
#include "kiln/signing.h"
#include "output.h"
#include "table.h"
#include "verbs.h"
#include "verbs/inspect.h"

namespace kiln::cli {

namespace {

namespace fs = std::filesystem;

fs::path settled(const fs::path& path) {
  std::error_code error;
  return fs::absolute(path, error).lexically_normal();
}

// Who made a key has not told anybody of it yet: both lines say how.
ExitCode generate(const Globals& globals, const KeyWords& words) {
  if (words.names.size() != 1)
    refuse(ErrorCode::invalid_argument, "key generate: name one key, such as farm-1");
  const auto key = SigningKey::generate(words.names.front()).value();
  const auto folder = settled(words.directory);
  const auto secret = folder / (key.public_key().name + ".key");
  const auto shown = folder / (key.public_key().name + ".pub");
  if (fs::exists(fs::symlink_status(shown))) {
    refuse(ErrorCode::io_failed,
           fmt::format(
               "'{}' is there already, and a key of the same name would not be told apart from "
               "it: take another name",
               shown.string()));
  }
  key.write(secret).value();
  write_file(shown, key.public_key().text() + "\n", 0644);
  print_report(globals,
               {{"name", key.public_key().name},
                {"public_key", key.public_key().text()},
                {"secret_file", secret.string()},
                {"public_file", shown.string()}},
               field_list({{"public key", key.public_key().text()},
                           {"to sign", "KILN_SIGNING_KEY=" + secret.string()},
                           {"to trust it", "KILN_TRUSTED_KEYS=" + shown.string()}},
                          wants_colour(stdout)));
  return ExitCode::done;
}

void print_key(const Globals& globals, const PublicKey& key, const std::string& use) {
  if (globals.json)
    return print_json({{"name", key.name}, {"public_key", key.text()}, {"use", use}});
  put("{}\n", key.text());
}

// A secret key's file, of which only the public half is shown, or one of public keys.
void show_file(const Globals& globals, const std::string& file) {
  const auto path = settled(file);
  if (path.extension() == ".key") {
    print_key(globals, SigningKey::read(path).value().public_key(), "signs");
  } else {
    const auto trusted = TrustedKeys::read(path.string()).value();
    for (const auto& key : trusted.keys()) print_key(globals, key, "trusted");
  }
}

ExitCode show_set(const Globals& globals) {
  const auto settings = settings_of(globals);
  const auto& signing = settings.signing_key;
  if (signing.empty() && settings.trusted_keys.empty() && !globals.json && !globals.quiet) {
    put("no keys are set: KILN_SIGNING_KEY names the one that signs, KILN_TRUSTED_KEYS those that "
        "are trusted\n");
  }
  if (!signing.empty()) print_key(globals, signing.public_key(), "signs");
  for (const auto& key : settings.trusted_keys.keys()) print_key(globals, key, "trusted");
  return ExitCode::done;
}

}  // namespace

ExitCode key(const Globals& globals, const KeyWords& words) {
  if (words.action == "generate") return generate(globals, words);
  if (words.names.empty()) return show_set(globals);
  return for_each(globals, words.names, [&](const std::string& file) {
    show_file(globals, file);
    return ExitCode::done;
  });
}

}  // namespace kiln::cli
