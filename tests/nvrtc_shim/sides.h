#pragma once

// The functions of one side, in a namespace of their own.

#include "calls.h"

#define KILN_TEST_JOIN(left, right) left##right
#define KILN_TEST_JOINED(left, right) KILN_TEST_JOIN(left, right)
#define KILN_TEST_SIDE_CALLS KILN_TEST_JOINED(KILN_TEST_SIDE, _calls)

namespace kiln::test::KILN_TEST_SIDE_CALLS {

Outcome compile(const Given& given);
std::vector<Misuse> misuses();
std::vector<std::string> answers();
std::string saxpy(std::string& log);
Outcome raw_module(const std::string& include_dir);

}  // namespace kiln::test::KILN_TEST_SIDE_CALLS
