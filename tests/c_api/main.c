// The C API as a program in C uses it: kiln_c_api_test NAME runs one of the tests.

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tests.h"

#define TABLE_ROW(name) {#name, test_##name},
static const struct {
  const char* name;
  void (*run)(void);
} tests[] = {KILN_C_API_TESTS(TABLE_ROW)};
#undef TABLE_ROW

int main(int argc, char** argv) {
  for (size_t index = 0; index < sizeof(tests) / sizeof(tests[0]); ++index) {
    if (argc != 2 || strcmp(argv[1], tests[index].name) != 0) continue;
    tests[index].run();
    return 0;
  }
  fprintf(stderr, "usage: kiln_c_api_test NAME, which is that of one of the tests\n");
  return 2;
}
