"""Checks what the project's documents say of its files, its variables and its words.

- A relative link leads to a file, and to a heading of it.
- A path in code quotes that begins at the top or beside the document is there.
- A variable KILN_... that a document names is somewhere in the code; one that the product reads, or that CMake offers, is
  in a document.
- No document and no source says what WORDS has a better word for.

Usage: documents.py SOURCE_DIR
"""

import pathlib
import re
import sys

TOPS = ("cache", "device", "runtime", "tests", "tools", ".github", ".ci")
CODE = {".h", ".hpp", ".cpp", ".c", ".cu", ".cuh", ".py", ".sh", ".cmake", ".txt", ".in", ".json", ".yml", ""}
PRODUCT = ("cache", "runtime", "device", "tools")
VARIABLE = re.compile(r"\bKILN_[A-Z0-9_]*[A-Z0-9]\b")
# What is not said, where, and what is said instead.
WORDS = [
    (r"\bflight", ("cache",), "turn: among processes; a flight is shared by threads. The file's name stays", r"\.flights"),
    (r"\b(un)?accountable\b", PRODUCT, "not stored, and why", None),
    (r"\brefuse(s|d)? (a|the|this|its) key", PRODUCT, "forget a key; refuse: give an error", None),
    (r"\b[Ee]rrand", PRODUCT, "compile control", None),
    (r"\bObtained\b", PRODUCT, "ServedArtifact", None),
    (r"\b(expected|repeated) beginnings?\b", PRODUCT, "prelude", None),
    (r"On\s?This\s?Machine\b", PRODUCT, "InstalledCompiler, InstalledTool", None),
]


def slug(heading):
    """A heading's anchor, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def headings(document):
    return {slug(line.lstrip("#")) for line in document.read_text().splitlines() if line.startswith("#")}


def tracked(root, suffixes):
    """Files of these kinds below the top folders and at the top."""
    files = [path for path in root.iterdir() if path.is_file()]
    for top in TOPS:
        files += [path for path in (root / top).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return [path for path in sorted(files) if path.suffix in suffixes]


def link_faults(root, document):
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (document.parent / path).resolve() if path else document
        if not file.exists():
            yield f"{document.relative_to(root)}: the link {target} leads nowhere"
        elif anchor and anchor not in headings(file):
            yield f"{document.relative_to(root)}: the link {target} leads to no heading of {file.name}"


def path_faults(root, document):
    for name in re.findall(r"`([^`\s]+/[^`\s]*)`", document.read_text()):
        name = name.rstrip("/")
        beside, first = document.parent, name.partition("/")[0]
        if not re.fullmatch(r"[\w.*\-][\w./*\-]*", name) or not ((root / first).is_dir() and first in TOPS
                                                         or (beside / first).is_dir()):
            continue
        if not any(list(folder.glob(each)) for folder in (root, beside) for each in (name, f"{name}.*")):
            yield f"{document.relative_to(root)}: `{name}` is not there"


def variable_faults(root, documents):
    said = {name: document for document in documents for name in VARIABLE.findall(document.read_text())}
    code = "\n".join(path.read_text(errors="replace") for path in tracked(root, CODE))
    known = set(VARIABLE.findall(code))
    for name, document in sorted(said.items()):
        if name not in known:
            yield f"{document.relative_to(root)}: {name} is in no code"
    read = set()
    for top in PRODUCT:
        for path in (root / top).rglob("*"):
            if path.suffix in {".h", ".cpp"}:
                read |= set(re.findall(r'"(KILN_[A-Z0-9_]+)"', path.read_text()))
    for path in [root / "CMakeLists.txt", *(root / "tools/cmake").glob("*.cmake")]:
        read |= set(re.findall(r"^\s*option\((KILN_\w+)", path.read_text(), re.MULTILINE))
    for name in sorted(read - set(said)):
        yield f"{name} is read, and no document names it"


def word_faults(root):
    for path in tracked(root, {".md", ".h", ".cpp"}):
        parts = path.relative_to(root).parts
        text = path.read_text()
        for pattern, tops, instead, but in WORDS:
            if parts[0] not in tops:
                continue
            for found in re.finditer(pattern, text):
                line = text[text.rfind("\n", 0, found.start()) + 1:text.find("\n", found.end())]
                if not (but and re.search(but, line)):
                    yield f"{path.relative_to(root)}: \"{line.strip()}\": say {instead}"


def format_faults(root):
    """Each tag of a record, and the number of each record's version, stands in the formats of cache/README.md."""
    lines = [line for line in (root / "cache/README.md").read_text().splitlines() if line.startswith("    ")]
    formats = " ".join(lines).replace(" ", "_")
    tags = re.findall(r"^  (\w+) = 0x[0-9a-f]{2},$", (root / "cache/record/fields.h").read_text(), re.MULTILINE)
    code = "\n".join(path.read_text() for path in (root / "cache").rglob("*.cpp"))
    versions = [f"{tag}={number}" for tag, number in re.findall(r"version\(Tag::(\w+), (\d+)\)", code)]
    for name in tags + versions:
        said = re.sub("^(kernel|stamp|failure)_(?!version)", "", name)
        if not re.search(rf"(?<![a-z]){said}(?![a-z0-9])", formats):
            yield f"cache/README.md: no format has {name}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    documents = tracked(root, {".md"})
    faults = [*variable_faults(root, documents), *word_faults(root), *format_faults(root)]
    for document in documents:
        faults += [*link_faults(root, document), *path_faults(root, document)]
    print(*faults, sep="\n")
    print(f"{len(documents)} documents checked, {len(faults)} faults")
    return 1 if faults or not documents else 0


if __name__ == "__main__":
    sys.exit(main())
