"""A shell that has read the completion completes the words of the tool.

Usage: completion_test.py KILN FOLDER SHELL, where FOLDER holds bash/kiln, zsh/_kiln and fish/kiln.fish.
Status 77: this shell is not installed.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tool_words

KILN, FOLDER, SHELL = sys.argv[1:]
SKIPPED = 77
KINDS = {"cubin", "ptx", "ltoir", "optixir", "fatbin"}

# Calls the function as bash does, which alone can change its options: those it wants are printed.
BASH = r"""
compopt() { printf '%s\n' "<$2>"; }
source "$1/bash/kiln"
[[ $(complete -p kiln) == 'complete -F _kiln kiln' ]] || exit 1
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_kiln
printf '%s\n' "${COMPREPLY[@]}"
"""

# In a terminal of its own, for nothing else has zsh complete. What compadd is to show is noted instead.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PS2= fpath=($1/zsh \$fpath) PATH=$PATH KILN_CACHE_DIR=$KILN_CACHE_DIR"
zpty -w shell "cd $PWD; autoload -Uz compinit; compinit -D -u"
zpty -w shell "noted=$2"
zpty -w shell 'compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a found
  builtin compadd -O found "$@"
  print -rl -- $found >>$noted
  builtin compadd "$@"
}'
zpty -w shell 'note() { _main_complete; print "<end>" >>$noted }; zle -C note complete-word note; bindkey "^I" note'
zpty -w -n shell "$3"$'\t'
for attempt in {1..300}; do
  zpty -r -t shell >/dev/null
  grep -q '<end>' $2 2>/dev/null && break
  sleep 0.1
done
zpty -d shell
"""


def bash(words):
    return subprocess.run(["bash", "-c", BASH, "bash", FOLDER, *words],
                          capture_output=True, text=True, check=True).stdout.splitlines()


def fish(words):
    line = " ".join(words)
    script = f"source {FOLDER}/fish/kiln.fish; complete -C '{line}'"
    found = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True)
    return [line.split("\t")[0] for line in found.stdout.splitlines()]


def zsh(words):
    with tempfile.NamedTemporaryFile() as noted:
        subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", FOLDER, noted.name, " ".join(words)],
                       capture_output=True, text=True, check=True)
        return [line for line in noted.read().decode().splitlines() if line != "<end>"]


def complete(*words):
    found = {"bash": bash, "zsh": zsh, "fish": fish}[SHELL](["kiln", *words])
    # What may be followed by a value in the same word ends with the sign for it.
    return {word.rstrip("=").split(":")[0] for word in found if word.strip()}


class Completion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        os.chdir(cls.scratch.name)
        pathlib.Path("kernel.cu").write_text("")
        pathlib.Path("headers").mkdir()
        os.environ["PATH"] = f"{pathlib.Path(KILN).parent}:{os.environ['PATH']}"
        os.environ["HOME"] = cls.scratch.name  # Where fish makes folders.
        os.environ["KILN_CACHE_DIR"] = f"{cls.scratch.name}/cache"

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.scratch.cleanup()

    def test_verbs(self):
        verbs = set(tool_words.verbs(KILN))
        self.assertIn("compile", verbs)
        self.assertEqual(complete(""), verbs)
        self.assertEqual(complete("--cache", "somewhere", "un"), {"unpin"})

    def test_options_of_the_tool(self):
        self.assertEqual({word for word in complete("--") if word.startswith("--")},
                         {name for name in tool_words.options(KILN) if name.startswith("--")})

    def test_options_of_each_verb(self):
        of_all = tool_words.options(KILN)
        for verb in tool_words.verbs(KILN):
            self.assertEqual(complete(verb, "-"), tool_words.options(KILN, verb) | of_all, verb)

    def test_values(self):
        self.assertEqual(complete("compile", "--image", ""), KINDS)
        self.assertEqual(complete("--json", "link", "--image", "p"), {"ptx"})
        self.assertIn("program", complete("ls", "--sort", ""))
        self.assertIn("registers", complete("kernels", "--sort", ""))
        self.assertIn("sm_90a", complete("compile", "--arch", "sm_9"))
        self.assertEqual(complete("config", "un"), {"unset"})
        self.assertEqual(complete("key", ""), {"generate", "show"})
        if SHELL == "bash":  # which takes --image=p for three words
            self.assertEqual(complete("compile", "--image", "=", "p"), {"ptx"})

    def test_keys(self):
        pathlib.Path("kernel.cu").write_text('extern "C" __global__ void k() {}')
        compiled = subprocess.run([KILN, "compile", "kernel.cu", "--arch", "sm_80", "--name", "k", "--json"],
                                  capture_output=True, text=True, check=True)
        key = json.loads(compiled.stdout)["key"]
        self.assertEqual(complete("show", ""), {key})
        self.assertIn(key, complete("link", ""))

    def test_keys_of_the_cache_that_the_line_names(self):
        pathlib.Path("kernel.cu").write_text('extern "C" __global__ void other() {}')
        compiled = subprocess.run([KILN, "--cache", "another", "compile", "kernel.cu", "--arch", "sm_80", "--json"],
                                  capture_output=True, text=True, check=True)
        key = json.loads(compiled.stdout)["key"]
        self.assertEqual(complete("--cache", "another", "show", ""), {key})
        self.assertEqual(complete("pin", "--cache", "another", ""), {key})
        equals = ["--cache", "=", "another"] if SHELL == "bash" else ["--cache=another"]
        self.assertEqual(complete(*equals, "show", ""), {key})
        self.assertEqual(complete("--cache", "nowhere", "show", ""), set())

    def test_files(self):
        wanted = {"bash": "<default>", "zsh": "kernel.cu", "fish": "kernel.cu"}[SHELL]
        self.assertIn(wanted, complete("compile", "k"))
        self.assertIn(wanted, complete("merge", "-o", "k"))

    def test_folders(self):
        wanted = {"bash": "<dirnames>", "zsh": "headers", "fish": "headers/"}[SHELL]
        for words in (("compile", "-I"), ("--cache",), ("ls", "--cache")):
            self.assertEqual(complete(*words, "h"), {wanted}, words)

    def test_nothing_where_anything_goes(self):
        self.assertEqual(complete("compile", "--name", ""), set())
        # Where nothing else may stand, zsh offers options.
        self.assertEqual({word for word in complete("doctor", "") if word[0] != "-"}, set())


if not shutil.which(SHELL):
    print(f"skipped: {SHELL} is not installed")
    sys.exit(SKIPPED)
unittest.main(argv=sys.argv[:1])
