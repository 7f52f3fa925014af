"""Questions for embedded headers that a scan may misread, one case each: the header comes, goes and comes again, and each
image is compared with plain NVRTC's of that moment. In a runtime that stays, and in one that finds only the cache.

    embedded_cases.py [--only TEXT]"""

import argparse
import pathlib
import sys
import tempfile

from plain_and_kiln import PlainNvrtc, Request, Runtime
from ways import kiln_library, kiln_tool

KERNEL = 'extern "C" __global__ void k(int* x) { x[0] = V; }\n'
HAS = "#define HAS(x) __has_include(x)\n"
NAME = "#define N <e.h>\n"
PASTE = "#define P(a, b, c) a##b##c\n#define Q(a, b, c, d) a##b##c##d\n"

# What it is, the text before, the condition, the header that comes and goes, options.
CASES = (
    ("a macro of a branch not taken", "#ifdef NEVER\n#define e other\n#endif\n#define H <e.h>", "__has_include(H)", "e.h"),
    ("a macro undefined again", "#define e other\n#undef e\n#define H <e.h>", "__has_include(H)", "e.h"),
    ("a macro of -D, undefined by -U", "#define H <e.h>", "__has_include(H)", "e.h", "-De=other", "-Ue"),
    ("-D without a value", "#define H <e.h>", "__has_include(H)", "1.h", "-De"),
    ("a macro's name in a string", '#define e other\n#define H "e.h"', "__has_include(H)", "e.h"),
    ("a macro's name in a number", "#define e x\n#define H <v/1.e/a.h>", "__has_include(H)", "v/1.e/a.h"),
    ("a comment among parameters", "#define H(/*c*/n) <n>", "__has_include(H(e.h))", "e.h"),
    ("any number of arguments, by name", "#define H(n...) <n>", "__has_include(H(e.h))", "e.h"),
    ("two blanks in a name", "#define D <e  h>", "__has_include(D)", "e h"),
    ("two names in a macro", "#define H <e.h> <f.h>", "__has_include(H)", "e.h"),
    ("an empty macro in a name", "#define M\n#define H <a/M.h>", "__has_include(H)", "a/.h"),
    ("an argument that is a macro", HAS + "#define nm e", "HAS(<nm.h>)", "e.h"),
    ("an argument that is a macro of the compiler's", HAS, "HAS(<__CUDACC_VER_MAJOR__.h>)", "{major}.h"),
    ("an argument that is a macro of a header of a macro", HAS + "#define M <m.h>\n#include M", "HAS(<nm.h>)", "e.h"),
    ("an argument with a blank", HAS, "HAS(<e.h >)", "e.h"),
    ("an argument with an empty macro", HAS + "#define M", "HAS(<M/**/e.h>)", "e.h"),
    ("a question in a macro, a macro in its name", "#define nm e\n#define A __has_include(<nm.h>)", "A", "e.h"),
    ("a question in a macro, a comment in its name", "#define A __has_include(<e/**/.h>)", "A", "e .h"),
    ("__ has _include", NAME + PASTE, "P(__, has, _include)(N)", "e.h"),
    ("__h as_ include", NAME + PASTE, "P(__h, as_, include)(N)", "e.h"),
    ("__h as_ in clude", NAME + PASTE, "Q(__h, as_, in, clude)(N)", "e.h"),
    ("__has_in clude_ne xt", NAME + PASTE, "P(__has_in, clude_ne, xt)(N)", "e.h"),
    ("a question in a macro that pastes", "#define P(a, b, c) a##b##c\n#define ASK P(__, has, _include)(<e.h>)", "ASK",
     "e.h"),
    ("a question in a call", "#define ID(x) x\n#define e x", "ID(__has_include(<e.h>))", "x.h"),
    ("a question in a call of a call", "#define ID(x) x\n#define e x", "ID((1 && ID(__has_include(<e.h>))))", "x.h"),
    ("a comment in a question in a call", "#define ID(x) x", "ID(__has_include(<a/**/b>))", "a b"),
    ("a trigraph in a name", "", "__has_include(<a??-b.h>)", "a~b.h", "--std=c++14"),
    ("a name that does not end", HAS + "#define DROP(...) 0", 'DROP(__has_include(<x)) || __has_include("e.h")', "e.h"),
    ("a name that ends in another", HAS + "#define DROP(...) 0", "DROP(__has_include(<a)) || HAS(<e.h>)", "e.h"),
    ("a sign in a number", "#define e x\n#define H <1p-e.h>", "__has_include(H)", "1p-x.h", "--std=c++14"),
    ("a sign in a number of C++17", "#define e x\n#define H <1p-e.h>", "__has_include(H)", "1p-e.h"),
    ("a macro of the compiler's that a text defines, too",
     "#ifndef __CUDA_ARCH__\n#define __CUDA_ARCH__ 0\n#endif\n#define H <sm/__CUDA_ARCH__.h>", "__has_include(H)",
     "sm/800.h"),
    ("-D with a backslash at its end", "#define H <e.h>", "__has_include(H)", "x.h", "-DZ=1\\", "-De=x"),
    ("-D with half a raw literal", "#define H <e.h>", "__has_include(H)", "x.h", '-DZ=R"(', "-De=x", '-DY=)"'),
    ("a number before a point", "#define h z\n#define F(x) <x.h>", "__has_include(F(1))", "1.z"),
    ("a number before a sign", "#define f z\n#define F(x, y) <x-y.h>", "__has_include(F(1e,f))", "1e-z.h"),
    ("a macro without arguments that pastes", "#define AB a##b\n#define H <AB.h>", "__has_include(H)", "ab.h"),
    ("a name that pastes", "#define H <a##b.h>", "__has_include(H)", "ab.h"),
    ("an arrow in a name", "#define H <a->b.h>", "__has_include(H)", "a->b.h"),
    ("an arrow in an argument", HAS, "HAS(<a->b.h>)", "a->b.h"),
    ("a shift in a name", "#define H <a>>b.h>", "__has_include(H)", "a>>b.h"),
    ("a macro of CUDA's headers", "#define H <NULL.h>", "__has_include(H)", "0.h"),
    ("a macro of CUDA's headers in an argument", HAS, "HAS(<v/cudaStreamDefault/e.h>)", "v/0x00/e.h"),
    ("-D with another sign", "#define H <e.h>", "__has_include(H)", "x.h", "-D=e=x"),
    ("a call that a macro opens", "#define ID(x) x\n#define e x\n#define START ID(", "START __has_include(<e.h>))", "x.h"),
    ("a call that -D opens", "#define ID(x) x\n#define e x", "START __has_include(<e.h>))", "x.h", "-DSTART=ID("),
    ("a wrapper of two parameters", "#define HAS(x, y) __has_include(x, y)", "HAS(<a,b.h>)", "a, b.h"),
    ("a raw literal that is split", '__device__ const char* s = R"x( )\\\nx" /* )x";\n#define e x\n//*/\n#define H <e.h>',
     "__has_include(H)", "x.h"),
    ("a quote in a name of a branch not taken",
     '#if 0\n#include "a\\" /*\n#endif\n#define e x\n//*/\n#define H <e.h>', "__has_include(H)", "x.h"),
    ("a comment in a name of a branch not taken",
     '#if 0\n#include <a/*b>\nR"( */\n#endif\n#define e x\n//)"\n#define H <e.h>', "__has_include(H)", "x.h"),
    ("a raw literal behind an include", '#if 0\n#include M R"(a"/*)"\n#endif\n#define e x\n//*/\n#define H <e.h>',
     "__has_include(H)", "x.h"),
    ("no quotes in numbers", "#define U 1'a'\"'/*\"", "__has_include(<e.h>)\n//*/", "e.h", "--std=c++11"),
)
# Expressions that ask for the header e.h: the compiler reads them as code.
EXPRESSIONS = (
    ("an expression that asks", "", "f<1 + __has_include(<e.h>)>"),
    ("an expression that asks by a macro", "#define Q __has_include(<e.h>)\n", "f<1 + Q>"),
    ("an expression that asks by a wrapper", HAS, "f<1 + HAS(<e.h>)>"),
    ("an expression that pastes", "#define P(a, b) a##b\n", "f<1 + P(__has_, include)(<e.h>)>"),
)
# Pragmas that ask for it: strings, which _Pragma expands.
PRAGMAS = (
    ("a pragma that asks", "", '_Pragma("unroll 1 + 3 * __has_include(<e.h>)")'),
    ("a pragma in a raw literal", "", '_Pragma(R"(unroll 1 + 3 * __has_include(<e.h>))")'),
    ("a pragma that asks by a wrapper", HAS, '_Pragma("unroll 1 + 3 * HAS(<e.h>)")'),
    ("a pragma that pastes a wrapper", "#define P(a, b) a##b\n" + HAS, '_Pragma("unroll 1 + 3 * P(HA, S)(<e.h>)")'),
    ("a pragma that pastes", "#define Q(a, b) __##a##b\n", '_Pragma("unroll 1 + 3 * Q(has, _include)(<e.h>)")'),
    ("a question in code, in a call", "#define ID(x) x\n#define START ID(\n", "x[1] = START __has_include(<e.h>));"),
    ("a question by the name of defined",
     "#define LP (\n__device__ constexpr int defined(int x) { return x; }\n", "x[1] = defined(__has_include LP <e.h>));"),
    ("a pragma in a macro", '#define U _Pragma("unroll 1 + 3 * __has_include(<e.h>)")\n', "U"),
)
TEMPLATE = "template <int I> __global__ void f(int* x) { x[0] = I; }\n"
LOOP = 'extern "C" __global__ void k(int* x) {{\n{}\nfor (int i = 0; i < 16; ++i) x[i * 7] = i;\n}}\n'
# Headers that kiln rewrites, so that they find their neighbours: as plain NVRTC without any.
REWRITTEN = (
    ("a string in a condition", '#define F(x) 1\n#if F("a)b")\n#define V 1\n#endif\n'),
    ("a name with a bracket", '#if 0\n#include "x>y.h"\n#endif\n#define V 1\n'),
    ("a name with slashes", HAS + '#if HAS("b//n.h")\n#define V 2\n#else\n#define V 1\n#endif\n'),
    ("a name with slashes in a call", '#define ID(x) x\n#if ID(__has_include("b//n.h"))\n#define V 2\n#else\n#define V 1\n#endif\n'),
    ("a name in a call that a macro would change",
     '#define ID(x) x\n#define n foo\n#if ID(__has_include("n.h"))\n#define V 2\n#else\n#define V 1\n#endif\n'),
    ("a name that is quoted", '#define STR(x) #x\n__device__ const char s[] = STR(__has_include("n.h"));\n#define V sizeof(s)\n'),
    ("a name that begins a comment", '#define V 1\n#if 0\n#include "a/*b.h"\n#endif\n'),
    ("a name with a comma", HAS + '#if HAS("a,b.h")\n#define V 2\n#else\n#define V 1\n#endif\n'),
    ("a name of other letters", HAS + '#if HAS("\u00e9.h")\n#define V 2\n#else\n#define V 1\n#endif\n'),
    ("a name that a macro would change", HAS + '#define n foo\n#if HAS("n.h")\n#define V 2\n#else\n#define V 1\n#endif\n'),
)


