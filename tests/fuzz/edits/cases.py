"""Every way known in which a key and its image can part, as a case with a name: a program is asked for, one thing is
changed, and it is asked for again. `check_cases.py` runs them."""

import dataclasses
import os
import time

from tree import (copy, forbid, hard_link, in_turn, link, make_folder, nothing, remove, remove_folder, rename,
                  rewrite_unnoticed, touch, write)
from ways import kiln_tool

# Where a scanner's way is lost NVRTC's may be, too: then VAL is 7.
KERNEL = """
#ifndef VAL
#define VAL 7
#endif
extern "C" __global__ void k(float* x) { x[threadIdx.x] = (float)(VAL); }
"""
BYTES = 'extern "C" __global__ void k(char* x) { x[threadIdx.x] = t[threadIdx.x]; }\n'
TWO_OR_ONE = "#define VAL 2\n#else\n#define VAL 1\n#endif\n"
FOUND = "#if __has_include(<o.h>)\n" + TWO_OR_ONE
ONE, TWO = "#define VAL 1\n", "#define VAL 2\n"
AGAIN = "#undef VAL\n#define VAL 2\n"
COUNTED = "#pragma once\n#ifdef VAL\n#undef VAL\n#define VAL 5\n#else\n#define VAL 4\n#endif\n"
PASTE = "#define PASTE_(a, b) a##b\n#define PASTE(a, b) PASTE_(a, b)\n"


@dataclasses.dataclass
class Case:
    """`expect` is `right` (never another image than a fresh one), `hit` (right, and served), `not_kept` (refused, or
    compiled and not kept), `kept`, or `last_resort` (served, with a warning, where nothing can be compiled)."""

    name: str
    files: dict
    edit: object = nothing
    include: list = dataclasses.field(default_factory=lambda: ["i"])
    define: list = dataclasses.field(default_factory=list)
    option: list = dataclasses.field(default_factory=list)
    standard: bool = False
    image: tuple = ("compute_90", "ptx")
    after: dict = dataclasses.field(default_factory=dict)  # what is asked for otherwise the second time
    settings: dict = dataclasses.field(default_factory=dict)
    settings_after: dict = dataclasses.field(default_factory=dict)
    expect: str = "right"
    point: str = "A4"


CASES = []
CUBIN = ("sm_90", "cubin")


def case(name, source, files=None, **more):
    """`source` lacks only its kernel."""
    source = (source if isinstance(source, bytes) else source.encode()) + KERNEL.encode()
    CASES.append(Case(name, {"k.cu": source, **(files or {})}, **more))


def text_case(name, files, **more):
    """The kernel shows the bytes of `t`, which a file declares."""
    CASES.append(Case(name, {**files, "k.cu": files["k.cu"] + BYTES}, **more))


def asked(name, source, at="i/o.h", files=None, **more):
    """Something is asked for by `__has_include`: it appears, and it disappears."""
    files = {"i/z.h": "", **(files or {})}
    case(f"{name}: appears", source, files, edit=write(at, "\n"), **more)
    case(f"{name}: disappears", source, {**files, at: "\n"}, edit=remove(at), **more)


def around(name, before, behind="", **more):
    """The plain question behind text in which a scanner may lose its way."""
    asked(name, before + FOUND + behind, **more)


def included(name, source, at="i/o.h", files=None, **more):
    """Something is included in a way of its own, and changes."""
    case(f"{name}: changes", source, {at: ONE, **(files or {})}, edit=write(at, TWO), **more)


# What is not found is not trusted.
OPTIONAL = '#if __has_include("o.h")\n#include "o.h"\n#else\n#define VAL 1\n#endif\n'
case("optional header deleted", OPTIONAL, {"i/o.h": TWO}, edit=remove("i/o.h"), point="A2")
case("optional header appears", OPTIONAL, {"i/z.h": ""}, edit=write("i/o.h", TWO), point="A2")
case("optional header renamed", OPTIONAL, {"i/o.h": TWO}, edit=rename("i/o.h", "i/p.h"), point="A2")
case("header that is only asked for deleted", FOUND, {"i/o.h": ""}, edit=remove("i/o.h"), point="A2")
case("folder of a header that is asked for renamed", FOUND, {"i/o.h": ""}, edit=rename("i", "j"), point="A2")
case("folder dropped from -I", FOUND, {"i/o.h": ""}, after={"include": []}, point="A2")
case("folder added to -I", FOUND, {"i/o.h": ""}, include=[], after={"include": ["i"]}, point="A2")
case("included header deleted", '#include "o.h"\n', {"i/o.h": TWO}, edit=remove("i/o.h"), expect="last_resort",
     point="A2")
case("included header's folder dropped from -I", '#include "o.h"\n', {"i/o.h": TWO}, after={"include": []},
     expect="last_resort", point="A2")
case("included header deleted behind a fallback", '#include "o.h"\n', {"i/o.h": TWO, "j/o.h": ONE},
     include=["i", "j"], edit=remove("i/o.h"), point="A2")
case("no compiler, header deleted", OPTIONAL, {"i/o.h": TWO}, edit=remove("i/o.h"),
     settings_after=kiln_tool.NO_COMPILER, expect="last_resort", point="A2")
case("no compiler, nothing changed", OPTIONAL, {"i/o.h": TWO}, settings_after=kiln_tool.NO_COMPILER, expect="hit",
     point="A2")
case("header that is asked for deleted, included in #if 0", FOUND + '#if 0\n#include "o.h"\n#endif\n', {"i/o.h": ""},
     edit=remove("i/o.h"), point="A2")
case("header that is asked for in brackets deleted, included in quotes",
     '#if __has_include(<o.h>)\n#include "o.h"\n#endif\n', {"i/o.h": TWO}, edit=remove("i/o.h"), point="A2")
case("header deleted with the one that it hangs on", "#if __has_include(<a.h>)\n#include <o.h>\n#endif\n",
     {"i/a.h": "", "i/o.h": TWO}, edit=in_turn(remove("i/a.h"), remove("i/o.h")), point="A2")
case("included header deleted with one that is asked for behind it", "#include <o.h>\n" + FOUND.replace("o.h", "p.h"),
     {"i/o.h": "", "i/p.h": ""}, edit=in_turn(remove("i/o.h"), remove("i/p.h")), expect="last_resort", point="A2")
