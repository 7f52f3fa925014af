#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

// One that spills, one that shares, and one that does neither.
constexpr const char* kernels_source = R"(
template <int n> __global__ void __launch_bounds__(1024, 2) spilling(double* values, int step) {
  double own[n];
  for (int i = 0; i < n; ++i) own[i] = values[i * step];
  for (int k = 0; k < step; ++k)
    for (int i = 0; i < n; ++i) own[i] = own[i] * own[(i + 7) % n] + values[k];
  for (int i = 0; i < n; ++i) values[i * step] = own[i];
}
extern "C" __global__ void sharing(float* values) {
  __shared__ float shared[8192];
  shared[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = shared[8191 - threadIdx.x];
}
extern "C" __global__ void plain(float* values, float by) { values[threadIdx.x] *= by; }
)";

/// The kernels of two programs: for two architectures, and as PTX. Nothing that lists them needs CUDA.
class Kernels : public ToolTest {
 protected:
  Kernels() {
    key_ = compile({source_, "--arch", "sm_90", "--name", "spilling<40>", "--name", "sharing",
                    "--name", "plain"})["key"];
    compile({source_, "--arch", "sm_80", "--name", "plain"});
    compile(
        {file("other.cu", kernels_source), "--arch", "sm_80", "--image", "ptx", "--name", "plain"});
  }

  Outcome look(std::vector<std::string> arguments) {
    const auto before = snapshot(cache());
    auto outcome = run(arguments, without_cuda());
    EXPECT_EQ(snapshot(cache()), before);
    return outcome;
  }

  /// The rows that `kernels --json` prints with these options, without the totals.
  std::vector<Json> rows(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"--json", "kernels"});
    const auto outcome = look(options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    auto documents = outcome.documents();
    if (documents.empty() || !documents.back().contains("totals")) {
      ADD_FAILURE() << "no totals: " << outcome.out;
      return {};
    }
    documents.pop_back();
    return documents;
  }

  /// Each as "expression program arch", in their order.
  std::vector<std::string> names(const std::vector<std::string>& options = {}) {
    std::vector<std::string> names;
    for (const auto& row : rows(options)) {
      names.push_back(row["expression"].get<std::string>() + ' ' +
                      row["program"].get<std::string>() + ' ' + row["arch"].get<std::string>());
    }
    return names;
  }

  void damage_image(const std::string& arch) {
    run_sql(database(), "UPDATE entries SET payload = x'00' WHERE arch = '" + arch + "'");
  }

  /// Makes the file as an earlier kiln would have.
  void forget_kernels() { run_sql(database(), "DROP TABLE kernels"); }

  std::string source_ = file("kernels.cu", kernels_source);
  std::string key_;
};

using Names = std::vector<std::string>;

TEST_F(Kernels, ListsThemForPrograms) {
  const auto all = rows();
  ASSERT_EQ(all.size(), 5U);
  const auto& row = all.at(2);
  EXPECT_EQ(row["expression"], "sharing");
  EXPECT_EQ(row["key"], key_);
  EXPECT_EQ(row["image"], "cubin");
  EXPECT_EQ(row["symbol"], "sharing");
  EXPECT_EQ(row["shared_bytes"], 32768);
  EXPECT_EQ(row["local_bytes"], 0);
  EXPECT_EQ(row["spill_store_bytes"], 0);
  EXPECT_EQ(row["param_bytes"], 8);
  EXPECT_GT(row["registers"], 0);
  EXPECT_GT(row["code_bytes"], 0);
  EXPECT_GT(row["compile_ms"], 0);
  // 228 KiB hold six blocks of 33, of 64 warps that is three quarters.
  EXPECT_EQ(row["occupancy"], Json::parse(R"({"threads": 256, "blocks": 6, "percent": 75.0})"));
}

TEST_F(Kernels, TellsNothingThatTheImageDoesNotTell) {
  const auto ptx = rows({"--program", "other.cu"}).at(0);
  for (const auto* figure : {"registers", "spill_store_bytes", "spill_load_bytes", "shared_bytes",
                             "local_bytes", "code_bytes", "param_bytes", "occupancy"})
    EXPECT_TRUE(ptx.at(figure).is_null()) << figure;
  const auto table = look({"kernels", "--program", "other.cu"}).out;
  EXPECT_THAT(table,
              testing::ContainsRegex("plain +other\\.cu +sm_80 +- +- +- +- +- +- +- +- +- "));
}

