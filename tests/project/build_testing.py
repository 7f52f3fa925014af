"""Checks what decides whether tests are built, by configuring kiln with packages of tests and as if there were none.

Usage: build_testing.py CMAKE CTEST SOURCE_DIR SCRATCH CUDA_INCLUDE_DIR
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, CTEST, SOURCES, SCRATCH, CUDA = sys.argv[1:]
WITHOUT_PACKAGES = ["-DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON"]
LEFT_OUT = ("-- kiln is built without tests (not found: GTest) and benchmarks (not found: benchmark); "
            "-DBUILD_TESTING=ON makes that an error")


class BuildTesting(unittest.TestCase):
    def configure(self, *words, preset="release"):
        shutil.rmtree(SCRATCH, ignore_errors=True)
        done = subprocess.run([CMAKE, "--preset", preset, "-B", SCRATCH, f"-DKILN_CUDA_INCLUDE_DIR={CUDA}", *words],
                              cwd=SOURCES, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def configured(self, *words):
        """How many tests there are in a build folder that is configured so; what CMake said."""
        failed, said = self.configure(*words)
        self.assertFalse(failed, said)
        listed = subprocess.run([CTEST, "-N", "--test-dir", SCRATCH], text=True, capture_output=True).stdout
        return int(re.search(r"^Total Tests: (\d+)", listed, re.MULTILINE)[1]), said

    def test_a_plain_configure_needs_no_package_of_tests_and_says_so_in_one_line(self):
        count, said = self.configured(*WITHOUT_PACKAGES)
        self.assertEqual(count, 0)
        self.assertEqual([line for line in said.splitlines() if "built without" in line], [LEFT_OUT])

    def test_googletest_alone_is_not_enough(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "GTestConfig.cmake").touch()
            count, said = self.configured(f"-DGTest_DIR={folder}")
        self.assertEqual(count, 0)
        self.assertIn("without tests (not found: GMock);", said)

    def test_a_plain_configure_has_tests_where_their_packages_are(self):
        count, said = self.configured()
        self.assertGreater(count, 50)
        self.assertNotIn("built without", said)

    def test_off_leaves_them_out_without_a_word(self):
        count, said = self.configured("-DBUILD_TESTING=OFF")
        self.assertEqual(count, 0)
        self.assertNotIn("built without", said)

    def test_kilns_own_switch_overrules(self):
        self.assertGreater(self.configured("-DBUILD_TESTING=OFF", "-DKILN_BUILD_TESTS=ON")[0], 50)

    def test_whoever_asks_for_tests_is_told_what_they_lack(self):
        asked = [["-DBUILD_TESTING=ON"], ["-DKILN_BUILD_TESTS=ON", "-DKILN_BUILD_BENCHMARKS=ON"]]
        for words, preset in [(asked[0], "release"), (asked[1], "release"), ([], "dev")]:
            failed, said = self.configure(*words, *WITHOUT_PACKAGES, preset=preset)
            self.assertTrue(failed, said)
            self.assertRegex(said, r"CMake Error[^#]*GTest")

    def test_the_command_that_tests_asks_for_them(self):
        text = (pathlib.Path(SOURCES) / "tools/test").read_text()
        self.assertIn("build release -DKILN_BUILD_TESTS=ON -DKILN_BUILD_BENCHMARKS=ON -DKILN_UNITY=tests\n", text)
        self.assertIn("build package -DKILN_BUILD_TESTS=ON\n", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
