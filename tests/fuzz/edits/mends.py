"""Switches mends off, one after the other, and looks whether the cases and the fuzzer find again what they were for.

    mends.py [--only A5] [--seconds 60] [--build FOLDER]
    mends.py --check

Each is a change of the sources, made in a copy of what is committed, which is built (the tool, its worker and the library
for C) and given to check_cases.py, fuzz.py, flips.py or descriptors.py. Status 1 where nothing is found. --check only looks whether every
change still has its place."""

import argparse
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass(frozen=True)
class Change:
    file: str
    before: str
    after: str


@dataclasses.dataclass(frozen=True)
class Mend:
    points: tuple
    what: str
    changes: tuple
    runs: tuple   # Each must find something.


def cases(point, way="in_process"):
    return ("check_cases", "--way", way, "--point", point)


def edits(*words, way="in_process"):
    return ("fuzz", "--way", way, *words)


def embedded(seed, *words, count="300"):
    return ("embedded", "--seed", seed, "--edits", count, *words)


# Without it a set is what the scan found, and NVRTC reads the disk.
WHOLE = """  if (readings.doubt.empty()) {
    Closure whole = closure;
    Identities identities(whole.found.size());
    for (std::size_t index = 0; index < whole.found.size(); ++index) {
      auto& lookup = whole.dependencies.lookups[index];
      const auto same = identities.add(whole.found[index], lookup.reach);
      lookup.same_path = same.path;
      lookup.same_file = same.file;
    }
    return whole;
  }
"""
NARROW = "  return Narrowing(query, closure, readings, files).run();"
# Only it knows the names of include directories, so that without it they go by their paths; and what was read, so that the
# includes are followed on the disk, after the compile.
SNAPSHOT = (Change("runtime/compile/file_answers.cpp", "{ answering = &snapshot; }", "{ static_cast<void>(snapshot); }"),
            Change("runtime/compile/compile_job.cpp", "job.names_roots = may", "job.names_roots = false && may"),
            Change("runtime/narrow/closure_of_readings.cpp",
                   "  AnswersOfThen then(query.search, readings, files);\n"
                   "  return close_over(query.program, std::move(source), query.search, then);\n",
                   "  static_cast<void>(sizeof(AnswersOfThen) + sizeof(readings));\n"
                   "  return close_over(query.program, std::move(source), query.search, files);\n"),
            Change("runtime/narrow/narrow.cpp", NARROW, WHOLE + NARROW))

MENDS = [
    Mend(("A1", "A4", "A7"), "the snapshot answers the compiler", SNAPSHOT,
         (("descriptors", "--workers", "0", "--compiles", "300"), cases("A4"), edits(),
          ("flips", "--way", "in_process", "--compiles", "300"))),
    Mend(("A2",), "absence is a difference",
         (Change("runtime/lookup/replay.cpp", "    if (absences_.empty()) return true;\n", "    if (true) return false;\n"),),
         (cases("A2"), edits())),
    # What such an option reads, the snapshot sees too.
    Mend(("A3",), "options that read files are refused, and the snapshot",
         (Change("runtime/program/program.cpp", '  return !defines && (option.find("options-file")',
                 '  return false && !defines && (option.find("options-file")'), *SNAPSHOT),
         (cases("A3"),)),
    Mend(("A4",), "questions that the scan misses are guessed",
         (Change("runtime/narrow/narrow.cpp", "if (!was_scanned_in_part() && (foresaw_all || guess())) {",
                 "if (true) {"),),
         (cases("A4"), edits())),
    Mend(("A4",), "a precompiled header is named by the texts that the compiler was given",
         (Change("runtime/compile/compile_job.cpp", "  for (const auto& header : job.embedded)\n",
                 "  if (false) for (const auto& header : job.embedded)\n"),),
         (embedded("11", "--only", "pasted by another header", "--without", "split"),)),
    Mend(("A4",), "lines go on behind several carriage returns",
         (Change("runtime/source/joined_text.cpp", "text.find_first_not_of('\\r', at + 1)",
                 "at + 1 + (text.substr(at + 1).starts_with('\\r') ? 1 : 0)"),
          Change("runtime/source/joined_text.cpp", "if (end == std::string_view::npos || text[end]",
                 "if (end >= text.size() || text[end]")),
         (embedded("31", "--only", "CR CRLF", count="1000"),)),
    Mend(("A4",), "names of macros that ask for headers may be pasted",
         (Change("runtime/source/closure.cpp", "if (can_be_pasted_with_letters(macro, pieces))", "if (false)"),),
         (embedded("14", "--only", "wrapper pasted", "--only", "wrapper of a macro pasted"),)),
    Mend(("A4",), "a macro's name may stay",
         (Change("runtime/source/macro_expansion.cpp", "    for (const auto& rest : *behind) pieces.insert",
                 "    if (false) for (const auto& rest : *behind) pieces.insert"),),
         (("embedded_cases", "--only", "a macro "),)),
    Mend(("A4",), "what a macro is given is expanded",
         (Change("runtime/source/directives.cpp", "if (scanner.peek() == '<') add_operand(operand(scanner), true, directives);",
                 "if (scanner.peek() == '<') add_header_name(scanner, true, directives);"),),
         (("embedded_cases", "--only", "an argument"),)),
    Mend(("A4",), "questions are pasted of any pieces",
         (Change("runtime/source/closure.cpp", "if (can_ask(question_pieces_, literal_pieces_))", "if (false)"),),
         (("embedded_cases", "--only", "__h"),)),
    Mend(("A5",), "identities are compared",
         (Change("runtime/lookup/replay.cpp", "if (!is_any && !(same == Same", "if (false && !is_any && !(same == Same"),),
         (cases("A5"), edits("--only", "shadowed by the same", "--only", "becomes a", way="engine"))),
    Mend(("A6",), "include directories stay as they are spelled",
         (Change("runtime/program/program.cpp", "    auto absolute = std::filesystem::absolute(directory, failure);",
                 "    auto absolute = std::filesystem::absolute(directory, failure).lexically_normal();"),),
         (cases("A6"),)),
    Mend(("A8",), "stamps of images hold within a mount",
         (Change("runtime/source/mounts.cpp", "  if (counts_whole_seconds(stamp)) return true;\n", "  if (true) return false;\n"),),
         (cases("A8"),)),
    Mend(("A9",), "a failure is shared among those who asked before it began",
         (Change("cache/turn.cpp", "told->began_ns < since_ns", "false"),),
         (cases("A9"),)),
]


