"""The ways in which a program is compiled. Each asks for one program over one cache, and tells what came of it."""

import collections
import dataclasses
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import kiln_library
import kiln_tool

SIBLINGS = 2


@dataclasses.dataclass
class Way:
    name: str
    workers: str = "0"
    figures: collections.Counter = dataclasses.field(default_factory=collections.Counter)

    # How many graphs lie there before the first of them is asked for, and for how long: headers that were written a
    # moment ago are not known by their looks.
    graphs_at_once = 1
    settling_s = 0

    def begin(self, seed):
        """Before a graph: what chance decides here is decided by its seed."""

    def end(self, cache):
        """After the graph whose cache this is."""

    def fresh(self, program):
        return kiln_tool.compile_freshly(program)

    def settings(self, more=None):
        return {"KILN_COMPILE_WORKERS": self.workers, **(more or {})}

    def ask(self, program, cache, more=None):
        return kiln_tool.compile_program(program, cache, self.settings(more))


class Precompiled(Way):
    """In workers, behind programs of the same prelude, so that it is there precompiled."""

    def ask(self, program, cache, more=None):
        names = [f"{number}_{program.source}" for number in range(SIBLINGS)] + [program.source]
        manifest = program.folder / ".prewarm.json"
        manifest.write_text(json.dumps({"kiln_manifest": 1, "programs": [program.listed(name) for name in names]}))
        outcome = kiln_tool.run(["--cache", cache, "--json", "prewarm", manifest.name], program.folder,
                                self.settings(more))
        manifest.unlink()
        answer = kiln_tool.compile_program(program, cache, self.settings(more))
        told = kiln_tool.documents(outcome)
        items = [item for item in told if item.get("program") == program.source]
        self.figures["precompiled"] += sum(item.get("precompiled", 0) for item in told)
        if answer.hit and items:  # It is the prewarm that compiled it, or was served.
            answer.report["origin"] = items[0].get("origin", answer.report["origin"])
        answer.errors += outcome.stderr.decode(errors="replace")
        return answer


class Engine(Way):
    """One process that links the library, whose runtimes stay open while headers change, or are opened again."""

    graphs_at_once = 24
    settling_s = 2.1

    def __init__(self, name):
        super().__init__(name)
        self.library = None
        self.runtimes = {}
        self.random = random.Random(0)

    def begin(self, seed):
        self.library = self.library or kiln_library.load()
        self.random.seed(seed)

    def end(self, cache):
        if cache in self.runtimes:
            self.runtimes.pop(cache).close()

    def ask(self, program, cache, more=None):
        if self.random.random() < 0.25:
            self.end(cache)
        if cache not in self.runtimes:
            self.runtimes[cache] = kiln_library.Runtime(self.library, cache)
        answer = self.runtimes[cache].ask(program)
        self.figures["hits in memory"] += answer.report.get("origin") == "memory"
        return answer

    def fresh(self, program):
        runtime = kiln_library.Runtime(self.library, None)
        answer = runtime.ask(program)
        runtime.close()
        return answer


class NearLimit(Way):
    """A process that may open few files asks first. Whatever it leaves in the cache is then asked for without a
    limit: what a starved compile returned is its own affair, what it kept is everybody's."""

    def __init__(self, name, workers="0", at_most=24):
        super().__init__(name, workers)
        self.random = random.Random(0)
        self.at_most = at_most

    def begin(self, seed):
        self.random.seed(seed)

    def ask(self, program, cache, more=None):
        starved = kiln_tool.compile_program(program, cache, self.settings(more),
                                            descriptors=self.random.randint(4, self.at_most))
        answer = super().ask(program, cache, more)
        self.figures["kept near the limit"] += bool(starved.stored)
        if starved.died:
            answer.status = starved.status
            answer.errors += starved.errors
        return answer


def all_ways():
    ways = [Way("in_process"), Way("workers", "2"), Precompiled("precompiled", "1"), Engine("engine"),
            NearLimit("descriptors_in_process", "0"), NearLimit("descriptors_in_workers", "1")]
    return {way.name: way for way in ways}
