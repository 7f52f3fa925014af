"""All that each verb prints with --json is what the schema says, and the schema says nothing else.

Usage: json_schema_test.py KILN SCHEMA README, where README lists the members for people.
Status 77: the Python package jsonschema is not installed.
"""

import functools
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import tool_words

try:
    import jsonschema
except ImportError:
    print("skipped: the Python package jsonschema (Debian's python3-jsonschema) is not installed")
    sys.exit(77)

KILN, SCHEMA, README = sys.argv[1:]
DEFINITIONS = json.loads(pathlib.Path(SCHEMA).read_text(encoding="utf-8"))["$defs"]
# What any verb may print in the place of its own documents.
FAILURE = "error"

KERNEL = """
#if __has_include("absent.cuh")
#error "nobody has it"
#endif
#include "by.cuh"
extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= BY; }
#ifdef MORE
extern "C" __global__ void fill(float* x) { x[threadIdx.x] = BY; }
#else
extern "C" __global__ void clear(float* x) { __shared__ float y[32]; x[threadIdx.x] = y[threadIdx.x] = 0; }
#endif
"""
TIMED = 'extern "C" __global__ void scale(char* x) { *x = __TIME__[0]; }'
MANIFEST = {"kiln_manifest": 1, "targets": ["sm_80"], "programs": [
    {"name": "a.cu", "source": 'extern "C" __global__ void a() {}', "kernels": ["a"]},
    {"name": "b.cu", "source": "#include <none.h>", "kernels": ["b"]}]}
STAND_IN = "#!/bin/sh\necho '//--------------------- .text.scale  ----'\n"


def definition(name):
    """A verb's, without the detour by that of another verb."""
    found = DEFINITIONS[name]
    return definition(found["$ref"].rpartition("/")[2]) if "$ref" in found else found


def kinds(name):
    """The kinds of documents that a verb prints."""
    return definition(name).get("oneOf", [definition(name)])


@functools.cache
def validator(name, kind):
    return jsonschema.Draft202012Validator({"$defs": DEFINITIONS, **kinds(name)[kind]})


def kinds_of(name, document):
    return [kind for kind in range(len(kinds(name))) if validator(name, kind).is_valid(document)]


def verbs_of_schema():
    schema = json.loads(pathlib.Path(SCHEMA).read_text(encoding="utf-8"))
    return [each["$ref"].rpartition("/")[2] for each in schema["anyOf"]]