def misplaced(mend, root):
    """The changes whose place is not there, once."""
    return [change for change in mend.changes if (root / change.file).read_text().count(change.before) != 1]


def check():
    lost = [(mend.what, change.file) for mend in MENDS for change in misplaced(mend, ROOT)]
    for what, file in lost:
        print(f"{what}: {file} does not have the text that is to be changed, once")
    return 1 if lost else 0


class Copy:
    """A copy of what is committed, with the release build's settings."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder) / "kiln"
        if not self.root.exists():
            subprocess.run(["git", "clone", "-q", ROOT, self.root], check=True)
        subprocess.run(["git", "-C", self.root, "fetch", "-q"], check=True)
        subprocess.run(["git", "-C", self.root, "reset", "-q", "--hard", "FETCH_HEAD"], check=True)
        settings = [f"-D{line.split(':')[0]}={line.split('=', 1)[1]}"
                    for line in (ROOT / "build/release/CMakeCache.txt").read_text().splitlines()
                    if line.startswith(("KILN_CUDA", "CUDAToolkit_ROOT", "CMAKE_CXX_COMPILER_LAUNCHER"))]
        subprocess.run(["cmake", "--preset", "release", *settings], cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def build(self, mend):
        subprocess.run(["git", "checkout", "-q", "."], cwd=self.root, check=True)
        for change in mend.changes:
            file = self.root / change.file
            file.write_text(file.read_text().replace(change.before, change.after))
        subprocess.run(["cmake", "--build", "--preset", "release", "--target", "kiln_tool", "kiln_worker", "kiln_c"],
                       cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    def find(self, run, seconds):
        """Whether the run finds something, and what it said last."""
        script, *arguments = run
        if script == "fuzz":
            arguments += ["--seconds", str(seconds)]
        environment = {**os.environ, "KILN_BIN": str(self.root / "build/release/bin/kiln")}
        environment.pop("KILN_WORKER", None)
        done = subprocess.run([sys.executable, HERE / f"{script}.py", *arguments], env=environment, text=True,
                              capture_output=True)
        said = done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or ["nothing"]
        return done.returncode == 1 and "Traceback" not in done.stderr, said[-1]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="", help="mends of this point")
    parser.add_argument("--seconds", type=int, default=60, help="for the fuzzer, each")
    parser.add_argument("--build", help="where the copy lies, which is kept")
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.check:
        return check()
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Copy(arguments.build or scratch)
        for mend in MENDS:
            if arguments.only and arguments.only not in mend.points:
                continue
            copy.build(mend)
            for run in mend.runs:
                found, said = copy.find(run, arguments.seconds)
                missed += not found
                print(f"{'found' if found else 'MISSED':6} {', '.join(mend.points):10} without \"{mend.what}\": "
                      f"{' '.join(run)}: {said}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
