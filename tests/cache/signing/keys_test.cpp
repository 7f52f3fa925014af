#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/signing.h"
#include "support.h"

namespace kiln {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;
using testing::Not;

// The first test of RFC 8032, 7.1.
constexpr const char* known_seed = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
constexpr const char* known_public = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

class Keys : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path write(const std::string& name, const std::string& text,
                               mode_t mode = 0600) const {
    const auto file = folder_.path() / name;
    test::write_file(file, text);
    EXPECT_EQ(::chmod(file.c_str(), mode), 0);
    return file;
  }

  [[nodiscard]] static std::string why_not_trusted(const std::string& list) {
    const auto keys = TrustedKeys::read(list);
    return keys ? "read" : keys.error().message;
  }

  [[nodiscard]] static std::string why_not_signing(const fs::path& file) {
    const auto key = SigningKey::read(file);
    return key ? "read" : key.error().message;
  }

  test::TemporaryFolder folder_;
  const std::string line_ = std::string("farm-1:") + known_public;
};

TEST_F(Keys, AKeyIsTheOneThatItsSeedMakes) {
  const auto file = write("a.key", std::string("kiln-secret-key farm-1:") + known_seed + "\n");
  const auto key = SigningKey::read(file);
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->public_key().text(), line_);
  EXPECT_EQ(PublicKey::parse(line_), key->public_key());
}

TEST_F(Keys, WhatIsWrittenIsReadAgainAndIsItsUsersAlone) {
  const auto key = SigningKey::generate("farm-2").value();
  EXPECT_FALSE(key.empty());
  EXPECT_NE(key.public_key(), SigningKey::generate("farm-2").value().public_key());
  const auto file = folder_.path() / "farm-2.key";
  ::umask(0);
  ASSERT_TRUE(key.write(file));
  ::umask(022);
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  EXPECT_EQ(SigningKey::read(file).value().public_key(), key.public_key());
  const auto before = test::read_file(file);
  const auto again = SigningKey::generate("farm-2").value().write(file);
  EXPECT_EQ(again.error().code, ErrorCode::io_failed);
  EXPECT_EQ(test::read_file(file), before) << "no key is written over another";
}

TEST_F(Keys, NamesHaveFewLetters) {
  for (const auto* name : {"", "a b", "a:b", "a/b", "ä", "a,b"}) {
    EXPECT_FALSE(SigningKey::generate(name)) << name;
    EXPECT_FALSE(PublicKey::parse(std::string(name) + ":" + known_public)) << name;
  }
  EXPECT_FALSE(SigningKey::generate(std::string(65, 'a')));
  EXPECT_TRUE(SigningKey::generate(std::string(64, 'a')));
}

TEST_F(Keys, ATextThatIsNoKeyIsRefused) {
  for (const auto& text :
       {std::string("farm-1"), line_ + "x", line_.substr(0, line_.size() - 1), "farm-1: " + line_,
        std::string("farm-1:") + std::string(43, '/') + "=", line_ + "\n"}) {
    const auto parsed = PublicKey::parse(text);
    // 43 of them are 32 bytes and two bits, which base64 wants to be zero.
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_setting);
  }
}

TEST_F(Keys, ASecretKeyIsNeverTakenForAPublicOneNorRepeated) {
  const auto secret = std::string("kiln-secret-key farm-1:") + known_seed;
  const auto parsed = PublicKey::parse(secret);
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, HasSubstr("secret key"));
  EXPECT_THAT(parsed.error().message, Not(HasSubstr(known_seed)));
  for (const auto* around : {"\"", "export ", "\xef\xbb\xbf"}) {
    const auto also = PublicKey::parse(around + secret);
    EXPECT_THAT(also.error().message, Not(HasSubstr(known_seed)));
  }
  EXPECT_THAT(why_not_signing(secret), Not(HasSubstr(known_seed)));
  const auto file = write("a.key", secret, 0600);
  EXPECT_THAT(why_not_trusted(file.string()), HasSubstr("secret key"));
  EXPECT_THAT(why_not_trusted(file.string()), Not(HasSubstr(known_seed)));
  const auto torn = write("torn.key", secret.substr(0, secret.size() - 3));
  EXPECT_THAT(why_not_signing(torn), HasSubstr("holds no signing key"));
  EXPECT_THAT(why_not_signing(torn), Not(HasSubstr("nWGx")));
}

TEST_F(Keys, APublicKeyIsToldWhereASigningKeyIsAskedFor) {
  const auto key = SigningKey::generate("farm-1").value();
  for (const mode_t mode : {0600, 0644}) {
    const auto file = write("farm-1.pub", key.public_key().text() + "\n", mode);
    EXPECT_THAT(why_not_signing(file),
                testing::AllOf(HasSubstr("farm-1.pub"), HasSubstr("holds a public key"),
                               HasSubstr("the .key which was written beside it")));
  }
}

