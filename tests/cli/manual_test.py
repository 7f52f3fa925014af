"""The manual page tells every word of the tool, every exit status and every setting, and is sound roff.

Usage: manual_test.py KILN PAGE README
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import tool_words

KILN, PAGE, README = sys.argv[1:]


def plain(roff):
    """The page's text without the macros and escapes that it uses."""
    text = re.sub(r"\\f[BIP]|\\&", "", roff).replace("\\-", "-").replace("\\e", "\\")
    return text


def section(title):
    return re.search(rf"^\.S[HS] {re.escape(title)}\n(.*?)(?=^\.S[HS] |\Z)", TEXT, re.M | re.S)[1]


with open(PAGE, encoding="utf-8") as page:
    TEXT = plain(page.read())


class Manual(unittest.TestCase):
    def test_has_each_option_in_its_place(self):
        globals_ = tool_words.options(KILN)
        self.assertIn("--cache", globals_)
        for name in globals_:
            self.assertRegex(section("OPTIONS"), rf"(?m)^\.TP\n.*(?<![\w-]){name}(?![\w-])")
        for verb in tool_words.verbs(KILN):
            for name in tool_words.options(KILN, verb) - globals_:
                self.assertRegex(section(verb), rf"(?m)^\.TP\n.*(?<![\w-]){name}(?![\w-])", verb)

    def test_has_the_operands(self):
        self.assertIn("kiln compile FILE [OPTION...]", section("compile"))
        self.assertIn("--sources DIR [OPTION...]", section("compile-commands"))
        self.assertIn("kiln prewarm [MANIFEST...]", section("prewarm"))
        self.assertIn("kiln pin KEY...", section("pin"))

    def test_has_each_exit_status(self):
        told = re.search(r"Exit status: (.*)\.\n", tool_words.help_of(KILN))[1].split(", ")
        self.assertIn("0 done", told)
        for status, meaning in (words.split(" ", 1) for words in told):
            self.assertIn(f".TP\n{status}\n{meaning}\n", section("EXIT STATUS"))

    def test_has_each_setting_in_the_words_of_the_readme(self):
        listing = subprocess.run([KILN, "config", "--json"], capture_output=True, text=True, check=True,
                                 env={"PATH": os.environ["PATH"], "HOME": "/nowhere"}).stdout
        variables = {json.loads(line)["variable"] for line in listing.splitlines()}
        with open(README, encoding="utf-8") as readme:
            rows = [[cell.strip() for cell in line.strip().strip("|").replace("`", "").split(" | ")]
                    for line in readme if line.startswith("| `KILN_")]
        self.assertEqual(variables, {variable for variable, _, _ in rows})
        for variable, meaning, default in rows:
            tail = "" if default == "none" else f" (default: {default})"
            self.assertIn(f".TP\n{variable}\n{meaning}{tail}\n", section("ENVIRONMENT"))

    def test_has_each_field_of_a_manifest(self):
        wrong = {"Fields of a manifest": {"x": 1}, "Fields of a program": {"programs": [{"name": "a.cu", "source": "", "x": 1}]},
                 "Fields of a variant": {"programs": [{"name": "a.cu", "source": "", "variants": [{"name": "v", "x": 1}]}]}}
        with tempfile.TemporaryDirectory() as folder:
            for title, document in wrong.items():
                file = pathlib.Path(folder, "manifest.json")
                file.write_text(json.dumps({"kiln_manifest": 1, "targets": ["sm_80"], **document}), encoding="utf-8")
                refused = subprocess.run([KILN, "prewarm", file], capture_output=True, text=True,
                                         env=dict(os.environ, KILN_CACHE_DIR=f"{folder}/cache"))
                there = re.search(r"there is no such field; there are ([a-z_, ]+)", refused.stderr)
                self.assertIsNotNone(there, refused.stderr)
                told = re.findall(r"^\.TP\n([a-z_]+)$", section(title), re.M)
                self.assertEqual(sorted(there[1].split(", ")), sorted(told), title)

    def test_its_manifest_works(self):
        text = re.search(r"^\.EX\n(.*?)\n\.EE$", section("MANIFESTS"), re.M | re.S)[1].replace("\n.br\n", "\n")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "manifest.json").write_text(text, encoding="utf-8")
            pathlib.Path(folder, "scale.cu").write_text(
                "template <class T> __global__ void scale(T* x) { *x *= 2; }", encoding="utf-8")
            done = subprocess.run([KILN, "prewarm", "manifest.json"], cwd=folder, capture_output=True, text=True,
                                  env=dict(os.environ, KILN_CACHE_DIR=f"{folder}/cache"))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_its_examples_work(self):
        commands = re.findall(r"^\.EX\n(.*?)\n\.EE$", section("EXAMPLES"), re.M | re.S)
        self.assertGreater(len(commands), 5)
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "scale.cu").write_text(
                "template <class T> __global__ void scale(T* x) { *x *= 2; }", encoding="utf-8")
            environment = dict(os.environ, KILN_CACHE_DIR=f"{folder}/cache",
                               PATH=f"{pathlib.Path(KILN).parent}:{os.environ['PATH']}")
            for command in commands:
                done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, command + done.stderr)
                self.assertNotEqual(done.stdout, "", command)

    def test_names_the_files_that_there_are(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "k.cu")
            program.write_text('extern "C" __global__ void k() {}', encoding="utf-8")
            environment = {name: value for name, value in os.environ.items() if name != "KILN_CACHE_DIR"}
            environment["XDG_CACHE_HOME"] = folder
            for _ in range(2):
                subprocess.run([KILN, "compile", program, "--arch", "sm_80"], env=environment, check=True,
                               capture_output=True)
            for file in pathlib.Path(folder, "kiln").iterdir():
                self.assertIn(file.name, section("FILES"))

    def test_readmes_and_tests_have_each_verb(self):
        root = pathlib.Path(README).parent
        text = (root / "README.md").read_text(encoding="utf-8")
        examples = re.search(r"^## On the command line\n(.*?)^## ", text, re.M | re.S)[1]
        text = (root / "tools/README.md").read_text(encoding="utf-8")
        output = re.search(r"^### `--json`\n(.*?)(?=^#|\Z)", text, re.M | re.S)[1]
        tests = "".join(path.read_text(encoding="utf-8") for path in (root / "tests/cli").glob("*.cpp"))
        for verb in tool_words.verbs(KILN):
            self.assertRegex(examples, rf"\b{verb}\b", "README.md, On the command line")
            self.assertRegex(output, rf"`{verb}\b", "tools/README.md, --json")
            self.assertIn(f'"{verb}"', tests, "tests/cli")

    def test_is_sound(self):
        self.assertIsNotNone(shutil.which("groff"), "groff is not installed")
        checked = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", PAGE],
                                 capture_output=True, text=True, check=True)
        self.assertEqual(checked.stderr, "")


unittest.main(argv=sys.argv[:1])
