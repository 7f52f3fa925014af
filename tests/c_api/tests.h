#pragma once

/// All tests of the C API; each is a process of its own.
#define KILN_C_API_TESTS(TEST)           \
  TEST(version)                          \
  TEST(nothing_is_freed)                 \
  TEST(refuses_null)                     \
  TEST(refuses_numbers)                  \
  TEST(refuses_sizes)                    \
  TEST(takes_older_and_newer_structures) \
  TEST(tells_of_failures)                \
  TEST(runs_out_of_memory)               \
  TEST(compiles)                         \
  TEST(hits)                             \
  TEST(compiles_ptx)                     \
  TEST(offers_standard_headers)          \
  TEST(links)                            \
  TEST(packs_fatbins)                    \
  TEST(chooses_variants)                 \
  TEST(explains)                         \
  TEST(obeys_the_mode)                   \
  TEST(tells_what_it_does)               \
  TEST(finds_tools)                      \
  TEST(shares_a_store)                   \
  TEST(tells_why_no_store_is_asked)      \
  TEST(compiles_async)                   \
  TEST(prefetches)                       \
  TEST(ends_a_prefetch)                  \
  TEST(launches)                         \
  TEST(takes_threads)                    \
  TEST(refuses_wrong_launches)           \
  TEST(tells_of_kernels)                 \
  TEST(loads_modules)

#define KILN_DECLARE_TEST(name) void test_##name(void);
KILN_C_API_TESTS(KILN_DECLARE_TEST)
#undef KILN_DECLARE_TEST