STANDARD = "#if __has_include(<cstdint>)\n" + TWO_OR_ONE
case("standard headers offered, then not", STANDARD, standard=True, after={"standard": False}, point="A2")
case("standard headers not offered, then offered", STANDARD, after={"standard": True}, point="A2")
case("standard header included, then not offered", "#include <cstdint>\n#define VAL sizeof(std::uint64_t)\n",
     standard=True, after={"standard": False}, point="A2")
case("two optional headers, one deleted",
     "#if __has_include(<o.h>) && __has_include(<z.h>)\n" + TWO_OR_ONE, {"i/o.h": "", "i/z.h": ""},
     edit=remove("i/z.h"), point="A2")
case("header in a folder that is deleted", "#if __has_include(<s/o.h>)\n" + TWO_OR_ONE, {"i/s/o.h": "", "i/z.h": ""},
     edit=remove_folder("i/s"), point="A2")

# Options that read files or the environment. The file says one thing, then another.
for options in (["--ptxas-options=--options-file=F"], ["--ptxas-options=-optf=F"], ["--ptxas-options=-optf F"],
                ["-Xptxas=--options-file=F"], ["-Xptxas=-optf=F"], ["--ptxas-options=-v,--options-file=F"],
                ["--ptxas-options=--options-file,F"], ['--ptxas-options="--options-file=F"'],
                ["--ptxas-options", "--options-file=F"], ["--ptxas-options", "-optf=F"], ["-Xptxas", "-optf=F"],
                ["-Xptxas", "--options-file", "-Xptxas", "F"], ["--ptxas-options=-optf", "--ptxas-options=F"],
                ["--options-file=F"], ["-optf=F"], ["@F"], ["--ptxas-options=@F"], ["-Xptxas=@F"], ["-Xnvvm=@F"]):
    case(f"option {' '.join(options)}", ONE, {"F": "-O0\n"}, option=options, image=CUBIN, include=[],
         edit=write("F", "-O3\n"), expect="not_kept", point="A3")
CASES.append(Case("LLVM_OVERRIDE_PRODUCER", {"k.cu": ONE + KERNEL}, include=[], image=("compute_90", "ltoir"),
                  settings={"LLVM_OVERRIDE_PRODUCER": "one"}, settings_after={"LLVM_OVERRIDE_PRODUCER": "two"},
                  point="A3"))
CASES.append(Case("NVRTC_PREPEND_FLAGS", {"k.cu": "#ifndef VAL\n#define VAL 9\n#endif\n" + KERNEL}, include=[],
                  settings={"NVRTC_PREPEND_FLAGS": "-DVAL=1"}, settings_after={"NVRTC_PREPEND_FLAGS": "-DVAL=2"},
                  point="A3"))
case("NVVM flags in the environment", ONE, include=[], image=CUBIN,
     settings={"NVVM_APPEND_FLAGS": "-opt=0"}, settings_after={"NVVM_APPEND_FLAGS": ""}, point="A3")

# What asks whether a header is there, in every clothing.
asked("__has_include", FOUND)
asked("in -D", "#if COND\n" + TWO_OR_ONE, define=["COND=__has_include(<o.h>)"])
asked("wrapper in -D", "#if HAS(<o.h>)\n" + TWO_OR_ONE, define=["HAS(x)=__has_include(x)"])
asked("name in -D", "#if __has_include(O)\n" + TWO_OR_ONE, define=["O=<o.h>"])
asked("quoted name in -D", "#if __has_include(O)\n" + TWO_OR_ONE, define=['O="o.h"'])
asked("wrapper, given a macro", "#define HAS(x) __has_include(x)\n#define O <o.h>\n#if HAS(O)\n" + TWO_OR_ONE)
asked("wrapper with a folder", "#define HAS(p) __has_include(<lib/p>)\n#if HAS(o.h)\n" + TWO_OR_ONE, at="i/lib/o.h")
asked("wrapper that adds brackets", "#define HAS(n) __has_include(<n>)\n#if HAS(o.h)\n" + TWO_OR_ONE)
asked("wrapper of two arguments",
      "#define HAS(a, b) (__has_include(a) && __has_include(b))\n#if HAS(<z.h>, <o.h>)\n" + TWO_OR_ONE)
asked("wrapper of folder and name", "#define HAS(d, n) __has_include(<d/n>)\n#if HAS(lib, o.h)\n" + TWO_OR_ONE,
      at="i/lib/o.h")
asked("nested wrappers", "#define IN(x) __has_include(x)\n#define HAS(n) IN(<n>)\n#if HAS(o.h)\n" + TWO_OR_ONE)
asked("three wrappers, the outer of two arguments",
      "#define A1(x) __has_include(x)\n#define A2(d, n) A1(<d/n>)\n#define HAS(n) A2(lib, n)\n#if HAS(o.h)\n"
      + TWO_OR_ONE, at="i/lib/o.h")
asked("wrapper with variadic arguments", "#define HAS(...) __has_include(__VA_ARGS__)\n#if HAS(<o.h>)\n" + TWO_OR_ONE)
asked("wrapper in a define", "#define HAS(x) __has_include(x)\n#define HAVE HAS(<o.h>)\n#if HAVE\n" + TWO_OR_ONE)
asked("another name", "#define H __has_include\n#if H(<o.h>)\n" + TWO_OR_ONE)
asked("another name, given a macro", "#define H __has_include\n#define O <o.h>\n#if H(O)\n" + TWO_OR_ONE)
asked("whole in a macro", "#define H __has_include(<o.h>)\n#if H\n" + TWO_OR_ONE)
asked("macro for the parenthesis", "#define LP (\n#if __has_include LP <o.h> )\n" + TWO_OR_ONE)
asked("empty macro before the parenthesis", "#define E\n#if __has_include E (<o.h>)\n" + TWO_OR_ONE)
asked("name pasted", "#define CAT(a, b) a##b\n#if CAT(__has_, include)(<o.h>)\n" + TWO_OR_ONE)
asked("header's name pasted", PASTE + "#define NAME PASTE(o, .h)\n#if __has_include(<NAME>)\n" + TWO_OR_ONE)
asked("header's name pasted of words", PASTE + "#define HAS(a, b) __has_include(<PASTE(a, b).h>)\n#if HAS(o, p)\n"
      + TWO_OR_ONE, at="i/op.h")
