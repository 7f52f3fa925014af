// What a library calls in the place of what it imports, tried with a small one of its own.

#include "vendor/library_imports.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "vendor/shared_library.h"

namespace kiln::test {
namespace {

using vendor::ImportReplacement;
using vendor::replace_imports;

constexpr pid_t answer = -17;
pid_t answer_parent() { return answer; }

using Function = pid_t (*)();

const std::array replacements{ImportReplacement{"getppid", reinterpret_cast<void*>(answer_parent)}};
const std::array<const char*, 1> nothing_unwelcome{"kiln_no_such_function"};

class LibraryImports : public ::testing::TestWithParam<const char*> {
 protected:
  LibraryImports() : library_(::dlopen(GetParam(), RTLD_LAZY | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr) << ::dlerror();
  }
  // The library stays: another test's is another file.

  template <class Symbol>
  Symbol symbol(const char* name) const {
    return reinterpret_cast<Symbol>(::dlsym(library_, name));
  }

  // Of this library alone.
  [[nodiscard]] static std::string part() {
    const std::string path = GetParam();
    return path.substr(path.rfind('/') + 1);
  }

  void* const library_;
};

TEST_P(LibraryImports, AreReplacedInItAndNowhereElse) {
  const auto parent = ::getppid();
  const auto result = replace_imports(part(), replacements, nothing_unwelcome);
  EXPECT_TRUE(result.complete);
  EXPECT_GE(result.replaced, 1U);
  EXPECT_EQ(symbol<Function>("kiln_importing_call")(), answer);
  EXPECT_EQ(symbol<Function (*)()>("kiln_importing_address")()(), answer);
  EXPECT_EQ(symbol<Function*>("kiln_importing_table")[0](), answer);
  EXPECT_EQ(symbol<Function>("kiln_importing_process")(), ::getpid());
  EXPECT_EQ(::getppid(), parent);
  const auto again = replace_imports(part(), replacements, nothing_unwelcome);
  EXPECT_TRUE(again.complete);
  EXPECT_EQ(again.replaced, result.replaced);
  EXPECT_EQ(symbol<Function>("kiln_importing_call")(), answer);
}

TEST_P(LibraryImports, AreReplacedInTheOneAtThisAddress) {
  const auto library = vendor::SharedLibrary::open(GetParam()).value();
  EXPECT_GE(replace_imports(library.address(), replacements, {}).replaced, 1U);
  EXPECT_EQ(symbol<Function>("kiln_importing_call")(), answer);
  EXPECT_EQ(replace_imports(library.address() + 1, replacements, {}).replaced, 0U);
}

TEST_P(LibraryImports, AnUnwelcomeOneIsMet) {
  const std::array<const char*, 2> unwelcome{"kiln_no_such_function", "getpid"};
  EXPECT_FALSE(replace_imports(part(), replacements, unwelcome).complete);
  EXPECT_TRUE(replace_imports(part(), replacements, nothing_unwelcome).complete);
}

TEST_P(LibraryImports, OfALibraryThatIsNotThereAreNone) {
  const auto result = replace_imports("kiln-no-such-library", replacements, nothing_unwelcome);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.replaced, 0U);
}

INSTANTIATE_TEST_SUITE_P(Linked, LibraryImports,
                         ::testing::Values(KILN_IMPORTING_LAZY, KILN_IMPORTING_HARDENED),
                         [](const auto& info) { return info.index == 0 ? "Lazily" : "Hardened"; });

TEST(LibrariesEverLoaded, CountsThem) {
  const auto before = vendor::libraries_ever_loaded();
  EXPECT_EQ(vendor::libraries_ever_loaded(), before);
  void* const library = ::dlopen(KILN_IMPORTING_THIRD, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto with = vendor::libraries_ever_loaded();
  EXPECT_GT(with, before);
  ::dlclose(library);
  EXPECT_EQ(vendor::libraries_ever_loaded(), with) << "also those that are gone";
}

}  // namespace
}  // namespace kiln::test