TEST_F(Kernels, TellsSpillsAsPtxasDoes) {
  const auto row = rows({"--kernel", "spilling*"}).at(0);
  compile({source_, "--arch", "sm_90", "--name", "spilling<40>", "--option=--ptxas-options=-v",
           "--cache", scratch("verbose").string()});
  const auto log =
      run({"--json", "show",
           rows({"--cache", scratch("verbose").string()}).at(0)["key"].get<std::string>(),
           "--cache", scratch("verbose").string()})
          .documents()
          .at(0)["log"]
          .get<std::string>();
  std::smatch told;
  ASSERT_TRUE(std::regex_search(log, told,
                                std::regex("(\\d+) bytes spill stores, (\\d+) bytes spill loads")))
      << log;
  EXPECT_GT(row["spill_store_bytes"], 0);
  EXPECT_EQ(row["spill_store_bytes"], std::stoi(told[1]));
  EXPECT_EQ(row["spill_load_bytes"], std::stoi(told[2]));
}

TEST_F(Kernels, ListsThemForPeople) {
  const auto outcome = look({"kernels"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("KERNEL"));
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("sharing +kernels\\.cu +sm_90 .* 32\\.0 KiB .* 6 +75%"));
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("\n5 kernels of 3 entries, .* of code, 1 with spills\n$"));
}

TEST_F(Kernels, ShowAndCompileTellTheSame) {
  const auto row = rows({"--kernel", "spilling<40>"}).at(0);
  const auto shown = look({"--json", "show", key_}).documents().at(0)["kernels"];
  const auto kernel = std::ranges::find_if(
      shown, [](const Json& each) { return each["expression"] == "spilling<40>"; });
  ASSERT_NE(kernel, shown.end());
  for (const auto& [name, value] : kernel->items()) {
    if (name != "params") {
      EXPECT_EQ(row.at(name), value) << name;
    }
  }
  EXPECT_THAT(look({"show", key_}).out, HasSubstr("SPILL STORES"));
}

TEST_F(Kernels, Sorts) {
  EXPECT_EQ(names().front(), "plain kernels.cu sm_80");
  EXPECT_EQ(names({"--sort", "spill"}).front(), "spilling<40> kernels.cu sm_90");
  EXPECT_EQ(names({"--sort", "shared"}).front(), "sharing kernels.cu sm_90");
  EXPECT_EQ(names({"--sort", "spill"}).back(), "plain other.cu sm_80") << "what is not known";
  const std::map<std::string, std::string> figures{
      {"registers", "registers"}, {"size", "code_bytes"}, {"compile", "compile_ms"}};
  for (const auto& pair : figures) {
    const auto all = rows({"--sort", pair.first, "--program", "kernels.cu"});
    EXPECT_TRUE(std::ranges::is_sorted(all, std::ranges::greater(), [&](const Json& row) {
      return row[pair.second].get<double>();
    })) << pair.first;
  }
}

TEST_F(Kernels, ReversesAndLimits) {
  auto all = names({"--sort", "spill"});
  std::ranges::reverse(all);
  EXPECT_EQ(names({"--sort", "spill", "--reverse"}), all);
  EXPECT_EQ(names({"--sort", "spill", "--limit", "1"}), Names{all.back()});
  EXPECT_EQ(names({"--limit", "99"}).size(), 5U);
  EXPECT_THAT(look({"kernels", "--limit", "2"}).out, HasSubstr("\n2 of 5 kernels of 2 entries, "));
}

