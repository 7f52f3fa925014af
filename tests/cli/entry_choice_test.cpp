#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "tool.h"

namespace kiln::tests {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

// A program of two architectures, and another one of a kernel that is nowhere else.
class EntryChoice : public ToolTest {
 protected:
  EntryChoice() {
    const auto source = file("scale.cu", scale_source);
    for (const auto* arch : {"sm_80", "sm_90"}) {
      both_.push_back(
          compile({source, "--arch", arch, "--name", "scale<float, 4>", "--name", "fill"})["key"]);
    }
    lonely_ =
        compile({file("alone.cu", "template <class T> __global__ void lonely(T x) { *x = 1; }"),
                 "--arch", "sm_80", "--image", "ltoir", "--name", "lonely<float*>"})["key"];
  }

  Json show(const std::string& word) const {
    const auto outcome = run({"--json", "show", word}, without_cuda());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto documents = outcome.documents();
    return documents.empty() ? Json() : documents.front();
  }

  std::string key_of(const std::string& word) const { return show(word).value("key", ""); }

  Outcome refused(const std::string& word, int exit_code, const std::string& code) const {
    const auto outcome = run({"--json", "show", word}, without_cuda());
    EXPECT_EQ(outcome.exit_code, exit_code) << word;
    EXPECT_EQ(outcome.documents().at(0)["error"]["code"], code) << word;
    return outcome;
  }

  Words both_;
  std::string lonely_;
};

TEST_F(EntryChoice, GoesByKeyProgramAndKernel) {
  const std::string symbol = show(lonely_)["kernels"][0]["symbol"];
  for (const auto& word :
       Words{lonely_, lonely_.substr(0, 12), "alone.cu", "lonely<float*>", "lonely< float * >",
             symbol, "lonely*", "alone*", "*one*", "[a]lone.cu", symbol.substr(0, 8) + "*"})
    EXPECT_EQ(key_of(word), lonely_) << word;
}

TEST_F(EntryChoice, IsTheSameForEachVerb) {
  const auto image = scratch("out").string();
  for (const auto& words : std::vector<Words>{{"show", "alone.cu"},
                                              {"extract", "lonely*", "-o", image},
                                              {"disasm", "lonely<float*>", "--ptx"},
                                              {"pin", "alone.cu"},
                                              {"unpin", "lon*"},
                                              {"diff", "alone.cu", "lonely*"},
                                              {"link", "lonely*", "--arch", "sm_80"}}) {
    const auto outcome = run(words);
    EXPECT_EQ(outcome.exit_code, 0) << words[0] << outcome.err;
  }
  EXPECT_THAT(run({"pin", "alone.cu"}).out, HasSubstr("pinned " + lonely_));
}

TEST_F(EntryChoice, AmongSeveralIsLeftToWhoAsks) {
  for (const auto* word : {"scale.cu", "fill", "scale<float,4>", "sc*", "f[i]ll"}) {
    const auto outcome = refused(word, 1, "ambiguous");
    EXPECT_THAT(outcome.err,
                AllOf(HasSubstr(std::string("'") + word + "' "), HasSubstr(" 2 entries"),
                      HasSubstr("KEY"), HasSubstr("sm_80"), HasSubstr("sm_90")));
    for (const auto& key : both_) EXPECT_THAT(outcome.err, HasSubstr(key.substr(0, 8))) << word;
    EXPECT_THAT(outcome.err, Not(HasSubstr(lonely_.substr(0, 8)))) << word;
  }
  const auto outcome = run({"diff", "scale.cu", "alone.cu"});
  EXPECT_EQ(outcome.exit_code, 3) << "1 would be a regression";
  EXPECT_THAT(outcome.err, HasSubstr(both_[0].substr(0, 8)));
}

TEST_F(EntryChoice, AmongManyNamesTheFirst) {
  for (int number = 0; number < 12; ++number) {
    compile({scratch("scale.cu").string(), "--arch", "sm_80", "--image", "ptx", "--name", "fill",
             "-DNUMBER=" + std::to_string(number)});
  }
  const auto error = refused("fill", 1, "ambiguous").documents().at(0)["error"];
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("14 entries"));
  const std::string log = error["log"];
  EXPECT_EQ(std::ranges::count(log, '\n'), 1 + 10 + 1);
  EXPECT_THAT(log, testing::EndsWith("… and 4 more; kiln ls lists them\n"));
}

TEST_F(EntryChoice, TakesCapitalsForDigits) {
  auto capitals = lonely_.substr(0, 12);
  std::ranges::transform(capitals, capitals.begin(),
                         [](unsigned char c) { return std::toupper(c); });
  EXPECT_EQ(key_of(capitals), lonely_);
  run_sql(database(), "UPDATE entries SET key = x'ab000000000000000000000000000001' WHERE id = 1");
  run_sql(database(), "UPDATE entries SET key = x'ab000000000000000000000000000002' WHERE id = 2");
  EXPECT_THAT(refused("AB", 1, "ambiguous").err,
              AllOf(HasSubstr("2 entries"), HasSubstr("ab000000")));
}

