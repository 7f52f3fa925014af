#include "signing/keys.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "kiln/caller_state.h"
#include "signing/sodium.h"
#include "system/descriptor.h"
#include "system/standard_streams.h"
#include "system/whole_io.h"

namespace kiln {

using storage::sodium;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_name = 64;
/// More than any list of keys; a file is read whole.
constexpr std::size_t most_file_bytes = 1 << 20;
/// What the line of a secret key begins with, so that nobody takes it for a public one.
constexpr std::string_view secret_mark = "kiln-secret-key ";
constexpr int base64_variant = sodium_base64_VARIANT_ORIGINAL;

tl::unexpected<Error> bad(std::string message) {
  return fail(ErrorCode::invalid_setting, std::move(message));
}

bool holds_secret(std::string_view text) {
  return text.find(secret_mark.substr(0, secret_mark.size() - 1)) != std::string_view::npos;
}

constexpr std::size_t least_of_a_secret = 40;
constexpr std::size_t most_of_a_secret = 44;

bool has_length_of_secret(std::string_view text) {
  return text.size() >= least_of_a_secret && text.size() <= most_of_a_secret;
}

/// Words have not all of these; of 1,400 secrets one has not.
bool looks_random(std::string_view text) {
  return text.find_first_of("0123456789") != text.npos &&
         text.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != text.npos;
}

/// Whether it may be one in a run of base64's characters, '/' among them, which a secret may have and a path has around it.
bool may_hold_secret(std::string_view run) {
  if (has_length_of_secret(run) || (run.size() >= least_of_a_secret && run.find('=') != run.npos))
    return true;
  for (std::size_t begin = 0; begin < run.size();
       begin = std::min(run.find('/', begin), run.size()) + 1) {
    for (auto size = least_of_a_secret; size <= most_of_a_secret; ++size) {
      const auto end = begin + size;
      const bool is_part = end == run.size() || (end < run.size() && run[end] == '/');
      const auto part = run.substr(begin, size);
      if (is_part && (part.find('/') == part.npos || looks_random(part))) return true;
    }
  }
  return false;
}

/// Whether the secret half may be in it, without its mark: 43 characters of base64 and '=', or somewhat fewer of them where it was
/// cut. A path has '.', '-' or '_' in it, or other lengths; what is neither a path nor so short is not told apart.
bool may_be_secret(std::string_view text) {
  constexpr std::string_view base64 =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  if (!text.starts_with('/') && text.size() >= least_of_a_secret) return true;
  for (auto at = text.find_first_of(base64); at != std::string_view::npos;) {
    const auto end = std::min(text.find_first_not_of(base64, at), text.size());
    if (may_hold_secret(text.substr(at, end - at))) return true;
    at = text.find_first_of(base64, end);
  }
  return false;
}

/// What somebody gave, for an error.
std::string as_given(std::string_view text) {
  return may_be_secret(text) ? "what was given (and is not repeated: it may be secret)"
                             : fmt::format("'{}'", text);
}

bool is_name(std::string_view name) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !name.empty() && name.size() <= longest_name &&
         name.find_first_not_of(letters) == std::string_view::npos;
}

tl::unexpected<Error> bad_name(std::string_view name) {
  return bad(fmt::format(
      "'{}' is no name of a key: use letters, digits, '.', '_' and '-', at most {}, such as farm-1",
      name, longest_name));
}

std::string base64_of(const storage::Sodium& library, std::span<const unsigned char> bytes) {
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), base64_variant), '\0');
  library.to_base64(text.data(), text.size(), bytes.data(), bytes.size(), base64_variant);
  text.pop_back();  // The zero byte behind it.
  return text;
}

/// Whether the text is just these bytes in base64.
bool read_base64(const storage::Sodium& library, std::string_view text,
                 std::span<unsigned char> bytes) {
  std::size_t size = 0;
  const char* end = nullptr;
  return library.from_base64(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &size,
                             &end, base64_variant) == 0 &&
         size == bytes.size() && end == text.data() + text.size();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The parts of a text between these signs, without blanks at their ends, but for empty ones.
std::vector<std::string_view> parts_of(std::string_view text, char sign) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto part = text.substr(0, text.find(sign));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (const auto plain = trimmed(part); !plain.empty()) parts.push_back(plain);
  }
  return parts;
}

std::string reason() { return std::generic_category().message(errno); }