asked("stringised", "#define S_(x) #x\n#define S(x) S_(x)\n#if __has_include(S(o.h))\n" + TWO_OR_ONE)
asked("wrapper that stringises", "#define S_(x) #x\n#define HAS(p) __has_include(S_(p))\n#if HAS(o.h)\n" + TWO_OR_ONE)
asked("macro within the brackets", "#define N o.h\n#if __has_include(<N>)\n" + TWO_OR_ONE)
asked("macro that is undefined later", "#define O <o.h>\n#if __has_include(O)\n" + TWO_OR_ONE + "#undef O\n")
asked("macro that is defined twice",
      "#define O <z.h>\n#undef O\n#define O <o.h>\n#if __has_include(O)\n" + TWO_OR_ONE)
asked("function-like macro for the name", "#define O() <o.h>\n#if __has_include(O())\n" + TWO_OR_ONE)
asked("__FILE__ for the name", "#if __has_include(__FILE__)\n#define VAL 3\n#elif __has_include(<o.h>)\n" + TWO_OR_ONE)
asked("comments between", "#if __has_include/**/(/**/<o.h>/**/)\n" + TWO_OR_ONE)
asked("in #elif", "#if 0\n#elif __has_include(<o.h>)\n" + TWO_OR_ONE)
asked("beside another question", "#if defined(X) || __has_include(<o.h>) /* c */\n" + TWO_OR_ONE)
asked("behind #elifndef", "#ifdef A\n#elifndef B\n" + FOUND + "#endif\n", option=["--std=c++20"])
asked("without parentheses", "#if __has_include <o.h>\n" + TWO_OR_ONE)
asked("quoted, without parentheses", '#if __has_include "o.h"\n' + TWO_OR_ONE)
asked("__has_include__", "#if __has_include__(<o.h>)\n" + TWO_OR_ONE)
asked("__has_include_next", '#include <a.h>\n' + "#ifndef VAL\n#define VAL 1\n#endif\n",
      files={"h/a.h": "#if __has_include_next(<o.h>)\n#define VAL 2\n#endif\n"}, include=["h", "i"])
asked("macro of a header", "#include <w.h>\n#if HAVE\n" + TWO_OR_ONE,
      files={"i/w.h": "#define HAVE __has_include(<o.h>)\n"})
QUOTED = {"i/s/w.h": '#define HAVE __has_include("o.h")\n'}
asked("quoted in another folder's macro", "#include <s/w.h>\n#if HAVE\n" + TWO_OR_ONE, files=QUOTED)
asked("quoted in another folder's macro, beside it", "#include <s/w.h>\n#if HAVE\n" + TWO_OR_ONE, at="i/s/o.h",
      files=QUOTED)
asked("quoted in a macro that another folder uses", '#define HAVE __has_include("o.h")\n#include <s/w.h>\n',
      at="i/s/o.h", files={"i/s/w.h": "#if HAVE\n" + TWO_OR_ONE})
asked("quoted argument of another folder's wrapper", '#include <s/w.h>\n#if HAS("o.h")\n' + TWO_OR_ONE,
      files={"i/s/w.h": "#define HAS(x) __has_include(x)\n"})
asked("quoted in another folder's header", "#include <s/w.h>\n", at="i/s/o.h",
      files={"i/s/w.h": '#if __has_include("o.h")\n' + TWO_OR_ONE})
asked("nested #if in a header", "#include <w.h>\n", files={"i/w.h": "#if 1\n" + FOUND + "#endif\n"})
asked("behind a header that defines the wrapper's argument", '#include <w.h>\n#define HAS(x) __has_include(x)\n'
      "#if HAS(WHICH)\n" + TWO_OR_ONE, files={"i/w.h": "#define WHICH <o.h>\n"})

# Text that a scanner may misread.
RAW = '#define P ")"\n'
for name, prefix in {"suffix of a string": '"a"R', "suffix of a character": "'a'R", "letter beyond ASCII": "éR",
                     "dollar": "$R", "pp-number 1.": "1.R", "pp-number 1e-": "1e-R", "pp-number 0x1p+L": "0x1p+LR",
                     "pp-number 1'0": "1'0R", "pp-number .5f": ".5fR", "u8": "u8R", "word": "xR"}.items():
    around(f"raw string or not, {name}", f'#define Q {prefix}"("\n', RAW)
around("raw string whose delimiter is spliced", '__device__ const char* a = R"ab\\\nc(x)ab\\\nc";\n')
around("raw string whose delimiter is too long", '#define Q R"12345678901234567(" \n', '#define P )12345678901234567"\n')
around("raw string with splice and quote", '__device__ const char* a = R"(\\\n"/*)";\n', "//*/\n")
around("raw string whose end would join", '__device__ const char* a = R"x(  )\\\nx"  )x";\n')
around("raw string over lines", '__device__ const char* a = R"(\n#if 0\n/*)";\n', "//*/\n")
around("raw string before C++11", '#define Q R"(\n', ')"\n', option=["--std=c++03"])
around("raw string in a skipped group", '#if 0\nR"(\n#endif\n', 'static __device__ const char* q = ")";\n')
around("raw string on a line of #define", '#define Q R"(\n', 'static __device__ const char* q = ")";\n')
around("macro named $R", '#define $R\n__device__ const char* a = $R"(" ;\n', '__device__ const char* b = ")";\n')
around("open character, then raw", "#define Q ' R\"( \n", '#define P )"\n')
around("lone quote in a skipped group", "#if 0\ndon't R\"( \n#endif\n", 'static __device__ const char* q = ")";\n')
around("comment opened in a skipped string", "#if 0\n ' /* \n#endif\n", "/* */\n")
around("#error with a quote in a skipped group", '#if 0\n#error it"s /* \n#endif\n', "/* */\n")
around("apostrophe before a comment in a skipped group", "#if 0\nit's /*\n#endif\n*/\n#endif\n")
around("quote before a comment in a skipped group", '#if 0\n"abc /* \n#endif\n', "/* */\n")
around("separator in a number", "#define N 0x1'2 \n#define M 1'\n", "//'\n")
around("separator before a comment", "#define N 1'/*\n", "/* '*/\n")
around("odd separators", "#define N 12'a'b'/*'\n")
around("character behind a word", "#define N u8'\"'\n", '#define M "\n#undef M\n')
around("comment within L\"\"", '#define N L"/*"\n', "//*/\n")
around("header's name with a quote", '#if 0\n#include <a"b>\n#endif\n#define P /*"*/\n')
around("header's name with a comment", "#if 0\n#include <a/*b>\n#endif\n", "//*/\n")
around("header's name with slashes", '#if 0\n#include "a//b"\n#endif\n')
around("pragma with brackets", "#pragma foo <a /* b>\n*/\n")
around("question that is not closed, quoted", '#if 0\n#if __has_include("x)\n#endif\n#endif\n')
around("question that is not closed", "#if 0\n#if __has_include(<x)\n#endif\n#endif\n")
around("tab, vertical tab, form feed", "#\tdefine\vX\f1\n")
around("comment before #", "/* a */ # /* b */ define /*c*/ X\n")
around("splice in a comment", "// a \\\n#define BAD\n")
around("splice in a comment, CRLF", "// a \\\r\n#define BAD\r\n")
around("trigraph in a comment since C++17", "// what??/\n", option=["--std=c++17"])
around("trigraph in a comment before C++17", "// what??/\n#if 0\n", "#endif\n#ifndef VAL\n#define VAL 7\n#endif\n",
       option=["--std=c++14"])