// Its seed alone is as secret as the whole line.
TEST_F(Keys, WhatMayBeASecretIsNotRepeated) {
  const auto secret = SigningKey::generate("farm-1").value();
  ASSERT_TRUE(secret.write(folder_.path() / "farm-1.key"));
  const auto line = test::read_file(folder_.path() / "farm-1.key");
  const auto seed = line.substr(line.find(':') + 1, 44);
  // One of 64 begins as a path does.
  const auto as_a_path = "/" + seed.substr(1);
  for (const auto& text : {seed, seed.substr(0, 43), "a b:" + seed, as_a_path}) {
    const auto parsed = PublicKey::parse(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().message.find(seed.substr(1, 38)), std::string::npos);
  }
  // What says "name an absolute path" has somebody put '/' before it, and the tool a folder.
  for (const auto& text : {as_a_path, as_a_path + " #x", as_a_path.substr(0, 41), "/" + seed,
                           "/home/me/" + seed, "/" + seed + "/"}) {
    EXPECT_THAT(why_not_trusted(text), Not(HasSubstr(seed.substr(1, 38))));
    EXPECT_THAT(why_not_signing(text), Not(HasSubstr(seed.substr(1, 38))));
  }
  // 43 characters without the '=', of which one is a '/'.
  const std::string cut = "AbCdEfGhIjKlMnOpQrStUv/XyZ0123456789AbCdEfG";
  for (const auto* place : {"/", "//", "/home/me/", "/x/"})
    EXPECT_THAT(why_not_trusted(place + cut), Not(HasSubstr(cut.substr(1, 38)))) << place;
  EXPECT_THAT(why_not_trusted("/etc/kiln/keys/of/all/the/machines/of/the/fleet/that/farms"),
              HasSubstr("/etc/kiln/keys/of"));
}

TEST_F(Keys, AListHoldsKeysFilesAndFolders) {
  const auto one = SigningKey::generate("one").value().public_key();
  const auto two = SigningKey::generate("two").value().public_key();
  const auto three = SigningKey::generate("three").value().public_key();
  const auto file =
      write("some.keys", "# of the farm\n\n" + two.text() + "  # until June\r\n", 0644);
  fs::create_directory(folder_.path() / "trusted");
  test::write_file(folder_.path() / "trusted/b.pub", three.text() + "\n");
  test::write_file(folder_.path() / "trusted/a.pub", line_);
  test::write_file(folder_.path() / "trusted/a.key", "no public key");
  const auto list =
      one.text() + " , " + file.string() + ",," + (folder_.path() / "trusted").string();
  const auto keys = TrustedKeys::read(list);
  ASSERT_TRUE(keys) << keys.error().message;
  std::vector<std::string> names;
  for (const auto& key : keys->keys()) names.push_back(key.name);
  EXPECT_EQ(names, (std::vector<std::string>{"one", "two", "farm-1", "three"}));
}

TEST_F(Keys, AListWithoutAKeyIsRefusedAndNamesWhatItIs) {
  fs::create_directory(folder_.path() / "empty");
  const auto empty = (folder_.path() / "empty").string();
  EXPECT_THAT(why_not_trusted(empty), HasSubstr(empty));
  EXPECT_THAT(why_not_trusted(empty), HasSubstr(".pub"));
  EXPECT_THAT(why_not_trusted(" , "), HasSubstr("no key"));
  EXPECT_THAT(why_not_trusted("/nonexistent/x.pub"), HasSubstr("/nonexistent/x.pub"));
  const auto bad = write("bad.pub", line_ + "\nrubbish\n", 0644).string();
  EXPECT_THAT(why_not_trusted(bad), HasSubstr("line 2 of"));
  EXPECT_THAT(why_not_trusted(bad), HasSubstr(bad));
}

TEST_F(Keys, WhoMayChangeAFileOfKeysMustBeTheUserOrRoot) {
  EXPECT_THAT(why_not_trusted(write("g.pub", line_, 0664)), HasSubstr("chmod go-w"));
  EXPECT_THAT(why_not_trusted(write("o.pub", line_, 0646)), HasSubstr("written by others"));
  const auto folder = folder_.path() / "open";
  fs::create_directory(folder);
  test::write_file(folder / "a.pub", line_);
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_THAT(why_not_trusted(folder), HasSubstr("written by others"));
  if (::geteuid() != 0) return;
  const auto file = write("theirs.pub", line_, 0644);
  ASSERT_EQ(::chown(file.c_str(), test::nobody, test::nobody), 0);
  EXPECT_THAT(why_not_trusted(file), HasSubstr("belongs to user 65534"));
}

TEST_F(Keys, ASecretKeyMustBeItsUsersAlone) {
  const auto text = std::string("kiln-secret-key farm-1:") + known_seed + "\n";
  EXPECT_THAT(why_not_signing(write("r.key", text, 0640)), HasSubstr("chmod 600"));
  EXPECT_EQ(why_not_signing(write("less.key", text, 0400)), "read");
  const auto file = write("a.key", text);
  const auto link = folder_.path() / "link.key";
  fs::create_symlink(file, link);
  EXPECT_THAT(why_not_signing(link), HasSubstr("symbolic link"));
  EXPECT_EQ(why_not_signing(file), "read");
  fs::create_hard_link(file, folder_.path() / "second.key");
  EXPECT_THAT(why_not_signing(file), HasSubstr("several names"));
  EXPECT_THAT(why_not_signing("a.key"), HasSubstr("absolute"));
  EXPECT_THAT(why_not_signing(folder_.path()), HasSubstr("not a regular file"));
  EXPECT_THAT(why_not_signing(folder_.path() / "none.key"), HasSubstr("none.key"));
  EXPECT_THAT(why_not_signing(write("large.key", std::string(2 << 20, ' '))),
              HasSubstr("too large"));
  const auto pipe = folder_.path() / "pipe.key";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(why_not_signing(pipe), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace kiln
