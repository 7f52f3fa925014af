// Keys on the command line, and what they let through.

#include <sys/stat.h>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

class Key : public ToolTest {
 protected:
  Key() { source_ = file("scale.cu", scale_source); }

  /// Without CUDA, and with these settings.
  Outcome with(std::map<std::string, std::string> settings,
               const std::vector<std::string>& arguments) {
    auto circumstances = without_cuda();
    circumstances.environment.merge(settings);
    return run(arguments, circumstances);
  }

  /// Makes a key in the scratch folder.
  Json generate(const std::string& name) {
    const auto made = with({}, {"--json", "key", "generate", name, "--directory", path("")});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return made.documents().at(0);
  }

  std::string path(const std::string& name) const { return scratch(name).string(); }

  void make(const std::string& arch) {
    compile({source_, "--arch", arch, "--image", "ptx", "--name", "fill"});
  }

  std::string source_;
};

TEST_F(Key, GeneratesTwoFilesAndSaysWhatForEachIs) {
  const auto made = with({}, {"key", "generate", "farm-1", "--directory", path("")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("KILN_SIGNING_KEY=" + path("farm-1.key")));
  EXPECT_THAT(made.out, HasSubstr("KILN_TRUSTED_KEYS=" + path("farm-1.pub")));
  struct stat status {};
  ASSERT_EQ(::stat(path("farm-1.key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  const auto secret = read(path("farm-1.key"));
  EXPECT_THAT(made.out + made.err, Not(HasSubstr(secret.substr(secret.find(':') + 1, 43))));
  const auto again = with({}, {"key", "generate", "farm-1", "--directory", path("")});
  EXPECT_EQ(again.exit_code, 3);
  EXPECT_THAT(again.err, HasSubstr("is there already"));
  EXPECT_EQ(read(path("farm-1.key")), secret);
}

TEST_F(Key, IsNotWrittenThroughALink) {
  std::filesystem::create_symlink(path("elsewhere"), path("farm-1.pub"));
  const auto made = with({}, {"key", "generate", "farm-1", "--directory", path("")});
  EXPECT_EQ(made.exit_code, 3);
  EXPECT_THAT(made.err, HasSubstr("is there already"));
  EXPECT_FALSE(std::filesystem::exists(path("elsewhere")));
  EXPECT_FALSE(std::filesystem::exists(path("farm-1.key")));
}

TEST_F(Key, OnlyWhatIsSignedIsLinked) {
  const auto farm = generate("farm-1");
  const std::string key =
      compile({source_, "--arch", "sm_90", "--option=-rdc=true", "--name", "fill"})["key"];
  std::filesystem::permissions(cache(), std::filesystem::perms::all);
  const Circumstances trusting{
      .environment = {{"KILN_TRUSTED_KEYS", farm["public_key"].get<std::string>()}}};
  const auto linked = run({"link", key, "--arch", "sm_90"}, trusting);
  EXPECT_EQ(linked.exit_code, 3) << linked.err;
  EXPECT_THAT(linked.err, HasSubstr("no trusted key has signed it"));
  std::filesystem::permissions(cache(), std::filesystem::perms::owner_all);
  EXPECT_EQ(run({"link", key, "--arch", "sm_90"}, trusting).exit_code, 0);
}

TEST_F(Key, ShowsPublicHalvesAlone) {
  const auto made = generate("farm-1");
  const std::string text = made["public_key"];
  EXPECT_EQ(read(made["public_file"].get<std::string>()), text + "\n");
  for (const auto& file : {made["public_file"], made["secret_file"]})
    EXPECT_EQ(with({}, {"key", "show", file}).out, text + "\n");
  EXPECT_EQ(with({{"KILN_SIGNING_KEY", made["secret_file"]}}, {"key", "show"}).out, text + "\n");
  EXPECT_EQ(with({{"KILN_TRUSTED_KEYS", text}}, {"key", "show"}).out, text + "\n");
  EXPECT_THAT(with({}, {"key", "show"}).out, HasSubstr("no keys are set"));
}

TEST_F(Key, SaysWhatItCannotDo) {
  EXPECT_EQ(with({}, {"key", "generate"}).exit_code, 2);
  EXPECT_EQ(with({}, {"key", "generate", "a b"}).exit_code, 2);
  EXPECT_EQ(with({}, {"key", "frobnicate"}).exit_code, 2);
  const auto unsigned_export = with({}, {"export", path("b.kiln"), "--sign"});
  EXPECT_EQ(unsigned_export.exit_code, 2);
  EXPECT_THAT(unsigned_export.err, HasSubstr("KILN_SIGNING_KEY"));
  const auto unasked = with({}, {"verify", "--signatures"});
  EXPECT_EQ(unasked.exit_code, 2);
  EXPECT_THAT(unasked.err, HasSubstr("KILN_TRUSTED_KEYS"));
}

// The README's way: a farm signs, a machine that trusts it imports, and hears of what was changed since.
TEST_F(Key, WhatAFarmSignsIsTakenWhereItIsTrusted) {
  const auto farm = generate("farm-1");
  const std::string trusted = farm["public_file"];
  make("sm_80");
  ASSERT_EQ(with({}, {"export", path("plain.kiln")}).exit_code, 0);
  const auto exported = with({{"KILN_SIGNING_KEY", farm["secret_file"]}},
                             {"--json", "export", path("signed.kiln"), "--sign"});
  EXPECT_EQ(exported.documents().at(0)["signed_entries"], 1);

  const auto taken = with({{"KILN_TRUSTED_KEYS", trusted}},
                          {"--json", "import", path("signed.kiln"), "--cache", path("taken")});
  EXPECT_EQ(taken.exit_code, 0) << taken.err;
  EXPECT_EQ(taken.documents().at(0)["added"], 1);
  const auto refused = with({{"KILN_TRUSTED_KEYS", trusted}},
                            {"--json", "import", path("plain.kiln"), "--cache", path("refused")});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_EQ(refused.documents().at(0)["added"], 0);
  EXPECT_THAT(refused.documents().at(0)["skipped"][0]["problem"].get<std::string>(),
              HasSubstr("no trusted key has signed it"));

  const auto sound = with({{"KILN_TRUSTED_KEYS", trusted}},
                          {"verify", "--signatures", "--cache", path("signed.kiln")});
  EXPECT_EQ(sound.exit_code, 0) << sound.out;
  EXPECT_THAT(sound.out, HasSubstr("1 of 1 entries are as farm-1 signed them"));
  const auto unsound = with({{"KILN_TRUSTED_KEYS", trusted}},
                            {"verify", "--signatures", "--cache", path("plain.kiln")});
  EXPECT_EQ(unsound.exit_code, 1);
  EXPECT_THAT(unsound.out, HasSubstr("no trusted key has signed it"));
  const auto shown = with({}, {"--json", "show", "scale.cu", "--cache", path("taken")});
  EXPECT_EQ(shown.documents().at(0)["signers"], Json::array({"farm-1"}));
}

// A damaged text is left out, and with it the entry's others. What another entry brings of them is no damage, but nobody has
// signed for a part.
TEST_F(Key, WhatCameWithoutItsTextsIsSoundAndNotWhole) {
  const auto farm = generate("farm-1");
  const std::string trusted = farm["public_file"];
  file("shared.cuh", "#define BY 2\n");
  file("damaged.cuh", "//" + std::string(4000, '-'));
  const std::string kernel = "extern \"C\" __global__ void k(int* x) { *x = BY; }\n";
  for (const auto& [name, text] : std::map<std::string, std::string>{
           {"one.cu", "#include \"shared.cuh\"\n#include \"damaged.cuh\"\n"},
           {"two.cu", "#include \"shared.cuh\"\n"}})
    compile({file(name, text + kernel), "--arch", "sm_80", "--image", "ptx"});
  ASSERT_EQ(
      with({{"KILN_SIGNING_KEY", farm["secret_file"]}}, {"export", path("signed.kiln"), "--sign"})
          .exit_code,
      0);
  run_sql(path("signed.kiln"), "UPDATE texts SET frame = x'00' WHERE raw_bytes > 4000");
  const auto take = [&](const std::vector<std::string>& words) {
    return with({{"KILN_TRUSTED_KEYS", trusted}, {"KILN_CACHE_DIR", path("taken")}}, words);
  };
  const auto taken = take({"--json", "import", path("signed.kiln")}).documents().at(0);
  EXPECT_EQ(taken["added"], 2);
  const auto signatures = take({"verify", "--signatures"});
  EXPECT_EQ(signatures.exit_code, 1);
  EXPECT_THAT(signatures.out, testing::AllOf(HasSubstr("1 of 2 entries are as farm-1 signed them"),
                                             HasSubstr("not all there")));
  const auto sound = take({"verify"});
  EXPECT_EQ(sound.exit_code, 0) << sound.out;
}

TEST_F(Key, ABundleServesWhatIsSigned) {
  const auto farm = generate("farm-1");
  const auto other = generate("other");
  make("sm_80");
  ASSERT_EQ(
      with({{"KILN_SIGNING_KEY", farm["secret_file"]}}, {"export", path("signed.kiln"), "--sign"})
          .exit_code,
      0);
  const auto explain = [&](const Json& key) {
    return with(
        {{"KILN_BUNDLES", path("signed.kiln")},
         {"KILN_CACHE_DIR", path("none")},
         {"KILN_TRUSTED_KEYS", key["public_file"]}},
        {"--json", "explain", source_, "--arch", "sm_80", "--image", "ptx", "--name", "fill"});
  };
  const auto served = explain(farm);
  EXPECT_EQ(served.documents().at(0)["origin"], "bundle");
  const auto missed = explain(other);
  EXPECT_EQ(missed.exit_code, 1);
  EXPECT_THAT(missed.documents().at(0)["reason"].get<std::string>(),
              HasSubstr("no trusted key has signed"));
  EXPECT_THAT(missed.err, HasSubstr("KILN_TRUSTED_KEYS"));
}

// Compiled from a stranger's sources, it would be this user's own and need no signature any more.
TEST_F(Key, NothingIsCompiledFromWhatIsNotSigned) {
  const auto farm = generate("farm-1");
  make("sm_80");
  ASSERT_EQ(with({}, {"export", path("plain.kiln")}).exit_code, 0);
  const auto prewarmed =
      with({{"KILN_TRUSTED_KEYS", farm["public_file"]}},
           {"prewarm", "--from", path("plain.kiln"), "--arch", "sm_90", "--cache", path("new")});
  EXPECT_EQ(prewarmed.exit_code, 3);
  EXPECT_THAT(prewarmed.err, HasSubstr("no trusted key has signed it"));
}

TEST_F(Key, WithoutLibsodiumItNamesThePackageAndAllElseWorks) {
  for (const auto* name : {"libsodium.so.23", "libsodium.so.26"}) file(name, "");
  const auto made = with({{"LD_LIBRARY_PATH", path("")}}, {"key", "generate", "farm-1"});
  EXPECT_EQ(made.exit_code, 2);
  EXPECT_THAT(made.err, HasSubstr("Debian: libsodium23"));
  make("sm_80");
  EXPECT_EQ(with({{"LD_LIBRARY_PATH", path("")}}, {"export", path("b.kiln")}).exit_code, 0);
}

TEST_F(Key, AKeyThatIsNoneStopsTheTool) {
  const auto bad = with({{"KILN_SIGNING_KEY", path("none.key")}}, {"ls"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("KILN_SIGNING_KEY: key file '" + path("none.key")));
  EXPECT_THAT(bad.err, HasSubstr("make one with kiln key generate"));
}

}  // namespace
}  // namespace kiln::tests