asked("spliced with a blank", "#if __has_\\ \ninclude(<o.h>)\n" + TWO_OR_ONE)
asked("spliced", "#if __has_\\\ninclude(<o\\\n.h>)\n" + TWO_OR_ONE)
asked("digraph", "%:if __has_include(<o.h>)\n" + TWO_OR_ONE)
for name, text in {"BOM": b"\xef\xbb\xbf" + FOUND.encode(), "UTF-16": ("\ufeff" + FOUND).encode("utf-16-le"),
                   "CR": b"// c\r" + FOUND.replace("\n", "\r").encode(), "CRLF": FOUND.replace("\n", "\r\n").encode(),
                   "form feed before #": b"\x0c\x0b" + FOUND.encode(), "NUL": b"/* \0 */\n" + FOUND.encode(),
                   "control-Z": b"\x1a\n" + FOUND.encode(), "no newline at the end": FOUND.rstrip().encode()}.items():
    asked(f"header with {name}", "#include <a.h>\n#ifndef VAL\n#define VAL 8\n#endif\n", files={"i/a.h": text})

included("spliced #include", "#incl\\ \nude <o.h>\n")
included("digraph #include", "%:include <o.h>\n")
included("trigraph #include before C++17", "??=include <o.h>\n", option=["--std=c++14"])
included("source with BOM", b"\xef\xbb\xbf#include <o.h>\n")
included("#import", "#import <o.h>\n")
included("import of a module", "import <o.h>;\n", option=["--std=c++20"])
included("name in -D", "#include HDR\n", define=["HDR=<o.h>"])
included("stringised name", "#define S_(x) #x\n#define S(x) S_(x)\n#include S(o.h)\n")
included("#include_next", "#include <o.h>\n", at="j/o.h", files={"i/o.h": "#include_next <o.h>\n"}, include=["i", "j"])
case("optional #include_next appears", "#include <o.h>\n",
     {"i/o.h": "#define VAL 1\n#if __has_include_next(<o.h>)\n#include_next <o.h>\n#endif\n", "j/z.h": ""},
     include=["i", "j"], edit=write("j/o.h", AGAIN))
case("macro that another folder uses for its #include", '#define WHICH "v.h"\n#include <s/w.h>\n',
     {"i/s/w.h": "#include WHICH\n", "i/v.h": ONE}, edit=write("i/s/v.h", TWO))
CASES.append(Case("#embed", {"k.cu": "__device__ const unsigned char t[] = {\n#embed \"o.bin\"\n};\n" + BYTES,
                             "i/o.bin": "abcd"}, edit=write("i/o.bin", "efgh")))
case("#line that names another folder", "#include <o.h>\n",
     {"i/o.h": '#line 1 "FOLDER/j/o.h"\n#include "v.h"\n', "i/v.h": ONE, "j/v.h": TWO},
     edit=write("j/v.h", "#define VAL 3\n"))
case("line marker that names another folder", '# 1 "FOLDER/j/o.h" 1\n#include "v.h"\n# 2 "k.cu" 2\n',
     {"i/v.h": ONE, "j/v.h": TWO}, edit=write("j/v.h", "#define VAL 3\n"))
case("pragma include_alias", '#pragma include_alias("a.h", "b.h")\n#include "a.h"\n', {"i/a.h": ONE, "i/b.h": TWO},
     edit=write("i/b.h", "#define VAL 3\n"))

# The time, in disguise.
for name, source, more in [
        ("pasted", PASTE + "__device__ const char t[] = PASTE(__TI, ME__);\n", {}),
        ("pasted at once", "#define CAT(a, b) a##b\n__device__ const char t[] = CAT(__TI, ME__);\n", {}),
        ("pasted with -D", PASTE + "__device__ const char t[] = PASTE(__TI, X);\n", {"define": ["X=ME__"]}),
        ("__DATE__ and __TIME__", "__device__ const char t[] = __DATE__ __TIME__;\n", {}),
        ("pasted by %:%:", "#define CAT(a, b) a %:%: b\n__device__ const char t[] = CAT(__TI, ME__);\n", {}),
        ("pasted by NVRTC's own macro", "__device__ const char t[] = _NV_CONCAT_EVAL1(__TI, ME__);\n", {}),
        ("pasted of three, one a letter", "#define CAT(a, b, c) a##b##c\n__device__ const char t[] = CAT(__T, I, ME__);\n", {}),
        ("in -D alone", "__device__ const char t[] = NOW;\n", {"define": ["NOW=__TIME__"]})]:
    text_case(f"__TIME__ {name}", {"k.cu": source}, edit=lambda folder: time.sleep(1.1), expect="not_kept", **more)
text_case("__TIME__ by \\u0049", {"k.cu": "__device__ const char t[] = __T\\u0049ME__;\n"},
          edit=lambda folder: time.sleep(1.1))