TEST_F(EntryChoice, TakesNeitherForTheOther) {
  const auto digits = lonely_.substr(0, 4);
  ASSERT_NE(both_[0].substr(0, 4), digits);
  const std::string named =
      compile({file(digits, scale_source), "--arch", "sm_75", "--name", "fill"})["key"];
  EXPECT_THAT(refused(digits, 1, "ambiguous").err,
              AllOf(HasSubstr(lonely_.substr(0, 8)), HasSubstr(named.substr(0, 8))));
  EXPECT_EQ(key_of(lonely_.substr(0, 8)), lonely_) << "so much is what tables show of a key";
  EXPECT_EQ(key_of('[' + digits.substr(0, 1) + ']' + digits.substr(1)), named);
  // What begins no key is a name like others.
  const std::string no_key = "0123456789abcdef0123456789abcdef0";
  compile({file(no_key, scale_source), "--arch", "sm_75", "--name", "fill"});
  EXPECT_EQ(show(no_key)["program"], no_key);
}

TEST_F(EntryChoice, OfNoneNamesWhatWasMeant) {
  const auto meant = [&](const std::string& word) { return refused(word, 1, "not_found").err; };
  EXPECT_THAT(meant("scael.cu"), HasSubstr("no entry fits 'scael.cu'"));
  EXPECT_THAT(meant("scael.cu"), HasSubstr("did you mean 'scale.cu'?"));
  EXPECT_THAT(meant("lonly"), HasSubstr("did you mean 'lonely<float*>'?"));
  EXPECT_THAT(meant("lonely"), HasSubstr("did you mean 'lonely<float*>'?"));
  EXPECT_THAT(meant(lonely_.substr(0, 8) + (lonely_[8] == '0' ? '1' : '0')),
              HasSubstr("did you mean '" + lonely_ + "'?"));
  EXPECT_THAT(meant("nothing of the kind"), HasSubstr("kiln ls lists the entries"));
  EXPECT_THAT(meant(std::string(100'000, 'x')), HasSubstr("kiln ls lists the entries"));
  for (const auto* odd : {"[", "[a", "\\", "*[", "?", "]", "%s{}", "{0}", "\xff"}) meant(odd);
  EXPECT_THAT(refused("", 2, "invalid_argument").err, HasSubstr("'' names no entry"));
  ASSERT_EQ(run({"clear", "--yes"}).exit_code, 0);
  EXPECT_THAT(meant("scale.cu"), HasSubstr("nothing is kept yet: kiln compile FILE"));
}

// After an edit a program has an entry for each text that it had.
TEST_F(EntryChoice, TakesTheNewestWhereThatIsAskedFor) {
  EXPECT_THAT(refused("scale.cu", 1, "ambiguous").err, HasSubstr("--newest"));
  const std::string edited = compile({file("scale.cu", scale_source + std::string("// edited\n")),
                                      "--arch", "sm_80", "--name", "fill"})["key"];
  const auto newest = [&](const std::string& word) {
    return run({"--json", "show", "--newest", word}, without_cuda()).documents().at(0);
  };
  EXPECT_EQ(newest("scale.cu")["key"], edited) << "all may be of one second";
  EXPECT_EQ(newest("fill")["key"], edited);
  EXPECT_EQ(newest(both_[0].substr(0, 12))["key"], both_[0]);
  run_sql(database(), "UPDATE entries SET created = created + 60 WHERE id = 1");
  EXPECT_EQ(newest("s*.cu")["key"], both_[0]);
  EXPECT_THAT(run({"pin", "--newest", "scale.cu"}).out, HasSubstr(both_[0]));
  EXPECT_THAT(run({"unpin", "scale.cu"}).err, HasSubstr("--newest"));
  EXPECT_THAT(run({"disasm", "--newest", "lonely*", "--ptx"}).out, HasSubstr(".version"));
  const auto names = run({"extract", "--newest", "scale.cu", "--names"}, without_cuda());
  EXPECT_THAT(names.out, HasSubstr("scale<float, 4>\t"));

  const auto bundle = scratch("b.kiln").string();
  ASSERT_EQ(run({"export", bundle}).exit_code, 0);
  const auto untold = run({"show", "--newest", "scale.cu", "--cache", bundle}, without_cuda());
  EXPECT_EQ(untold.exit_code, 1);
  EXPECT_THAT(untold.err, HasSubstr("which was made last is not told here"));
}

TEST_F(EntryChoice, SpellsOutWhatOthersWrote) {
  run_sql(database(), "UPDATE entries SET program = 'scale.c' || char(27) || '[2Ju'");
  EXPECT_THAT(refused("*", 1, "ambiguous").err,
              AllOf(HasSubstr("scale.c\\x1b[2Ju"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(refused("scale.c\x1b[2u", 1, "not_found").err,
              HasSubstr("did you mean 'scale.c\\x1b[2Ju'?"));
}

}  // namespace
}  // namespace kiln::tests
