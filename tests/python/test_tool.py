"""`python -m kiln` is the tool."""

import json
import subprocess
import sys


def tool(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "kiln", *arguments], capture_output=True, text=True, timeout=60, **options)


def test_it_is_the_tool(cache, runtime, scale):
    artifact = runtime.compile(scale, "sm_90a")
    done = tool("--cache", str(cache), "--json", "ls")
    assert done.returncode == 0 and json.loads(done.stdout)["key"] == artifact.key


def test_its_exit_status_is_the_tools():
    assert tool("--version").stdout.startswith("kiln ")
    assert tool("no-such-verb").returncode == 2


def test_what_the_tool_compiled_is_served(cache, runtime, scale, tmp_path):
    (tmp_path / "scale.cu").write_text("__global__ void k(int* x) { *x = 1; }\n")
    done = tool("--cache", str(cache), "compile", str(tmp_path / "scale.cu"), "--arch", "sm_90a", "--name", "k")
    assert done.returncode == 0, done.stderr
    import kiln
    program = kiln.Program(tmp_path / "scale.cu", kernels=["k"])
    assert runtime.compile(program, "sm_90a").origin in ("local", "memory")