# Identity and place.
CONTENT_ELSEWHERE = {"d/p/x.h": '#include "y.h"\n', "d/p/y.h": "#ifdef VAL\n#undef VAL\n#endif\n#define VAL 1\n",
                     "e/z.h": ""}
case("equal content at a new place with another neighbour", '#include "p/x.h"\n#include <x.h>\n', CONTENT_ELSEWHERE,
     include=["e", "d", "d/p"], edit=in_turn(write("e/x.h", '#include "y.h"\n'), write("e/y.h", AGAIN)), point="A5")
case("equal headers with other neighbours, -I swapped", "#include <a.h>\n",
     {"i/a.h": '#include "b.h"\n', "j/a.h": '#include "b.h"\n', "i/b.h": ONE, "j/b.h": TWO}, include=["i", "j"],
     after={"include": ["j", "i"]}, point="A5")
TWINS = {"i/a.h": COUNTED, "i/b.h": COUNTED}
BOTH = "#include <a.h>\n#include <b.h>\n"
case("header becomes a hard link of another", BOTH, TWINS,
     edit=in_turn(remove("i/b.h"), hard_link("i/b.h", "i/a.h")), point="A5")
case("header becomes a link of another", BOTH, TWINS, edit=link("i/b.h", "a.h"), point="A5")
case("header stops being a link of another", BOTH, {"i/a.h": COUNTED, "i/b.h": link("i/b.h", "a.h")},
     edit=in_turn(remove("i/b.h"), write("i/b.h", COUNTED)), point="A5")
case("header stops being a hard link of another", BOTH, {"i/a.h": COUNTED, "i/b.h": hard_link("i/b.h", "i/a.h")},
     edit=in_turn(remove("i/b.h"), write("i/b.h", COUNTED)), point="A5")
PAIR = "#include <p/c.h>\n#include <q/c.h>\n"
case("folder becomes a link of another", PAIR, {"i/p/c.h": COUNTED, "i/q/c.h": COUNTED},
     edit=in_turn(remove_folder("i/q"), link("i/q", "p")), point="A5")
case("folder stops being a link of another", PAIR, {"i/p/c.h": COUNTED, "i/q": link("i/q", "p")},
     edit=in_turn(remove("i/q"), copy("i/p", "i/q")), point="A5")
case("folder of a header with neighbours becomes a link", PAIR,
     {"i/p/c.h": '#pragma once\n#include "v.h"\n', "i/q/c.h": '#pragma once\n#include "v.h"\n',
      "i/p/v.h": "#undef VAL\n#define VAL 1\n", "i/q/v.h": AGAIN},
     edit=in_turn(remove_folder("i/q"), link("i/q", "p")), point="A5")
case("same header by two ways, the second appears", '#include <a.h>\n#if __has_include("s/../a.h")\n'
     '#include "s/../a.h"\n#endif\n', {"i/a.h": COUNTED.replace("#pragma once\n", "")}, edit=make_folder("i/s"),
     point="A5")
case("way through a folder that appears", "#if __has_include(<s/../a.h>)\n" + TWO_OR_ONE, {"i/a.h": ""},
     edit=make_folder("i/s"), point="A5")
case("way through a folder that disappears", "#if __has_include(<s/../a.h>)\n" + TWO_OR_ONE,
     {"i/a.h": "", "i/s/q": ""}, edit=remove_folder("i/s"), point="A5")
case("link retargeted", "#include <o.h>\n", {"r1/o.h": ONE, "r2/o.h": TWO, "L": link("L", "r1")}, include=["L"],
     edit=link("L", "r2"), point="A5")
case("header's link retargeted", "#include <o.h>\n", {"i/1.h": ONE, "i/2.h": TWO, "i/o.h": link("i/o.h", "1.h")},
     edit=link("i/o.h", "2.h"), point="A5")
THROUGH = {"x/y/q": "", "inc/o.h": ONE, "x/inc/o.h": TWO, "S": link("S", "x/y")}
case("-I S/../inc, the far one changes", "#include <o.h>\n", THROUGH, include=["S/../inc"],
     edit=write("x/inc/o.h", "#define VAL 3\n"), point="A6")
case("-I S/../inc, the link goes elsewhere", "#include <o.h>\n", {**THROUGH, "v/w/q": "", "v/inc/o.h": "#define VAL 3\n"},
     include=["S/../inc"], edit=link("S", "v/w"), point="A6")
case("-I S/../inc, S becomes a folder", "#include <o.h>\n", THROUGH, include=["S/../inc"],
     edit=in_turn(remove("S"), make_folder("S")), point="A6")
case("#include <S/../o.h>, the link goes elsewhere", "#include <S/../o.h>\n",
     {"i/x/y/q": "", "i/x/o.h": ONE, "i/v/w/q": "", "i/v/o.h": TWO, "i/S": link("i/S", "x/y")},
     edit=link("i/S", "v/w"), point="A6")

# What is found changes.
included("plain header", "#include <o.h>\n", point="A5")
case("other content, same size and time", "#include <o.h>\n", {"i/o.h": ONE}, edit=rewrite_unnoticed("i/o.h", TWO),
     point="A8")
SHADOW = {"j/o.h": ONE, "i/z": ""}
case("shadowed by an earlier folder", "#include <o.h>\n", SHADOW, include=["i", "j"], edit=write("i/o.h", TWO), point="A5")
case("shadow goes", "#include <o.h>\n", {**SHADOW, "i/o.h": TWO}, include=["i", "j"], edit=remove("i/o.h"), point="A5")
case("folder of the name becomes a header", "#include <o.h>\n", {"j/o.h": ONE, "i/o.h/z": ""}, include=["i", "j"],
     edit=in_turn(remove_folder("i/o.h"), write("i/o.h", TWO)), point="A5")
case("header becomes a folder", "#include <o.h>\n", {"i/o.h": ONE, "j/o.h": TWO}, include=["i", "j"],
     edit=in_turn(remove("i/o.h"), make_folder("i/o.h")), point="A5")
case("header becomes a device", "#include <o.h>\n#ifndef VAL\n#define VAL 9\n#endif\n", {"i/z.h": "", "j/o.h": TWO},
     include=["i", "j"], edit=link("i/o.h", "/dev/null"), point="A5")
