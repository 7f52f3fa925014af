#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

// A farm with a key and a compiler, a folder that machines share, and pods that have neither.
class Store : public ToolTest {
 protected:
  Store() {
    file("scale.cu", scale_source);
    for (const auto* const arch : {"sm_80", "sm_90"})
      compile({path("scale.cu"), "--arch", arch, "--image", "ptx", "--name", "fill"});
    manifest_ = file("engine.json",
                     R"({"kiln_manifest": 1, "targets": ["sm_90"], "programs": [
                         {"name": "scale.cu", "source_file": "scale.cu", "image": "ptx", "kernels": ["fill"]}]})");
    const auto made =
        run({"key", "generate", "farm-1", "--directory", scratch("").string()}, without_cuda());
    EXPECT_EQ(made.exit_code, 0) << made.err;
  }

  std::string path(const std::string& name) const { return scratch(name).string(); }
  std::string url() const { return "file://" + path("store"); }

  Outcome run_with(const std::map<std::string, std::string>& environment,
                   const std::vector<std::string>& arguments) {
    auto circumstances = without_cuda();
    for (const auto& [name, value] : environment) circumstances.environment[name] = value;
    return run(arguments, circumstances);
  }

  Outcome push(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--json", "push", "--to", url()});
    return run_with({{"KILN_SIGNING_KEY", path("farm-1.key")}}, more);
  }

  Outcome pull(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--json", "pull", "--from", url(), "--cache", path("pod")});
    return run_with({{"KILN_TRUSTED_KEYS", path("farm-1.pub")}}, more);
  }

  std::string manifest_;
};

TEST_F(Store, GivesAPodWhatItsManifestNames) {
  const auto pushed = push({"--sign"});
  ASSERT_EQ(pushed.exit_code, 0) << pushed.err;
  EXPECT_EQ(pushed.documents().at(0)["added"], 2);
  EXPECT_EQ(pushed.documents().at(0)["signed_entries"], 2);
  const auto pulled = pull({manifest_});
  ASSERT_EQ(pulled.exit_code, 0) << pulled.err;
  EXPECT_EQ(pulled.documents().at(0)["added"], 1);
  EXPECT_EQ(pulled.documents().at(0)["missing"], 0);
  const auto listed = run_with({}, {"--json", "ls", "--cache", path("pod")}).documents();
  ASSERT_EQ(listed.size(), 1);
  EXPECT_EQ(listed[0]["arch"], "sm_90");
  EXPECT_EQ(pull({manifest_}).documents().at(0)["present"], 1);
}

TEST_F(Store, SaysWhatItLacks) {
  ASSERT_EQ(push({"--sign"}).exit_code, 0);
  const auto pulled = pull({manifest_, "--arch", "sm_90,sm_100"});
  EXPECT_EQ(pulled.exit_code, 1);
  EXPECT_EQ(pulled.documents().at(0)["added"], 1);
  EXPECT_EQ(pulled.documents().at(0)["missing"], 1);
  const auto pushed = push({manifest_, "--arch", "sm_100"});
  EXPECT_EQ(pushed.exit_code, 1);
  EXPECT_EQ(pushed.documents().at(0)["added"], 0);
  EXPECT_EQ(pushed.documents().at(0)["missing"], 1);
}

TEST_F(Store, NothingUnsignedComesWhereKeysAreTrusted) {
  ASSERT_EQ(push().exit_code, 0);
  const auto pulled = pull();
  EXPECT_EQ(pulled.exit_code, 1);
  EXPECT_EQ(pulled.documents().at(0)["added"], 0);
  EXPECT_EQ(run_with({}, {"pull", "--from", url(), "--cache", path("own")}).exit_code, 0);
}

TEST_F(Store, TellsPeople) {
  const auto pushed = run_with({}, {"push", "--to", url()});
  EXPECT_THAT(pushed.out, AllOf(HasSubstr(url()), HasSubstr("there already")));
  const auto pulled = run_with({}, {"pull", "--from", url(), "--cache", path("pod")});
  EXPECT_THAT(pulled.out, AllOf(HasSubstr(url()), HasSubstr("not in the store")));
  EXPECT_EQ(run_with({}, {"--quiet", "push", "--to", url()}).out, "");
}

TEST_F(Store, SaysWhatNamesNone) {
  for (const auto* const nothing : {"/mnt/kernels", "file://mnt", "s3://bucket", ""}) {
    const auto refused = run_with({}, {"pull", "--from", nothing});
    EXPECT_EQ(refused.exit_code, 2) << nothing;
    EXPECT_THAT(refused.err, HasSubstr("file:///mnt/kernels")) << nothing;
  }
  const auto none = run_with({}, {"pull", "--from", "file://" + path("nowhere")});
  EXPECT_THAT(none.err, AllOf(HasSubstr(path("nowhere")), HasSubstr("kiln push makes one")));
  EXPECT_FALSE(fs::exists(path("nowhere")));
  const auto without = run_with({}, {"push", "--to", url(), "--arch", "sm_90"});
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("--arch"));
}

TEST_F(Store, IsCollected) {
  ASSERT_EQ(push().exit_code, 0);
  const auto all = run_with({}, {"--json", "gc", "--store", url(), "--max-size", "0B"});
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.documents().at(0)["objects"], 4);
  EXPECT_THAT(run_with({}, {"gc", "--store", url(), "--older-than", "30d"}).out,
              HasSubstr("removed 0 objects"));
  const auto unsaid = run_with({}, {"gc", "--store", url()});
  EXPECT_EQ(unsaid.exit_code, 2);
  EXPECT_THAT(unsaid.err, HasSubstr("--max-size"));
}

TEST_F(Store, ChangesNothingInTheCacheItComesFrom) {
  const auto before = snapshot(cache());
  ASSERT_EQ(push({"--sign"}).exit_code, 0);
  EXPECT_EQ(snapshot(cache()), before);
}

}  // namespace
}  // namespace kiln::tests
