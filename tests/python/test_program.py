"""What a program is made of, and what is refused."""

import pathlib
import pickle

import pytest

import kiln
from conftest import SCALE


def test_text_needs_a_name():
    with pytest.raises(kiln.InvalidError, match="give name="):
        kiln.Program(SCALE, kernels=["scale<float>"])


def test_a_file_gives_its_name_and_its_folder(tmp_path, runtime):
    (tmp_path / "by.cuh").write_text("#pragma once\nconstexpr __device__ float by = 2;\n")
    (tmp_path / "twice.cu").write_text('#include "by.cuh"\n__global__ void twice(float* x) { *x *= by; }\n')
    program = kiln.Program(tmp_path / "twice.cu", kernels=["twice"])
    assert program.name == "twice.cu"
    assert program.kernels == ("twice",)
    assert runtime.compile(program, "sm_90a").program == "twice.cu"


def test_headers_in_memory_and_on_disk(tmp_path, runtime):
    (tmp_path / "disk.cuh").write_text("constexpr __device__ int disk = 1;\n")
    program = kiln.Program('#include "memory.cuh"\n#include <disk.cuh>\n#include <kiln/vec.cuh>\n#include <cstdint>\n'
                           "__global__ void both(int* x) { *x = memory + disk; }",
                           name="both.cu", kernels=["both"], include_dirs=[tmp_path], standard_headers=True,
                           headers={"memory.cuh": "constexpr __device__ int memory = 1;\n"}, options=["--std=c++20"])
    assert runtime.compile(program, "sm_90a").kernels[0].expression == "both"


def test_a_variant_stands_in(runtime):
    program = kiln.Program("__global__ void k(int* x) { *x = 1; }", name="k.cu", kernels=["k"],
                           variants=[kiln.Variant("wide", "sm_90a", source="__global__ void k(int* x, int y) { *x = y; }")])
    assert len(runtime.compile(program, "sm_80").kernels[0].params) == 1
    assert len(runtime.compile(program, "sm_90a").kernels[0].params) == 2


@pytest.mark.parametrize("arguments, words", [
    ({"options": ["-arch=sm_90"]}, "-arch"),
    ({"options": ["-Isomewhere"]}, "include"),
    ({"name": "/absolute.cu"}, "absolute"),
    ({"headers": {"a.cuh": "a\0b"}}, "the header a.cuh holds a NUL byte"),
    ({"options": ["-DV=1\0 2"]}, "options holds a NUL byte"),
    ({"kernels": ["scale<float>\0g"]}, "kernels holds a NUL byte"),
    ({"include_dirs": ["/usr/include\0zzz"]}, "include_dirs holds a NUL byte"),
    ({"include_dirs": [b"/usr/include\0zzz"]}, "include_dirs holds a NUL byte"),
    ({"include_dirs": [""]}, "include_dirs: the path is empty"),
    ({"variants": [kiln.Variant("wide", "sm_90a", options=["-DV=1\0 2"])]}, "the options of the variant wide holds a NUL byte"),
    ({"variants": [kiln.Variant("wide", "sm_90a", file="wide.cu\0")]}, "the variant wide holds a NUL byte"),
])
def test_what_makes_no_sense_is_refused(arguments, words):
    with pytest.raises(kiln.InvalidError, match=words) as caught:
        kiln.Program(**{"source": SCALE, "name": "scale.cu", "kernels": ["scale<float>"]} | arguments)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("arguments, message", [
    ({"kernels": "scale<float>"}, "kernels is one str; give a list of str"),
    ({"source": 3}, "source has to be a str, bytes or a pathlib.Path, not int"),
    ({"name": 3}, "name has to be a str, not int"),
    ({"headers": {"a.cuh": 3}}, "the header a.cuh has to be a str or bytes, not int"),
    ({"headers": ["a.cuh"]}, "headers has to be a dict of names and texts, not list"),
    ({"standard_headers": "cstdint"}, "standard_headers has to be True or False, not str"),
    ({"toolkit_headers": 0}, "toolkit_headers has to be True or False, not int"),
    ({"options": 3}, "options has to be a list, not int"),
    ({"options": [3]}, "options has to be a list of str, not int"),
    ({"include_dirs": [3]}, "include_dirs has to be a str, bytes or a pathlib.Path, not int"),
    ({"variants": [kiln.Variant("wide", "sm_90a", options="-g")]},
     "the options of the variant wide is one str; give a list of str"),
])
def test_a_value_of_another_type_is_refused(arguments, message):
    with pytest.raises(TypeError) as caught:
        kiln.Program(**{"source": SCALE, "name": "scale.cu", "kernels": ["scale<float>"]} | arguments)
    assert str(caught.value) == message


def test_a_files_path_is_not_cut(tmp_path):
    (tmp_path / "scale.cu").write_text(SCALE)
    with pytest.raises(kiln.InvalidError, match="source holds a NUL byte"):
        kiln.Program(tmp_path / "scale.cu\0b", kernels=["scale<float>"])


def test_a_file_that_is_not_there():
    with pytest.raises(FileNotFoundError):
        kiln.Program(pathlib.Path("/nonexistent/kernel.cu"), kernels=["k"])


def test_errors_survive_a_process():
    with pytest.raises(kiln.Error) as caught:
        kiln.Program(SCALE, name="", kernels=["scale<float>"])
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), copy.code, copy.message) == (kiln.InvalidError, "invalid_argument", caught.value.message)