case("header becomes a link to nothing", OPTIONAL, {"i/o.h": TWO}, edit=link("i/o.h", "nowhere"), point="A5")
case("header may not be read", "#include <a.h>\n", {"i/a.h": ONE, "j/a.h": TWO}, include=["i", "j"],
     edit=forbid("i/a.h"), point="A5")
case("pipe beside the header", "#include <o.h>\n", SHADOW, include=["i", "j"],
     edit=lambda folder: os.mkfifo(folder / "i/p.h"), expect="hit", point="A5")
case("-I swapped", "#include <a.h>\n", {"i/a.h": ONE, "j/a.h": TWO}, include=["i", "j"],
     after={"include": ["j", "i"]}, point="A5")
case("header beside the source is not looked for", '#include "o.h"\n', {"i/o.h": ONE}, edit=write("o.h", TWO), point="A5")
case("header of the working directory is not looked for", '#include "a.h"\n', {"i/a.h": '#include "o.h"\n', "i/o.h": ONE},
     edit=write("o.h", TWO), point="A5")
NESTED = {"i/s/a.h": '#include "b/b.h"\n', "i/s/b/b.h": '#include "c.h"\n', "j/c.h": ONE}
case("quoted: folder of the includer's includer", '#include "s/a.h"\n', NESTED, include=["i", "j"],
     edit=write("i/s/c.h", TWO), point="A5")
case("quoted: neighbour appears", '#include "s/a.h"\n', NESTED, include=["i", "j"], edit=write("i/s/b/c.h", TWO), point="A5")
case("in brackets: neighbour appears", '#include "s/a.h"\n', {"i/s/a.h": "#include <c.h>\n", "j/c.h": ONE},
     include=["i", "j"], edit=write("i/s/c.h", TWO), point="A5")

# What changes nothing is served.
UNREAD = {"i/x.h": "a"}
case("header in #if 0 changes", "#if 0\n#include <x.h>\n#endif\n" + ONE, UNREAD, edit=write("i/x.h", "b"), point="E4")
case("header in #if 0 deleted", "#if 0\n#include <x.h>\n#endif\n" + ONE, UNREAD, edit=remove("i/x.h"), point="E4")
case("header behind a macro that is not set changes", "#ifdef FOO\n#include <x.h>\n#endif\n" + ONE, UNREAD,
     edit=write("i/x.h", "b"), point="E4")
case("-I swapped where nothing differs", "#include <a.h>\n#include <b.h>\n",
     {"i/a.h": "#pragma once\n", "j/a.h": "#pragma once\n", "i/b.h": ONE, "j/b.h": ONE}, include=["i", "j"],
     after={"include": ["j", "i"]}, point="E4")
HAS_ONE = {"i/o.h": ONE}
case("header touched", "#include <o.h>\n", HAS_ONE, edit=touch("i/o.h"), expect="hit", point="E4")
case("header written again", "#include <o.h>\n", HAS_ONE, edit=write("i/o.h", ONE), expect="hit", point="E4")
case("folder moved", "#include <o.h>\n", HAS_ONE, edit=rename("i", "j"), after={"include": ["j"]}, expect="hit",
     point="E4")
case("unread header beside it changes", "#include <o.h>\n", {**HAS_ONE, "i/u.h": "a"}, edit=write("i/u.h", "b"),
     expect="hit", point="E4")
case("unread header appears", "#include <o.h>\n", HAS_ONE, edit=write("i/u.h", "b"), expect="hit", point="E4")
case("empty folder added to -I", "#include <o.h>\n", {**HAS_ONE, "e/z": ""}, after={"include": ["e", "i"]}, expect="hit",
     point="E4")
case("folder that is not there added to -I", "#include <o.h>\n", HAS_ONE, after={"include": ["n", "i"]}, expect="hit",
     point="E4")
for name, text in {"assert in a macro that is not used": "#include <cassert>\n#define CHECK(x) assert(x)\n",
                   "assert in a function that is not used": "#include <cassert>\ntemplate <class T> __device__ void f(T x) { assert(x); }\n",
                   "assert under NDEBUG": "#define NDEBUG\n#include <cassert>\n__device__ inline void f(int x) { assert(x > 0); }\n"}.items():
    case(f"folder moved, {name}", "#include <o.h>\n", {"i/o.h": text + ONE}, edit=rename("i", "j"), standard=True,
         after={"include": ["j"]}, expect="hit", point="E4")
case("program with a macro include is kept", "#define CUDA_STD_HEADER(header) <cuda/std/header>\n"
     "#include CUDA_STD_HEADER(cstdint)\n" + ONE, expect="kept", point="E2")
case("function-like include macro: changes", "#define LIB(header) <lib/header>\n#include LIB(o.h)\n", {"i/lib/o.h": ONE},
     edit=write("i/lib/o.h", TWO), expect="kept", point="E2")
case("function-like include macro: shadowed", "#define LIB(header) <lib/header>\n#include LIB(o.h)\n",
     {"j/lib/o.h": ONE, "i/z.h": ""}, include=["i", "j"], edit=write("i/lib/o.h", TWO), expect="kept", point="E2")
case("include macro of two arguments", "#define LIB(d, n) <d/n>\n#include LIB(lib, o.h)\n", {"i/lib/o.h": ONE},
     edit=write("i/lib/o.h", TWO), expect="kept", point="E2")
case("CCCL's own __has_include", "#include <cuda/std/version>\n" + FOUND, {"i/z.h": ""}, edit=write("i/o.h", ""),
     expect="kept", point="E2")

# Paths and times that reach the image.
MOVED = {"edit": copy("i", "j"), "after": {"include": ["j"]}, "point": "A11"}
text_case("__FILE__ of a header, folder moved", {"k.cu": "#include <o.h>\n",
          "i/o.h": "__device__ const char t[] = __FILE__;\n"}, **MOVED)
text_case("__FILE__ pasted, folder moved", {"k.cu": "#include <o.h>\n",
          "i/o.h": "#define CAT(a, b) a##b\n__device__ const char t[] = CAT(__FI, LE__);\n"}, **MOVED)