class Cases:
    def __init__(self, only):
        self.only = only
        found = kiln_tool.compiler()
        self.major = found["description"].split()[1].split(".")[0]
        self.plain = PlainNvrtc(found)
        self.library = kiln_library.load()
        self.done = self.wrong = 0

    def run(self, name, states, kernels=("k",)):
        """Each state is a source, its headers and its options."""
        if self.only not in name:
            return
        self.done += 1
        with tempfile.TemporaryDirectory(dir=kiln_tool.scratch_root()) as scratch:
            scratch = pathlib.Path(scratch)
            stays = Runtime(self.library, scratch / "cache")
            for number, (source, headers, options) in enumerate(states):
                request = Request(scratch, "k.cu", source, headers, [], [], list(options), kernels)
                right, why = self.plain.ask(request)
                comes = Runtime(self.library, scratch / "cache")
                for runtime in (stays, comes):
                    answer = runtime.ask(request)
                    if answer.image != right:
                        self.wrong += 1
                        print(f"WRONG: {name}, state {number}, {'hit' if answer.hit else 'not a hit'}: "
                              f"{(answer.errors or why or 'another image').strip()[-300:]}")
                comes.close()
            stays.close()

    def run_all(self):
        for name, before, condition, header, *options in CASES:
            header = header.format(major=self.major)
            text = f"{before}\n#if {condition}\n#define V 1\n#else\n#define V 2\n#endif\n{KERNEL}"
            always = {"m.h": "#define nm e\n"} if "<m.h>" in before else {"always.h": "//\n"}
            for offered in ("", f"#if 0\n#include <{header}>\n#endif\n"):
                states = [(offered + text, {**always, **more}, options) for more in ({}, {header: "//\n"}, {})]
                self.run(f"{name}{', offered' if offered else ''}", states)
        comes_and_goes = [{"always.h": "//\n", **more} for more in ({}, {"e.h": "//\n"}, {})]
        for name, before, expression in EXPRESSIONS:
            self.run(name, [(before + TEMPLATE, headers, []) for headers in comes_and_goes], (expression,))
        for name, before, pragma in PRAGMAS:
            self.run(name, [(before + LOOP.format(pragma), headers, []) for headers in comes_and_goes])
        for name, header in REWRITTEN:
            offered = {"d/h.h": header, "foo.h": "//\n", "always.h": "//\n"}
            if "in a call that" in name or "is quoted" in name:
                offered["n.h"] = "//\n"
            if "comma" in name or "letters" in name:
                offered |= {"a,b.h": "//\n", "d/a,b.h": "//\n", "\u00e9.h": "//\n", "d/\u00e9.h": "//\n"}
            self.run(name, [("#include <d/h.h>\n" + KERNEL, offered, [])])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default="")
    cases = Cases(parser.parse_args().only)
    cases.run_all()
    print(f"{cases.done} cases, {cases.wrong} wrong answers")
    return 1 if cases.wrong or not cases.done else 0


if __name__ == "__main__":
    sys.exit(main())
