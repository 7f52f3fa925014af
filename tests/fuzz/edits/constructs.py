"""How one file asks for another: each construct is text around a header's name. `{q}` is the name as it is asked for,
in brackets or quoted, `{bare}` the name alone, `{dir}` and `{leaf}` its halves, `{n}` a number of this place alone."""

import dataclasses

INCLUDES, ASKS, OPTIONAL, SKIPPED, BEHIND_MACRO = "includes", "asks", "optional", "skipped", "behind a macro"


@dataclasses.dataclass(frozen=True)
class Construct:
    name: str
    kind: str = ASKS
    before: str = ""          # lines in front
    ask: str = ""             # the condition, or the operand of #include
    behind: str = ""          # lines after it
    define: str = ""          # what the command line defines for it
    elsewhere: str = ""       # what another header defines for it, where there is one
    quoted: bool | None = None  # None: either
    folder: bool = False      # the name must have one
    crlf: bool = False        # the lines end so

    def text(self, place):
        lines = {INCLUDES: self.include_lines, ASKS: self.ask_lines, OPTIONAL: self.optional_lines,
                 SKIPPED: self.skipped_lines, BEHIND_MACRO: self.macro_lines}[self.kind]()
        text = fill(f"{self.before}{lines}{self.behind}", place)
        return text.replace("\n", "\r\n") if self.crlf else text

    def include_lines(self):
        return self.ask + "\n"

    def ask_lines(self):
        return f"#undef L{{n}}\n{self.ask}\n#define L{{n}} 1\n#else\n#define L{{n}} 2\n#endif\n"

    def optional_lines(self):
        return f"{self.ask}\n#include {{q}}\n#endif\n"

    def skipped_lines(self):
        return "#if 0\n#include {q}\n#endif\n"

    def macro_lines(self):
        return "#ifdef ON{n}\n#include {q}\n#endif\n"

    def defines(self, place):
        return [fill(self.define, place)] if self.define else []


def fill(text, place):
    for name, value in place.words().items():
        text = text.replace("{" + name + "}", value)
    return text


def question(name, ask="#if __has_include({q})", before="", behind="", **more):
    return Construct(name, ASKS, before, ask, behind, **more)


def inclusion(name, ask="#include {q}", before="", **more):
    return Construct(name, INCLUDES, before, ask, **more)


PASTE = "#define PASTE{n}(a, b) a##b\n"
STRING = "#define STRING{n}_(x) #x\n#define STRING{n}(x) STRING{n}_(x)\n"

CONSTRUCTS = [
    inclusion("include"),
    inclusion("include of a macro", "#include NAME{n}", "#define NAME{n} {q}\n"),
    inclusion("include of a function-like macro", "#include LIB{n}({leaf})", "#define LIB{n}(leaf) <{dir}/leaf>\n",
              quoted=False, folder=True),
    inclusion("include of a macro of two arguments", "#include LIB{n}({dir}, {leaf})", "#define LIB{n}(d, l) <d/l>\n",
              quoted=False, folder=True),
    inclusion("include of -D", "#include NAME{n}", define="NAME{n}={q}"),
    inclusion("include stringised", "#include STRING{n}({bare})", STRING, quoted=True),
    inclusion("include spliced", "#inc\\\nlude \\\n {q}"),
    inclusion("include by digraph", "%:include {q}"),
    inclusion("include with comments", "/* a */ # /* b */ include /* c */ {q} // d"),
    inclusion("include between CRLF", crlf=True),
    inclusion("include behind a raw string", before='__device__ const char* r{n} = R"(\n#if 0\n/*)"; // */\n'),
    inclusion("include behind a pp-number", before='#define N{n} 1.R"("\n#define M{n} ")"\n'),
    question("has_include"),
    question("has_include in -D", "#if ASK{n}", define="ASK{n}=__has_include({q})"),
    question("wrapper in -D", "#if HAS{n}({q})", define="HAS{n}(x)=__has_include(x)"),
    question("name in -D", "#if __has_include(NAME{n})", define="NAME{n}={q}"),
    question("wrapper", "#if HAS{n}({q})", "#define HAS{n}(x) __has_include(x)\n"),
    question("wrapper given a macro", "#if HAS{n}(NAME{n})",
             "#define HAS{n}(x) __has_include(x)\n#define NAME{n} {q}\n"),
    question("wrapper with a folder", "#if HAS{n}({leaf})", "#define HAS{n}(x) __has_include(<{dir}/x>)\n",
             quoted=False, folder=True),
    question("wrapper of two arguments", "#if HAS{n}({dir}, {leaf})", "#define HAS{n}(d, l) __has_include(<d/l>)\n",
             quoted=False, folder=True),
    question("wrapper of two questions", "#if HAS{n}({q}, {q})",
             "#define HAS{n}(a, b) (__has_include(a) && __has_include(b))\n"),
    question("nested wrappers", "#if OUTER{n}({bare})",
             "#define INNER{n}(x) __has_include(x)\n#define OUTER{n}(x) INNER{n}(<x>)\n", quoted=False),
    question("variadic wrapper", "#if HAS{n}({q})", "#define HAS{n}(...) __has_include(__VA_ARGS__)\n"),
    question("another name", "#if H{n}({q})", "#define H{n} __has_include\n"),
    question("whole in a macro", "#if H{n}", "#define H{n} __has_include({q})\n"),
    question("pasted", "#if PASTE{n}(__has_, include)({q})", PASTE),
    question("macro in brackets", "#if __has_include(<NAME{n}>)", "#define NAME{n} {bare}\n", quoted=False),
    question("stringised", "#if __has_include(STRING{n}({bare}))", STRING, quoted=True),
    question("wrapper that stringises", "#if HAS{n}({bare})", STRING + "#define HAS{n}(x) __has_include(STRING{n}(x))\n",
             quoted=True),
    question("parenthesis in a macro", "#if __has_include OPEN{n} {q} )", "#define OPEN{n} (\n"),
    question("spliced", "#if __has_\\\ninclude({q})"),
    question("digraph", "%:if __has_include({q})"),
    question("behind a raw string", before='__device__ const char* r{n} = R"x(\n#if 0 )" /* )x"; // */\n'),
    question("behind a pp-number", before='#define N{n} 0x1p+LR"("\n#define M{n} ")"\n'),
    question("behind a suffix", before='#define N{n} "a"R"("\n#define M{n} ")"\n'),
    question("behind separators", before="#define N{n} 12'a'b'/*'\n", behind="// '*/\n"),
    question("behind a splice", before="// a \\\n#if 0\n"),
    question("between CRLF", crlf=True),
    Construct("optional include", OPTIONAL, ask="#if __has_include({q})"),
    Construct("optional include by a wrapper", OPTIONAL, "#define HAS{n}(x) __has_include(x)\n", "#if HAS{n}({q})"),
    Construct("optional include by a nested wrapper", OPTIONAL,
              "#define INNER{n}(x) __has_include(x)\n#define OUTER{n}(x) INNER{n}(<x>)\n", "#if OUTER{n}({bare})",
              quoted=False),
    Construct("include in #if 0", SKIPPED),
    Construct("include behind a macro", BEHIND_MACRO),
]