text_case("__builtin_FILE pasted, folder moved", {"k.cu": "#include <o.h>\n__device__ const char* const t = f();\n",
          "i/o.h": "#define CAT(a, b) a##b\n__device__ constexpr const char* f() { return CAT(__builtin_, FILE)(); }\n"},
          **MOVED)
text_case("__FILE_NAME__", {"k.cu": "#include <o.h>\n", "i/o.h": '#include "real.h"\n',
          "i/real.h": "__device__ const char t[] = __FILE_NAME__;\n"}, **MOVED)
# What is done with a path may leave no trace of it in the image.
HASH = "__device__ constexpr unsigned h(const char* s) { return *s ? h(s + 1) * 33 ^ *s : 5381; }\n"
for name, text in {"hashed": HASH + "#define VAL h(__FILE__)\nconst unsigned here = VAL;\n",
                   "hashed by a macro": HASH + "#define HERE h(__FILE__)\nconstexpr unsigned here = HERE;\n#define VAL here\n",
                   "hashed with its line": "__device__ constexpr unsigned h(const char* s, int l) { return *s ? h(s + 1, l) * 33 ^ *s : l; }\n"
                                           "#define HERE h(__FILE__, __LINE__)\nconstexpr unsigned here = HERE;\n#define VAL here\n",
                   "hashed by a macro's macro": "__device__ constexpr unsigned h(const char* s, int l) { return *s ? h(s + 1, l) * 33 ^ *s : l; }\n"
                                                "#define H(f, l) h(f, l)\n#define HERE H(__FILE__, __LINE__)\n"
                                                "constexpr unsigned here = HERE;\n#define VAL here\n",
                   "hashed beside a line": HASH + "// A comment of __LINE__.\n#define HERE h(__FILE__)\n#define LINE __LINE__\n"
                                                  "constexpr unsigned here = HERE;\n#define VAL here\n",
                   "measured": "constexpr int n = sizeof(__FILE__);\n#define VAL n\n",
                   "pasted and measured": "#define CAT(a, b) a##b\nconstexpr int n = sizeof(CAT(__FI, LE__));\n#define VAL n\n",
                   "pasted by NVRTC's own macro and measured": "constexpr int n = sizeof(_NV_CONCAT_EVAL1(__FI, LE__));\n#define VAL n\n",
                   "of which letters are taken": "constexpr int c = __FILE__[sizeof(__FILE__) - 6];\n#define VAL c\n",
                   "by a builtin": HASH + "__device__ constexpr unsigned f(const char* p = __builtin_FILE()) { return h(p); }\n"
                                          "constexpr unsigned here = f();\n#define VAL here\n"}.items():
    case(f"__FILE__ {name}, folder moved", "#include <o.h>\n", {"i/o.h": text}, edit=copy("i", "another"),
         after={"include": ["another"]}, point="A11")
    case(f"__FILE__ {name}, folder moved to a name as long", "#include <o.h>\n", {"i/o.h": text}, edit=copy("i", "j"),
         after={"include": ["j"]}, point="A11")
case("inline function of a header, folder moved, LTO-IR", '#include "o.h"\n',
     {"i/o.h": "inline __device__ int f(int a) { return a * 7; }\n#define VAL f(threadIdx.x)\n"}, image=("compute_90", "ltoir"),
     **MOVED)
for name, text in {"line and path reported": "#define CHECK(x) report(__FILE__, __LINE__, x)\n",
                   "path streamed": "#define SHOW(x) out << __FILE__ << x\n",
                   "path in a pragma's message": "#define WARN(x) _Pragma(message(__FILE__ x))\n"}.items():
    case(f"folder moved, {name}", "#include <o.h>\n", {"i/o.h": text + ONE}, edit=rename("i", "j"),
         after={"include": ["j"]}, expect="hit", point="E4")
CASES.append(Case("__PRETTY_FUNCTION__ of a lambda, folder moved", {
    "k.cu": '#include <o.h>\nextern "C" __global__ void k(char* x) { x[threadIdx.x] = f([] {})[threadIdx.x]; }\n',
    "i/o.h": "template <class T> __device__ const char* f(T) { return __PRETTY_FUNCTION__; }\n"}, **MOVED))
LINES = {"k.cu": '#include <o.h>\nextern "C" __global__ void k(float* x) { x[threadIdx.x] = f(threadIdx.x); }\n',
         "i/o.h": "__device__ __noinline__ int f(int a) { return a * 7; }\n"}
for option, image in (("-lineinfo", CUBIN), ("-G", CUBIN), ("-lineinfo", ("compute_90", "ptx"))):
    CASES.append(Case(f"{option} {image[1]}, header touched", LINES, option=[option], image=image, edit=touch("i/o.h"),
                      point="A11"))
    CASES.append(Case(f"{option} {image[1]}, folder moved", LINES, option=[option], image=image, **MOVED))


# What one header asks for shows nowhere, where another look-up finds the same file: then that file is moved.
ASKED = "#undef VAL\n#define VAL 2\n#else\n#undef VAL\n#define VAL 1\n#endif\n"
ASKS = '#if __has_include("o.h")\n' + ASKED
STRINGS = "#define S_(x) #x\n#define S(x) S_(x)\n"


def hidden_case(name, asks, before="", asked="t/o.h", **more):
    """`asks` is a header that asks for its neighbour, `before` what the source says in front of it."""
    case(f"neighbour asked for {name}", f"{before}#include <t/u.h>\n#include <{asked}>\n",
         {"i/t/u.h": asks, f"i/{asked}": "", "h/t/z.h": ""}, include=["i", "h"],
         edit=rename(f"i/{asked}", f"h/{asked}"), **more)


hidden_case("plainly", ASKS)
hidden_case("by another header's macro", "#if HAVE\n" + ASKED, '#define HAVE __has_include("o.h")\n')
hidden_case("by another header's macro with brackets", "#if HAVE()\n" + ASKED, '#define HAVE() __has_include("o.h")\n')
hidden_case("by another header's macro, pasted", "#if CAT(HA, VE)\n" + ASKED,
            '#define HAVE __has_include("o.h")\n#define CAT(a, b) a##b\n')