// Who may change the file says what runs on the GPU.
std::optional<std::string> fault_of_public(const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    return fmt::format("belongs to user {}; it must be yours or root's", status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("can be written by others (mode {:o}); chmod go-w", status.st_mode & 07777);
  return std::nullopt;
}

std::optional<std::string> fault_of_secret(const struct stat& status) {
  if (status.st_uid != ::geteuid())
    return fmt::format("belongs to user {}; a secret key must be yours alone", status.st_uid);
  if ((status.st_mode & 077) != 0)
    return fmt::format("is open to others (mode {:o}); chmod 600", status.st_mode & 07777);
  if (status.st_nlink > 1) return "has several names (hard links); remove the others";
  return std::nullopt;
}

using Fault = std::optional<std::string> (*)(const struct stat&);

/// The text of a regular file in which `fault_of` finds no fault.
Result<std::string> read_keys(const fs::path& file, const Fault fault_of, int flags) {
  const auto bad_file = [&](std::string_view problem) {
    return bad(fmt::format("key file {} {}", as_given(file.string()), problem));
  };
  const system::Descriptor opened(system::open_file(file.c_str(), O_RDONLY | O_NONBLOCK | flags));
  if (opened.get() < 0) {
    const auto* const remedy =
        errno == ENOENT ? "; check its name, or make one with kiln key generate" : "";
    return bad_file(errno == ELOOP ? "is a symbolic link; name what it points to"
                                   : fmt::format("cannot be opened: {}{}", reason(), remedy));
  }
  struct stat status;
  if (::fstat(opened.get(), &status) != 0) return bad_file("cannot be read: " + reason());
  if (!S_ISREG(status.st_mode)) return bad_file("is not a regular file");
  if (const auto fault = fault_of(status)) return bad_file(*fault);
  auto text = system::read_whole(opened.get(), most_file_bytes);
  if (!text) return bad_file("cannot be read: " + reason());
  if (text->size() > most_file_bytes) return bad_file("is too large for keys");
  return std::move(*text);
}

Outcome read_file(const fs::path& file, std::vector<PublicKey>& keys) {
  const auto text = read_keys(file, fault_of_public, 0);
  if (!text) return tl::unexpected(text.error());
  for (const auto line : parts_of(*text, '\n')) {
    const auto without_remark = trimmed(line.substr(0, line.find('#')));
    if (without_remark.empty()) continue;
    auto key = PublicKey::parse(without_remark);
    // Nothing of the line is repeated: the wrong file may have been named.
    if (!key && holds_secret(line)) return tl::unexpected(std::move(key.error()));
    if (!key) {
      const auto number = 1 + std::count(text->data(), line.data(), '\n');
      return bad(
          fmt::format("line {} of '{}' is no public key, which is a name, a colon and 44 "
                      "characters of base64",
                      number, file.string()));
    }
    keys.push_back(std::move(*key));
  }
  return {};
}

bool holds_public_key(const fs::path& file) {
  auto text = read_keys(file, fault_of_public, O_NOFOLLOW);
  if (!text) return false;
  const bool is_public = PublicKey::parse(trimmed(*text)).has_value();
  ::explicit_bzero(text->data(), text->size());  // It may be a signing key that is torn.
  return is_public;
}

tl::unexpected<Error> no_signing_key(const fs::path& file, bool is_public) {
  return bad(fmt::format(
      "key file '{}' holds {}", file.string(),
      is_public ? "a public key, and no signing key: that is the .key which was written beside it"
                : "no signing key; kiln key generate makes one"));
}

Outcome read_folder(const fs::path& folder, std::vector<PublicKey>& keys) {
  struct stat status;
  const auto bad_folder = [&](const std::string& problem) {
    return bad(fmt::format("folder of keys {} {}", as_given(folder.string()), problem));
  };
  if (::stat(folder.c_str(), &status) != 0) return bad_folder("cannot be read: " + reason());
  if (const auto fault = fault_of_public(status)) return bad_folder(*fault);
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    if (item->path().extension() == ".pub") files.push_back(item->path());
  }
  if (error) return bad_folder("cannot be read: " + error.message());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    if (auto read = read_file(file, keys); !read) return read;
  }
  return {};
}

Outcome read_item(std::string_view item, std::vector<PublicKey>& keys) {
  if (!item.starts_with('/')) {
    auto key = PublicKey::parse(item);
    if (!key) return tl::unexpected(std::move(key.error()));
    keys.push_back(std::move(*key));
    return {};
  }
  std::error_code told_by_the_opening;
  return fs::is_directory(item, told_by_the_opening) ? read_folder(item, keys)
                                                     : read_file(item, keys);
}

}  // namespace

std::string PublicKey::text() const {
  const auto& library = sodium();
  return library ? fmt::format("{}:{}", name, base64_of(*library, bytes)) : name;
}

