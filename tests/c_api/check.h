#pragma once

#include <stddef.h>

#include "kiln/c_api.h"

// What the C tests look at results with. Each ends the process where it does not hold.

#define CHECK(holds) check((holds), #holds, __FILE__, __LINE__)
#define CHECK_TEXT(text, expected) check_text((text), (expected), __FILE__, __LINE__)
/// That a call succeeded.
#define SUCCEED(call) check_succeeded((call), #call, __FILE__, __LINE__)
/// That a call failed with this code and with a message that contains these words; frees the error.
#define FAIL(call, code, words) check_failed((call), (code), (words), __FILE__, __LINE__)

void check(int holds, const char* what, const char* file, int line);
void check_text(const char* text, const char* expected, const char* file, int line);
void check_succeeded(kiln_error* error, const char* what, const char* file, int line);
void check_failed(kiln_error* error, kiln_code code, const char* words, const char* file, int line);