TEST_F(Kernels, Filters) {
  EXPECT_EQ(names({"--arch", "sm_80"}), (Names{"plain kernels.cu sm_80", "plain other.cu sm_80"}));
  EXPECT_EQ(names({"--arch", "sm_80", "--program", "k*"}), Names{"plain kernels.cu sm_80"});
  EXPECT_EQ(names({"--kernel", "s*"}),
            (Names{"sharing kernels.cu sm_90", "spilling<40> kernels.cu sm_90"}));
  EXPECT_EQ(names({"--kernel", "_Z8spilling*"}), Names{"spilling<40> kernels.cu sm_90"})
      << "by its symbol";
  EXPECT_EQ(names({"--age", "1h"}).size(), 5U);
  EXPECT_EQ(names({"--kernel", "["}), Names{});
  const auto none = look({"kernels", "--kernel", "absent"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.out, "no kernel fits\n");
}

TEST_F(Kernels, OccupancyMindsTheLargestBlock) {
  compile({file("bound.cu",
                "extern \"C\" __global__ void __launch_bounds__(96) bound(int* x) "
                "{ x[threadIdx.x] = 1; }"),
           "--arch", "sm_90"});
  const auto occupancy = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--kernel", "bound"});
    return rows(words).at(0)["occupancy"];
  };
  EXPECT_EQ(occupancy({}), Json::parse(R"({"threads": 96, "blocks": 21, "percent": 98.4375})"));
  EXPECT_EQ(occupancy({"--threads", "97"})["blocks"], 0) << "it cannot be launched";
  constexpr auto* why = "\n1 kernel cannot run in such blocks: launch bounds, ";
  EXPECT_THAT(look({"kernels", "--kernel", "bound", "--threads", "97"}).out, HasSubstr(why));
  EXPECT_THAT(look({"kernels", "--kernel", "bound", "--threads", "96"}).out, Not(HasSubstr(why)));
  EXPECT_EQ(occupancy({"--threads", "64"})["threads"], 64);
}

TEST_F(Kernels, OccupancyIsForABlockOfSoManyThreads) {
  EXPECT_EQ(rows({"--kernel", "sharing", "--threads", "1024"}).at(0)["occupancy"]["blocks"], 2);
  for (const auto* threads : {"0", "1025", "-1", "x"})
    EXPECT_EQ(look({"kernels", std::string("--threads=") + threads}).exit_code, 2) << threads;
}

TEST_F(Kernels, RefusesNonsense) {
  for (const auto& words : {Names{"--sort", "colour"}, Names{"--limit", "0"},
                            Names{"--limit", "-1"}, Names{"--age", "soon"}}) {
    const auto outcome = look({"kernels", words[0], words[1]});
    EXPECT_EQ(outcome.exit_code, 2) << words[1];
    EXPECT_THAT(outcome.err, HasSubstr(words[0]));
  }
}

TEST_F(Kernels, OfABundleAreThoseOfTheCache) {
  const auto bundle = scratch("b.kiln").string();
  ASSERT_EQ(run({"export", bundle}).exit_code, 0);
  EXPECT_EQ(names({"--cache", bundle}), names());
  // Nobody knows when they were made.
  EXPECT_EQ(names({"--cache", bundle, "--age", "1h"}), Names{});
}

TEST_F(Kernels, OfAnEmptyCacheAreNone) {
  ASSERT_EQ(run({"clear", "--yes"}).exit_code, 0);
  EXPECT_EQ(rows().size(), 0U);
  EXPECT_EQ(look({"kernels", "--cache", scratch("absent").string()}).exit_code, 1);
}

TEST_F(Kernels, LeavesDamagedEntriesOut) {
  forget_kernels();
  damage_image("sm_90");
  const auto outcome = look({"--json", "kernels"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.documents().size(), 3U);
  EXPECT_THAT(outcome.err, HasSubstr("the entry " + key_ + " is damaged and left out"));
  EXPECT_EQ(look({"--quiet", "kernels"}).err, "");
  EXPECT_EQ(look({"ls", "--kernel", "plain"}).exit_code, 1);
}

TEST_F(Kernels, ReadsImagesOnlyWhereTheCacheDoesNotTellTheirKernels) {
  const auto told = look({"--json", "kernels"}).out;
  forget_kernels();
  EXPECT_EQ(look({"--json", "kernels"}).out, told);
}

TEST_F(Kernels, NeedsNoImageWhereTheCacheTellsItsKernels) {
  const auto told = look({"--json", "kernels"}).out;
  damage_image("sm_90");
  const auto outcome = look({"--json", "kernels"});
  EXPECT_EQ(outcome.out, told);
  EXPECT_EQ(outcome.exit_code, 0);
}

TEST_F(Kernels, LsTakesTheSameWords) {
  const auto keys = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"--json", "ls"});
    std::vector<std::string> keys;
    for (const auto& entry : look(options).documents()) keys.push_back(entry["key"]);
    return keys;
  };
  auto all = keys({"--sort", "size"});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(keys({"--kernel", "spill*"}), Names{key_});
  EXPECT_EQ(keys({"--age", "1h"}).size(), 3U);
  EXPECT_EQ(keys({"--sort", "size", "--limit", "2"}), (Names{all[0], all[1]}));
  std::ranges::reverse(all);
  EXPECT_EQ(keys({"--sort", "size", "--reverse"}), all);
  const auto table = look({"ls", "--limit", "2"}).out;
  EXPECT_THAT(table, testing::ContainsRegex(
                         "\n2 of 3 entries, .* of images \\(.* stored\\), compiled in .*\n$"));
  EXPECT_EQ(look({"ls", "--age", "soon"}).exit_code, 2);
}