hidden_case("by another name", '#define H __has_include\n#define O "o.h"\n#if H(O)\n' + ASKED)
hidden_case("with a bracket from a macro", '#define OPEN (\n#if __has_include OPEN "o.h")\n' + ASKED)
hidden_case("behind an empty macro", '#define E\n#define O "o.h"\n#if __has_include E (O)\n' + ASKED)
hidden_case("by a pasted question", '#define CAT(a, b) a##b\n#define O "o.h"\n#if CAT(__has_, include)(O)\n' + ASKED)
hidden_case("behind a literal with a suffix", '#define Q "a"R"("\n' + ASKS + '#define P ")"\n')
hidden_case("behind a character with a suffix", "#define Q 'a'R\"(\"\n" + ASKS + '#define P ")"\n')
hidden_case("in a language without raw literals", '#define Q R"(\n' + ASKS + '#define P )"\n', option=["--std=c++03"])
hidden_case("by a trigraph", "??=if __has_include(\"o.h\")\n" + ASKED, option=["--std=c++14"])
hidden_case("by the compiler's own macro", STRINGS + "#if __has_include(S(__CUDACC_VER_MAJOR__.h))\n" + ASKED, asked="t/13.h")
hidden_case("by a macro without a value", STRINGS + "#if __has_include(S(W.h))\n" + ASKED, asked="t/1.h", define=["W"])
hidden_case("by a literal of another header's", "#if __has_include(O)\n" + ASKED, '#define O P\n#define P "o.h"\n')
hidden_case("by a literal of the command line", "#if __has_include(O)\n" + ASKED, define=['O="o.h"'])
hidden_case("by a literal in a call", '#if F("o.h")\n' + ASKED, "#define F(x) G(x)\n#define G(x) H(x)\n#define H(x) (0 + __has_include(x))\n")
hidden_case("by a literal that is split", '#define O "o\\\n.h"\n#if __has_include(O)\n' + ASKED)
hidden_case("by a roundabout literal", "#if __has_include(O)\n" + ASKED, '#define O ".//./o.h"\n')
hidden_case("by a way through its own folder", "#if __has_include(O)\n" + ASKED, '#define O "../t/o.h"\n')
hidden_case("by a digraph's literal", STRINGS.replace("#x", "%:x") + "#if __has_include(S(o.h))\n" + ASKED)
hidden_case("by its own name", "#if __has_include(O)\n" + ASKED, "#define O __FILE__\n", asked="t/u.h")
for name, question, before in [
        ("stringised by NVRTC's own macro", "__has_include(__ASSERT_STR_HELPER(o.h))", ""),
        ("pasted by NVRTC's own macro", "__has_include(__CUDA_ARCH_HAS_FEATURE__(X))", '#define __CUDA_ARCH_FEAT_X "o.h"\n'),
        ("by what NVRTC's own macro comes to", "__has_include(NV_IS_DEVICE)", '#define __NV_IS_DEVICE "o.h"\n'),
        ("by a question that NVRTC's own macro pastes", "_NV_CONCAT_EVAL1(HA, VE)", '#define HAVE __has_include("o.h")\n')]:
    hidden_case(name, f"#if {question}\n" + ASKED, before)
hidden_case("in a pragma", '__device__ int f(int n) {\n  int s = 0;\n  _Pragma("unroll (2 + 4 * __has_include(\\"o.h\\"))")\n'
            "  for (int i = 0; i < 64; ++i) s += n * i ^ s;\n  return s;\n}\n#define VAL f(threadIdx.x)\n")
hidden_case("without an extension", '#if __has_include("o")\n' + ASKED, "#if __has_include(<t/o>)\n#endif\n", asked="t/o.stdh")
for name, asks in (("in a name", '#if __has_include("o??-.h")\n'), ("in a literal of a macro's", '#define O "o??-.h"\n#if __has_include(O)\n')):
    hidden_case(f"by a trigraph {name}", asks + ASKED, asked="t/o~.h", option=["--std=c++14"])
hidden_case("behind a character, in a language without suffixes", "#if 'a'HAVE(O) == 98\n" + ASKED,
            '#define HAVE(x) + __has_include(x)\n#define O "o.h"\n', option=["--std=c++03"])
hidden_case("by a word to which NVRTC's own macro comes", "#if _NV_TEST_PAREN_DUMMY(1)\n" + ASKED,
            '#define _NV_PAREN_YES (0 + __has_include("o.h"))\n')
hidden_case("by names side by side", STRINGS + "#define F(x) x\n#if __has_include(S(F(o)F(p).h))\n" + ASKED, asked="t/op.h")

case("optional neighbour by another header's macro deleted", "#include <cfg/c.h>\n#include <t/u.h>\n",
     {"i/cfg/c.h": '#define HAVE_O __has_include("o.h")\n', "i/t/o.h": TWO,
      "i/t/u.h": '#if HAVE_O\n#include "o.h"\n#else\n#define VAL 1\n#endif\n'}, edit=remove("i/t/o.h"), point="A2")
case("included without an extension, now with the front end's own", "#include <t/u.h>\n",
     {"i/t/u.h": '#include "o"\n', "i/t/o": ONE}, point="A2",
     edit=in_turn(remove("i/t/o"), write("i/t/o.stdh", TWO)))
case("without an extension, and one with the front end's own in front", "#include <o>\n", {"i/o": ONE, "h/z.h": ""},
     include=["i", "h"], edit=in_turn(rename("i/o", "h/o"), write("i/o.stdh", TWO)))
NEXT = "#if HASN(<t/o.h>)\n" + ASKED
for name, define in (("-D", "HASN(x)=__has_include_next(x)"), ("another name in -D", "HASN=__has_include_next")):
    case(f"header behind the includer asked for by {name}", "#if __has_include(<t/o.h>)\n#endif\n#include <w.h>\n",
         {"i/w.h": NEXT, "i/t/z.h": "", "h/t/o.h": ""}, include=["i", "h"], define=[define], edit=rename("h/t/o.h", "i/t/o.h"))
case("header behind the includer asked for, pasted",
     "#define CAT(a, b) a##b\n#define HASN CAT(__has_include_, next)\n#if __has_include(<t/o.h>)\n#endif\n#include <w.h>\n",
     {"i/w.h": NEXT, "i/t/z.h": "", "h/t/o.h": ""}, include=["i", "h"], edit=rename("h/t/o.h", "i/t/o.h"))
