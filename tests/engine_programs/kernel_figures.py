"""What `kiln kernels` tells of kernels, against what NVIDIA's tools tell of the same images: registers, stack, shared
memory and code size against cuobjdump's, spills against what `ptxas -v` says while it compiles.

    kernel_figures.py DEMO CUOBJDUMP

For every kernel of the demo, and those of CUB, cooperative groups and libcu++ that programs.py has, with so few registers
that some spill. Status 1 where a figure differs."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import kiln_tool
from engine_programs import Toolkit
from engine_program import CCCL
from small_programs import cooperative_groups_programs, cub_programs, libcudacxx_programs

VERBOSE = "--ptxas-options=-v"
RESERVED_BYTES = 1024  # Of shared memory, by the system, from sm_90 on: cuobjdump counts it as the kernel's.
USAGE = re.compile(r"Function (\S+):\s+REG:(\d+) STACK:(\d+) SHARED:(\d+)")
SECTION = re.compile(r"^\s*[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s.*\s\.text\.(\S+)$", re.MULTILINE)
SPILLS = re.compile(r"Function properties for (\S+)\n.*stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


def checked(outcome):
    if outcome.returncode != 0:
        sys.exit(f"{outcome.args} failed: {outcome.stderr.decode(errors='replace')}")
    return outcome


def documents(cache, *words):
    return kiln_tool.documents(checked(kiln_tool.run(["--cache", cache, "--json", *words])))


def cub_manifest(toolkit, arch, registers):
    programs = [*cub_programs(), *cooperative_groups_programs(), *libcudacxx_programs()]
    return {"kiln_manifest": 1, "targets": [arch],
            "programs": [{"name": program.name, "source": program.source, "kernels": program.kernels,
                          "options": [*program.options, f"--maxrregcount={registers}", VERBOSE],
                          "include_dirs": [str(folder) for folder in
                                           dict.fromkeys([*toolkit.folders_of(program).values(), *toolkit.headers])]}
                         for program in programs]}


def verbosely(record):
    """The programs of a record, with what ptxas says of them in their logs."""
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    for program in (program for line in lines for program in line["programs"]):
        program["options"] = [*program.get("options", []), VERBOSE]
    return lines


def told_by_tools(cuobjdump, cache, key, file):
    """By symbol, what each of NVIDIA's tools tells of the image of an entry."""
    checked(kiln_tool.run(["--cache", cache, "extract", key, "-o", file]))
    dump = [subprocess.run([cuobjdump, option, file], capture_output=True, text=True, check=True).stdout
            for option in ("--dump-resource-usage", "--dump-elf")]
    entry = documents(cache, "show", key)[0]
    reserved = RESERVED_BYTES if int(re.sub(r"\D", "", entry["arch"])) >= 90 else 0
    code = {symbol: int(size, 16) for size, symbol in SECTION.findall(dump[1])}
    spills = {symbol: (int(stores), int(loads)) for symbol, stores, loads in SPILLS.findall(entry["log"])}
    return {symbol: {"registers": int(registers), "local_bytes": int(stack),
                     "shared_bytes": max(int(shared) - reserved, 0), "code_bytes": code[symbol],
                     "spill_store_bytes": spills[symbol][0], "spill_load_bytes": spills[symbol][1]}
            for symbol, registers, stack, shared in USAGE.findall(dump[0]) if symbol in code and symbol in spills}


def compare(cuobjdump, cache, scratch):
    """How many kernels were compared, and how many of them spill."""
    rows = documents(cache, "kernels")[:-1]
    tools = {key: told_by_tools(cuobjdump, cache, key, scratch / "image") for key in {row["key"] for row in rows}}
    for row in rows:
        told = tools[row["key"]][row["symbol"]]
        ours = {figure: row[figure] for figure in told}
        if ours != told:
            sys.exit(f"{row['expression']} of {row['program']} for {row['arch']}: kiln tells {ours}, the tools {told}")
    return len(rows), sum(row["spill_store_bytes"] > 0 for row in rows)


def main():
    demo, cuobjdump = sys.argv[1:3]
    if not os.access(cuobjdump, os.X_OK):
        kiln_tool.skip("no cuobjdump was found")
    toolkit = Toolkit()
    with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as folder:
        scratch = pathlib.Path(folder)
        record = scratch / "demo.json"
        subprocess.run([demo, "--cache", scratch / "plain"], check=True, stdout=subprocess.DEVNULL,
                       env=kiln_tool.environment({"KILN_RECORD": str(record)}))
        manifests = {"demo": verbosely(record), "fewer": [cub_manifest(toolkit, "sm_80", 24)],
                     "few": [cub_manifest(toolkit, "sm_90a", 32)]}
        for name, lines in manifests.items():
            (scratch / f"{name}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
            documents(scratch / name, "prewarm", scratch / f"{name}.json")
            kernels, spilling = compare(cuobjdump, scratch / name, scratch)
            print(f"{name}: {kernels} kernels as the tools tell, {spilling} of them spill")
            if kernels < 20 or (name != "demo" and spilling == 0):
                sys.exit("that is fewer than there should be")
        # What was compiled to be looked at is what is compiled to be run.
        checked(kiln_tool.run(["diff", scratch / "plain", scratch / "demo"]))
        totals = documents(scratch / "plain", "diff", scratch / "plain", scratch / "demo")[-1]["totals"]
        if totals["changed"] or totals["appeared"] or totals["went"] or not totals["same"]:
            sys.exit(f"-v changed the demo's kernels: {totals}")


if __name__ == "__main__":
    main()