/// Two caches of one program: as it was, and as it is.
class Diff : public Kernels {
 protected:
  Diff() {
    before_ = made("before", "");
    after_ = made("after", "#define MORE 1\n");
  }

  /// A cache whose kernels are those of the source, and one that takes more where MORE is defined.
  std::string made(const std::string& name, const std::string& head) {
    const auto folder = scratch(name).string();
    const auto source = file("program.cu", head + R"(
#ifdef MORE
constexpr int n = 40;
extern "C" __global__ void appeared() {}
#else
constexpr int n = 8;
extern "C" __global__ void went() {}
#endif
)" + kernels_source + R"(
extern "C" __global__ void __launch_bounds__(1024, 2) grows(double* values, int step) {
  double own[n];
  for (int i = 0; i < n; ++i) own[i] = values[i * step];
  for (int k = 0; k < step; ++k)
    for (int i = 0; i < n; ++i) own[i] = own[i] * own[(i + 7) % n] + values[k];
  for (int i = 0; i < n; ++i) values[i * step] = own[i];
}
)");
    const auto third = head.empty() ? "went" : "appeared";
    key_of_[name] = compile({source, "--arch", "sm_80", "--name", "plain", "--name", "grows",
                             "--name", third, "--cache", folder})["key"];
    return folder;
  }

  std::string before_;
  std::string after_;
  std::map<std::string, std::string> key_of_;
};

TEST_F(Diff, TellsPrograms) {
  const auto outcome = run({"--json", "diff", before_, after_}, without_cuda());
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const auto documents = outcome.documents();
  ASSERT_EQ(documents.size(), 4U) << outcome.out;
  const auto& grows = documents[0];
  EXPECT_EQ(grows["program"], "program.cu");
  EXPECT_EQ(grows["arch"], "sm_80");
  EXPECT_EQ(grows["expression"], "grows");
  EXPECT_EQ(grows["change"], "changed");
  EXPECT_GT(grows["after"]["spill_bytes"], grows["before"]["spill_bytes"]);
  EXPECT_GT(grows["after"]["code_bytes"], grows["before"]["code_bytes"]);
  EXPECT_EQ(grows["after"]["shared_bytes"], 0);
  EXPECT_THAT(grows["regressions"].dump(), HasSubstr("\"spill\",\"local\",\"size\""));
  EXPECT_EQ(documents[1]["change"], "went");
  EXPECT_TRUE(documents[1]["after"].is_null());
  EXPECT_EQ(documents[2]["change"], "appeared");
  EXPECT_TRUE(documents[2]["before"].is_null());
  EXPECT_EQ(
      documents[3]["totals"],
      Json::parse(
          R"({"same": 1, "changed": 1, "appeared": 1, "went": 1, "regressions": 1, "untold": 0, "left_out": 0})"));
}

TEST_F(Diff, SaysWhatItDoesNotCompare) {
  compile({source_, "--arch", "sm_90", "--name", "plain", "-DANOTHER=1"});
  const auto own = cache().string();
  const auto outcome = run({"diff", own, own}, without_cuda());
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 kernels not compared: of several entries"));
  EXPECT_EQ(
      run({"--json", "diff", own, own}, without_cuda()).documents().back()["totals"]["left_out"],
      2);
}

