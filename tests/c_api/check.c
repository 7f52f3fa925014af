#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check(int holds, const char* what, const char* file, int line) {
  if (holds) return;
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
  exit(1);
}

void check_text(const char* text, const char* expected, const char* file, int line) {
  if (strcmp(text, expected) == 0) return;
  fprintf(stderr, "%s:%d: \"%s\" in the place of \"%s\"\n", file, line, text, expected);
  exit(1);
}

void check_succeeded(kiln_error* error, const char* what, const char* file, int line) {
  if (error == NULL) return;
  fprintf(stderr, "%s:%d: %s: %s: %s\n%s\n", file, line, what, kiln_error_code_name(error),
          kiln_error_message(error), kiln_error_log(error));
  exit(1);
}

void check_failed(kiln_error* error, kiln_code code, const char* words, const char* file,
                  int line) {
  const char* message = kiln_error_message(error);
  if (kiln_error_code(error) != code || strstr(message, words) == NULL) {
    fprintf(stderr, "%s:%d: error %d (%s), \"%s\", in the place of %d, \"…%s…\"\n", file, line,
            kiln_error_code(error), kiln_error_code_name(error), message, code, words);
    exit(1);
  }
  kiln_error_free(error);
}
