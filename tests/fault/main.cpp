#include <gtest/gtest.h>

#include "in_memory.h"

int main(int argc, char** argv) {
  kiln::test::work_in_memory();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