// A bundle has no times, and those of an import are the import's.
TEST_F(Diff, WhereTimesDoNotTellKeysDo) {
  made("both", "#define MORE 1\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  const auto both = made("both", "");
  const auto bundle = scratch("both.kiln").string();
  const auto imported = scratch("imported").string();
  ASSERT_EQ(run({"export", bundle, "--cache", both}).exit_code, 0);
  ASSERT_EQ(run({"import", bundle, "--cache", imported}).exit_code, 0);
  for (const auto& [was, is] : {std::pair{both, bundle},
                                {bundle, both},
                                {both, imported},
                                {imported, both},
                                {bundle, imported},
                                {before_, both}}) {
    const auto outcome = run({"--json", "diff", was, is}, without_cuda());
    EXPECT_EQ(outcome.exit_code, 0) << was << ' ' << is << '\n' << outcome.out;
    EXPECT_EQ(outcome.documents().back()["totals"]["changed"], 0) << was << ' ' << is;
  }
  EXPECT_EQ(run({"diff", after_, both}, without_cuda()).exit_code, 0);
  EXPECT_EQ(run({"diff", both, after_}, without_cuda()).exit_code, 1);
  // Which of the two in the bundle is as it is now?
  const auto untold = run({"diff", before_, bundle}, without_cuda());
  EXPECT_EQ(untold.exit_code, 3);
  EXPECT_THAT(untold.out, HasSubstr("2 kernels cannot be compared: of several entries"));
}

TEST_F(Diff, TellsPeople) {
  const auto outcome = run({"diff", before_, after_}, without_cuda());
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex(
                  "grows +program\\.cu +sm_80 +cubin +regressed .* B → .* B .*spill, local, size"));
  EXPECT_THAT(
      outcome.out,
      testing::EndsWith("1 kernel as before, 1 changed, 1 appeared, 1 went; 1 regression\n"));
}

TEST_F(Diff, OfTheSameIsNothing) {
  const auto outcome = run({"diff", after_, after_}, without_cuda());
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "3 kernels as before, 0 changed, 0 appeared, 0 went; 0 regressions\n");
}

TEST_F(Diff, WhatGotBetterIsNoRegression) {
  EXPECT_EQ(run({"diff", after_, before_}, without_cuda()).exit_code, 0);
}

TEST_F(Diff, AllowsGrowth) {
  const auto status = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"diff", before_, after_});
    return run(options, without_cuda()).exit_code;
  };
  const auto figure = run({"--json", "diff", before_, after_}, without_cuda()).documents().at(0);
  const auto growth = [&](const char* name) {
    return figure["after"][name].get<int>() - figure["before"][name].get<int>();
  };
  const std::vector<std::string> others{"--allow",    "registers=99", "--allow",
                                        "spill=9999", "--allow",      "local=9999"};
  const auto with_size = [&](const std::string& size) {
    auto options = others;
    options.insert(options.end(), {"--allow", "size=" + size});
    return status(options);
  };
  EXPECT_EQ(with_size("1000%"), 0);
  EXPECT_EQ(with_size("1%"), 1);
  EXPECT_EQ(with_size(std::to_string(growth("code_bytes"))), 0);
  EXPECT_EQ(with_size(std::to_string(growth("code_bytes") - 1)), 1);
  // Of nothing, any growth is more than every share.
  ASSERT_EQ(figure["before"]["spill_bytes"], 0);
  EXPECT_EQ(status({"--allow", "registers=99", "--allow", "spill=1000%", "--allow", "local=9999",
                    "--allow", "size=9999999"}),
            1);
}

TEST_F(Diff, RefusesNonsense) {
  for (const auto* allowed :
       {"colour=1", "size", "size=", "size=x", "size=%", "size=-1", "size=1.5%", "=1"}) {
    const auto outcome =
        run({"diff", before_, after_, std::string("--allow=") + allowed}, without_cuda());
    EXPECT_EQ(outcome.exit_code, 2) << allowed;
    EXPECT_THAT(outcome.err, HasSubstr(allowed));
  }
}

TEST_F(Diff, TakesBundlesAndEntries) {
  const auto bundle = scratch("after.kiln").string();
  ASSERT_EQ(run({"export", bundle, "--cache", after_}).exit_code, 0);
  EXPECT_EQ(run({"diff", after_, bundle}, without_cuda()).exit_code, 0);
  EXPECT_EQ(run({"diff", before_, bundle}, without_cuda()).exit_code, 1);
  // Entries may be of other architectures: they are compared as they are.
  const auto other = compile({source_, "--arch", "sm_80", "--name", "plain"});
  const auto outcome = run({"--json", "diff", key_.substr(0, 10), other["key"]}, without_cuda());
  EXPECT_EQ(outcome.documents().back()["totals"]["appeared"], 0) << outcome.out;
  EXPECT_EQ(outcome.documents().back()["totals"]["went"], 2);
}

TEST_F(Diff, WhatIsNotThereIsAFailureAndNoRegression) {
  for (const auto* word : {"absent.kiln", "0123456789abcdef", ""}) {
    const auto outcome = run({"diff", before_, word}, without_cuda());
    EXPECT_EQ(outcome.exit_code, 3) << word << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(word));
  }
}

}  // namespace
}  // namespace kiln::tests