class Tool:
    """Runs the tool in a folder of its own, and keeps every document by the verb that printed it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.documents = []
        self.environment = {name: value for name, value in os.environ.items()
                            if name == "KILN_NVRTC" or not name.startswith("KILN_")}
        self.environment.update(HOME=folder, XDG_CONFIG_HOME=f"{folder}/config", KILN_CACHE_DIR=f"{folder}/cache",
                                KILN_NVDISASM=str(self.write("nvdisasm", STAND_IN, 0o755)))

    def write(self, name, text, mode=0o644):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path

    def run(self, *words, status=0, **settings):
        """The documents of one command line; `words` begin with the verb."""
        done = subprocess.run([KILN, "--json", *words], cwd=self.folder, env={**self.environment, **settings},
                              capture_output=True, text=True, check=False)
        if done.returncode != status:
            raise AssertionError(f"{words}: status {done.returncode}, not {status}: {done.stderr}")
        documents = [json.loads(line) for line in done.stdout.splitlines()]
        self.documents += [(words, document) for document in documents]
        return documents

    def damage(self, cache):
        with sqlite3.connect(self.folder / cache / "kernels.v1.db") as database:
            database.execute("UPDATE entries SET payload = x'00' WHERE id = 1")
        database.close()


def use(tool):
    """Every verb, in every way that changes what it prints."""
    tool.write("by.cuh", "#define BY 2.0f\n")
    tool.write("k.cu", KERNEL)
    tool.write("timed.cu", TIMED)
    tool.write("manifest.json", json.dumps(MANIFEST))
    tool.write("k.json", json.dumps({"kiln_manifest": 1, "targets": ["sm_80"],
                                     "programs": [{"name": "k.cu", "source_file": "k.cu", "kernels": ["scale"]}]}))
    one = ("k.cu", "--arch", "sm_80")
    make(tool, one)
    look(tool, one)
    carry(tool)
    care(tool)
    tool.run("doctor", KILN_BUNDLES=f"{tool.folder}/all.kiln", KILN_LGO="info")
    tool.run("doctor", status=1, KILN_NVRTC="/nonexistent", KILN_CACHE_DIR=f"{tool.folder}/k.cu")
    tool.run("frobnicate", status=2)
    tool.run("ls", "--cache", "nowhere", status=1)


def make(tool, one):
    for image in ("cubin", "cubin", "ptx", "ltoir"):
        made = tool.run("compile", *one, "--name", "scale", "--image", image)
    tool.run("link", made[0]["key"][:12], "--arch", "sm_80")
    tool.run("compile", "timed.cu", "--arch", "sm_80,sm_90")
    tool.run("compile", *one, "-DMORE", "--name", "fill", "--cache", "other")
    tool.run("compile", *one, "--name", "clear", "--cache", "own")
    tool.run("compile", *one, "--name", "none", status=3)
    tool.run("prewarm", "manifest.json", status=3)
    tool.run("trace", *one)


def look(tool, one):
    tool.run("explain", *one, "--name", "scale")
    tool.run("explain", *one, "-DMORE", status=1)
    tool.run("explain", "timed.cu", "--arch", "sm_80", status=1)
    key = tool.run("ls", "--image", "cubin", "--program", "k.cu")[0]["key"]
    tool.run("kernels")
    tool.run("diff", "own", "other", "--allow", "size=9999999")
    tool.run("show", key)
    tool.run("show", "*", status=1)
    tool.run("extract", key, "--names")
    tool.run("extract", key, "--sources", "sources")
    tool.run("disasm", key, "scale")
    tool.run("disasm", key, "--ptx")
    tool.run("report", "-o", "report.html")
    tool.run("compile-commands", "--manifest", "k.json", "--sources", "texts", "-o", "compile_commands.json")


def carry(tool):
    tool.run("export", "all.kiln")
    secret = tool.run("key", "generate", "farm-1")[0]["secret_file"]
    public = tool.run("key", "show", "farm-1.pub")[0]["public_key"]
    tool.run("export", "signed.kiln", "--sign", KILN_SIGNING_KEY=secret)
    tool.run("key", "show", KILN_SIGNING_KEY=secret, KILN_TRUSTED_KEYS=public)
    tool.run("verify", "--signatures", status=1, KILN_TRUSTED_KEYS=public)
    tool.run("verify", "--signatures", "--cache", "signed.kiln", KILN_TRUSTED_KEYS=public)
    tool.run("import", "all.kiln", "own", "--cache", "third")
    tool.run("merge", "all.kiln", "other", "-o", "merged.kiln")
    store = f"file://{tool.folder}/store"
    tool.run("push", "--to", store, "--sign", KILN_SIGNING_KEY=secret)
    tool.run("pull", "--from", store, "k.json", "--cache", "pulled", KILN_TRUSTED_KEYS=public)
    tool.run("ls", "--store", store)
    tool.run("gc", "--store", store, "--older-than", "30d")
    for place in (store, "redis://127.0.0.1:1", f"{store} redis://127.0.0.1:1"):
        tool.run("doctor", KILN_REMOTE=place)
        tool.run("stats", KILN_REMOTE=place)
        tool.run("explain", "k.cu", "--arch", "sm_90", "--name", "scale", status=1, KILN_REMOTE=place)
    tool.run("stats", KILN_REMOTE=store, KILN_REMOTE_HELPER="/nonexistent")
    tool.run("prewarm", "k.json", "--cache", "fleet", KILN_REMOTE=store)
    tool.run("kernels", "--cache", "all.kiln")
    tool.run("stats", "--cache", "all.kiln")
    tool.damage("other")
    tool.run("export", "damaged.kiln", "--cache", "other", status=1)
    tool.run("push", "--to", store, "--cache", "other", status=1)
    tool.run("verify", "--cache", "other", status=1)


def care(tool):
    key = tool.run("ls")[0]["key"]
    tool.run("stats")
    tool.run("verify", "--deep")
    tool.run("pin", key)
    tool.run("unpin", key, "0" * 32, status=1)
    tool.run("gc", "--max-size", "1K", "--dry-run")
    tool.run("stats", "--reset")
    tool.run("clear", "--yes")
    tool.run("config")
    tool.run("config", "set", "KILN_LOG", "info")
    tool.run("config", "get", "KILN_LOG")
    tool.run("config", "unset", "KILN_LOG")


def objects(schema):
    """All descriptions of objects in a schema."""
    if isinstance(schema, list):
        for each in schema:
            yield from objects(each)
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for each in schema.values():
            yield from objects(each)


class JsonSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        tool = Tool(cls.scratch.name)
        use(tool)
        cls.documents = tool.documents

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_describes_all_that_is_printed(self):
        for words, document in self.documents:
            name = FAILURE if "error" in document and "event" not in document else words[0]
            self.assertIn(name, DEFINITIONS, words)
            if len(kinds_of(name, document)) == 1:
                continue
            faults = [fault.message for kind in range(len(kinds(name)))
                      for fault in validator(name, kind).iter_errors(document)]
            self.fail(f"kiln --json {' '.join(words)}: {json.dumps(document)[:2000]}: {faults}")

    def test_describes_each_verb_and_no_other(self):
        self.assertEqual(sorted(verbs_of_schema()), sorted([*tool_words.verbs(KILN), FAILURE]))

    def test_describes_nothing_that_is_not_printed(self):
        printed = {(words[0], kind) for words, document in self.documents if words[0] in DEFINITIONS
                   for kind in kinds_of(words[0], document)}
        described = {(verb, kind) for verb in verbs_of_schema() if verb != FAILURE for kind in range(len(kinds(verb)))}
        self.assertEqual(described - printed, set())

    def test_is_strict(self):
        jsonschema.Draft202012Validator.check_schema({"$defs": DEFINITIONS})
        for each in objects(DEFINITIONS):
            self.assertIs(each.get("additionalProperties"), False, each)
            self.assertEqual(list(each["properties"]), each["required"])
        words, document = next(each for each in self.documents if each[0][0] == "ls")
        self.assertEqual(kinds_of(words[0], {**document, "surplus": 1}), [])
        self.assertEqual(kinds_of(words[0], {**document, "schema": 2}), [])

    def test_has_no_member_that_the_readme_lacks(self):
        text = pathlib.Path(README).read_text(encoding="utf-8")
        told = set(re.findall(r"\w+", re.search(r"^### `--json`\n(.*?)(?=^#|\Z)", text, re.M | re.S)[1]))
        history = kinds("stats")[0]["properties"]["history"]
        members = {name for each in objects(DEFINITIONS) if each is not history for name in each["properties"]}
        self.assertEqual(members - told, set())


unittest.main(argv=sys.argv[:1])
