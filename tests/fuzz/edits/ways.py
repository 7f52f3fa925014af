"""The ways in which a program is compiled. Each asks for one program over one cache, and tells what came of it."""

import dataclasses
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import kiln_tool

SIBLINGS = 2


@dataclasses.dataclass
class Way:
    name: str
    workers: str = "0"

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
        items = [item for item in kiln_tool.documents(outcome) if item.get("program") == program.source]
        if answer.hit and items:  # It is the prewarm that compiled it, or was served.
            answer.report["origin"] = items[0].get("origin", answer.report["origin"])
        answer.errors += outcome.stderr.decode(errors="replace")
        return answer


class NearLimit(Way):
    """A process that may open few files asks first. Whatever it leaves in the cache is then asked for without a
    limit: what a starved compile returned is its own affair, what it kept is everybody's."""

    def __init__(self, name, workers="0", seed=0, at_most=48):
        super().__init__(name, workers)
        self.random = random.Random(seed)
        self.at_most = at_most

    def ask(self, program, cache, more=None):
        starved = kiln_tool.compile_program(program, cache, self.settings(more),
                                            descriptors=self.random.randint(4, self.at_most))
        answer = super().ask(program, cache, more)
        if starved.died:
            answer.status = starved.status
            answer.errors += starved.errors
        return answer


def all_ways(seed=0):
    ways = [Way("in_process"), Way("workers", "2"), Precompiled("precompiled", "1"),
            NearLimit("descriptors_in_process", "0", seed), NearLimit("descriptors_in_workers", "1", seed)]
    return {way.name: way for way in ways}
