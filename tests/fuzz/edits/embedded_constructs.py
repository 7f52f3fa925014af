"""How one text asks for a header that a program carries, in ways beside those of constructs.py."""

import dataclasses

from constructs import CONSTRUCTS, PASTE, STRING, inclusion, question
from graph import Place

TOOLS = "tools.h"
TOOLS_TEXT = "#pragma once\n#define TOOLS_HAVE(x) __has_include(x)\n#define TOOLS_PASTE(a, b) a##b\n"

# What asks in ways of its own. `{head}` and `{tail}` are the halves of the name as it is asked for.
HAS = "#define HAS{n}(x) __has_include(x)\n"
NAME = "#define NAME{n} {q}\n"
MENTION = "#if 0\n#include {q}\n#endif\n"
SAME = "#define SAME{n}(x) x\n"
DROP = "#define DROP{n}(...) 0\n"
SPLICES = {"LF": "\\\n", "CRLF": "\\\r\n", "CR CRLF": "\\\r\r\n", "two LF": "\\\n\\\n"}
TRIGRAPH = "trigraph"


def split_by(what, splice):
    return [
        inclusion(f"include split by {what}", f"#incl{splice}ude {{q}}"),
        inclusion(f"name of an include split by {what}", f"#include {{head}}{splice}{{tail}}"),
        inclusion(f"macro of an include split by {what}", f"#include NA{splice}ME{{n}}", NAME),
        question(f"has_include split by {what}", f"#if __has_inc{splice}lude({{q}})"),
        question(f"name of a question split by {what}", f"#if __has_include({{head}}{splice}{{tail}})"),
        question(f"wrapper split by {what}", f"#if HA{splice}S{{n}}({{q}})", HAS),
        question(f"wrapper of a macro split by {what}", f"#if HA{splice}S{{n}}(NAME{{n}})", HAS + NAME),
        question(f"comment split by {what}", before=f"// a{splice}/*\n", behind="//*/\n"),
    ]


EMBEDDED_CONSTRUCTS = CONSTRUCTS + [construct for pair in SPLICES.items() for construct in split_by(*pair)] + [
    inclusion("include pasted", "#include PASTE{n}(NA, ME{n})", PASTE + NAME),
    inclusion("include stringised, behind a condition", "#if 1\n#include STRING{n}({bare})\n#endif", STRING,
              quoted=True),
    inclusion("include pasted by another header", "#include TOOLS_PASTE(NA, ME{n})", NAME),
    inclusion("include of a macro by digraph", "%:include NAME{n}", NAME),
    inclusion("include by trigraph", "??=include {q}"),
    inclusion("include of a macro by trigraph", "??=include NAME{n}", NAME),
    inclusion("include split by trigraph", "#incl??/\nude {q}"),
    inclusion("include behind a comment of two lines", "/*\n#undef */ #include {q}"),
    inclusion("include of a macro behind a comment of two lines", "#include /*\n#if */ NAME{n}", NAME),
    question("question by trigraph", "??=if __has_include({q})"),
    question("wrapper split by trigraph", "#if HA??/\nS{n}(NAME{n})", HAS + NAME),
    question("wrapper behind a comment of two lines", "#if /*\n*/ HAS{n}(NAME{n})", HAS + NAME),
    question("wrapper behind a comment with a directive", "#if 1 /*\n#undef */ && HAS{n}(NAME{n})", HAS + NAME),
    question("directive behind a comment with a directive", "/*\n#undef */ #if HAS{n}(NAME{n})", HAS + NAME),
    question("wrapper behind an empty macro", "#if nodefined{n} HAS{n}(NAME{n})",
             HAS + NAME + "#define nodefined{n}\n"),
    question("wrapper behind an empty macro's end", "#if n{n}defined HAS{n}(NAME{n})",
             HAS + NAME + "#define n{n}defined\n"),
    question("wrapper pasted", "#if PASTE{n}(HA, S{n})({q})", HAS + PASTE),
    question("wrapper of a macro pasted", "#if PASTE{n}(HA, S{n})(NAME{n})", HAS + NAME + PASTE),
    question("wrapper pasted by another header", "#if TOOLS_PASTE(HA, S{n})(NAME{n})", HAS + NAME),
    question("wrapper of another header", "#if TOOLS_HAVE({q})"),
    question("wrapper of another header, given a macro", "#if TOOLS_HAVE(NAME{n})", NAME),
    question("question of another header", "#if TOOLS_ASK{n}", elsewhere="#define TOOLS_ASK{n} __has_include({q})\n"),
    question("question of another header, given a macro", "#if TOOLS_ASK{n}", NAME,
             elsewhere="#define TOOLS_ASK{n} __has_include(NAME{n})\n"),
    question("wrapper in #elif", "#if 0\n#elif 1 && (HAS{n} (NAME{n}))", HAS + NAME),
    question("wrapper in a macro", "#if ASK{n}", HAS + NAME + "#define ASK{n} HAS{n}(NAME{n})\n"),
    question("wrapper by another name", "#if ALSO{n}(NAME{n})", HAS + NAME + "#define ALSO{n} HAS{n}\n"),
    question("wrapper nested, given a macro", "#if OUTER{n}(NAME{n})", HAS + NAME + "#define OUTER{n}(x) HAS{n}(x)\n"),
    question("question of a macro in parentheses", "#if __has_include NAME{n}", "#define NAME{n} ({q})\n"),
    question("question in a call", "#if SAME{n}(__has_include({q}))", SAME),
    question("question in a call of a call", "#if SAME{n}((1 && SAME{n}(__has_include({q}))))", SAME),
    question("question of a macro in a call", "#if SAME{n}(__has_include(NAME{n}))", SAME + NAME),
    question("wrapper in a call", "#if SAME{n}(HAS{n}({q}))", SAME + HAS),
    question("question behind a call", "#if SAME{n}(1) && __has_include({q})", SAME),
    question("question behind one without an end", "#if DROP{n}(__has_include(<x)) || __has_include({q})", DROP),
    question("wrapper behind a question without an end", "#if DROP{n}(__has_include(<x)) || HAS{n}({q})", DROP + HAS),
    question("behind what is no splice", before="// a\\ \n"),
    question("behind a raw string that is split", before='__device__ const char* r{n} = R"x(\\\n)" /* )x";\n'),
]


@dataclasses.dataclass
class Ask(Place):
    """A place that can split the name."""

    def words(self):
        words = super().words()
        middle = len(words["q"]) // 2
        return {**words, "head": words["q"][:middle], "tail": words["q"][middle:]}