Result<PublicKey> PublicKey::parse(std::string_view text) {
  const auto& library = sodium();
  if (!library) return tl::unexpected(library.error());
  if (holds_secret(text))
    return bad(
        "a secret key stands where a public one should; kiln key show prints its public half");
  const auto colon = text.find(':');
  PublicKey key;
  if (colon == std::string_view::npos || !is_name(text.substr(0, colon)) ||
      !read_base64(*library, text.substr(colon + 1), key.bytes)) {
    return bad(
        fmt::format("{} is no public key: one is a name, a colon and 44 characters of base64, as "
                    "kiln key show prints it; or "
                    "an absolute path",
                    as_given(text)));
  }
  key.name = text.substr(0, colon);
  return key;
}

Result<TrustedKeys> TrustedKeys::read(std::string_view list) {
  const CallerState caller;
  std::vector<PublicKey> keys;
  for (const auto item : parts_of(list, ',')) {
    if (auto read = read_item(item, keys); !read) return tl::unexpected(std::move(read.error()));
  }
  // An empty folder shall not mean that anything goes.
  if (keys.empty())
    return bad(fmt::format("{} has no key: in a folder, those in files that end in .pub count",
                           as_given(list)));
  TrustedKeys trusted;
  trusted.keys_ = std::make_shared<const std::vector<PublicKey>>(std::move(keys));
  return trusted;
}

std::span<const PublicKey> TrustedKeys::keys() const noexcept {
  if (keys_ == nullptr) return {};
  return *keys_;
}

SigningKey::Secret::~Secret() { ::explicit_bzero(bytes.data(), bytes.size()); }

SigningKey::SigningKey(std::shared_ptr<const Secret> secret) noexcept
    : secret_(std::move(secret)) {}

const PublicKey& SigningKey::public_key() const noexcept { return secret_->public_key; }

Result<SigningKey> SigningKey::generate(std::string name) {
  const CallerState caller;
  const auto& library = sodium();
  if (!library) return tl::unexpected(library.error());
  if (!is_name(name)) return bad_name(name);
  auto secret = std::make_shared<Secret>();
  secret->public_key.name = std::move(name);
  // The seed is read before the key is written over it.
  library->random(secret->bytes.data(), Secret::seed_bytes);
  std::array<unsigned char, Secret::seed_bytes> seed;
  std::copy_n(secret->bytes.begin(), seed.size(), seed.begin());
  library->seed_keypair(secret->public_key.bytes.data(), secret->bytes.data(), seed.data());
  ::explicit_bzero(seed.data(), seed.size());
  return SigningKey(std::move(secret));
}

Result<SigningKey> SigningKey::read(const fs::path& file) {
  const CallerState caller;
  const auto& library = sodium();
  if (!library) return tl::unexpected(library.error());
  // It may be the key itself.
  if (!file.is_absolute())
    return bad(
        "a signing key is named by the absolute path of its file; what was given is none, and is "
        "not repeated");
  auto text = read_keys(file, fault_of_secret, O_NOFOLLOW);
  if (!text && holds_public_key(file)) return no_signing_key(file, true);
  if (!text) return tl::unexpected(std::move(text.error()));
  const auto line = trimmed(*text);
  const auto colon = line.find(':');
  auto secret = std::make_shared<Secret>();
  std::array<unsigned char, Secret::seed_bytes> seed{};
  const bool sound = line.starts_with(secret_mark) && colon != std::string_view::npos &&
                     is_name(line.substr(secret_mark.size(), colon - secret_mark.size())) &&
                     read_base64(*library, line.substr(colon + 1), seed);
  if (sound) {
    secret->public_key.name = line.substr(secret_mark.size(), colon - secret_mark.size());
    library->seed_keypair(secret->public_key.bytes.data(), secret->bytes.data(), seed.data());
  }
  ::explicit_bzero(seed.data(), seed.size());
  ::explicit_bzero(text->data(), text->size());
  if (!sound) return no_signing_key(file, holds_public_key(file));
  return SigningKey(std::move(secret));
}

Outcome SigningKey::write(const fs::path& file) const {
  const CallerState caller;
  const auto& library = sodium();
  if (!library) return tl::unexpected(library.error());
  const auto failed = [&] {
    return fail(ErrorCode::io_failed,
                fmt::format("key file '{}' cannot be written: {}; name another key or folder",
                            file.string(), reason()));
  };
  const system::Descriptor made(
      system::open_file(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (made.get() < 0) return failed();
  auto line = fmt::format("{}{}:{}\n", secret_mark, public_key().name,
                          base64_of(*library, {secret_->bytes.data(), Secret::seed_bytes}));
  // Nothing of a key is worth nothing.
  const bool written = system::write_whole(made.get(), line) && ::fsync(made.get()) == 0;
  ::explicit_bzero(line.data(), line.size());
  if (written) return {};
  const auto error = failed();
  ::unlink(file.c_str());
  return error;
}

}  // namespace kiln
