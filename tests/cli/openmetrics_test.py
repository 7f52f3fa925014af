"""What `stats --openmetrics` writes is OpenMetrics 1.0, and each figure in it is the one that `stats --json` tells.

Usage: openmetrics_test.py KILN. Where promtool is at hand, it reads the file as well.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

KILN = sys.argv[1]
# Which member of the JSON each sample is.
SUMS = {
    "kiln_cache_entries": "entries",
    "kiln_cache_file_size_bytes": "file_bytes",
    "kiln_cache_max_size_bytes": "max_bytes",
    'kiln_cache_images_bytes{form="plain"}': "image_bytes",
    'kiln_cache_images_bytes{form="stored"}': "stored_bytes",
    "kiln_cache_texts": "texts",
    'kiln_cache_texts_bytes{form="plain"}': "text_bytes",
    'kiln_cache_texts_bytes{form="stored"}': "stored_text_bytes",
    "kiln_cache_dependency_sets": "dependency_sets",
    "kiln_cache_compile_seconds": "compile_ms",
}
HISTORY = {
    'kiln_cache_hits_total{layer="memory"}': "hits_memory",
    'kiln_cache_hits_total{layer="local"}': "hits_local",
    'kiln_cache_hits_total{layer="bundle"}': "hits_bundle",
    'kiln_cache_hits_total{layer="remote"}': "hits_remote",
    'kiln_cache_misses_total{reason="absent"}': "misses_absent",
    'kiln_cache_misses_total{reason="unfit"}': "misses_unfit",
    'kiln_cache_misses_total{reason="untrusted"}': "misses_untrusted",
    'kiln_cache_misses_total{reason="damaged"}': "misses_damaged",
    'kiln_cache_misses_total{reason="unreadable"}': "misses_unreadable",
    'kiln_cache_errors_total{kind="full"}': "errors_full",
    'kiln_cache_errors_total{kind="locked"}': "errors_locked",
    'kiln_cache_errors_total{kind="denied"}': "errors_denied",
    'kiln_cache_errors_total{kind="corrupt"}': "errors_corrupt",
    'kiln_cache_errors_total{kind="io"}': "errors_io",
    'kiln_cache_entries_lost_total{reason="evicted"}': "evictions",
    'kiln_cache_entries_lost_total{reason="damaged"}': "damaged_rows",
    'kiln_cache_entries_lost_total{reason="refused"}': "refused_images",
    'kiln_cache_entries_lost_total{reason="too_large"}': "too_large",
    "kiln_cache_stores_total": "stores",
    "kiln_cache_generations_total": "generations",
    "kiln_cache_reopened_total": "reopened",
    "kiln_cache_saved_seconds_total": "saved_ms",
}
REMOTE = {
    "kiln_remote_resting": "resting",
    "kiln_remote_round_trip_seconds": "round_trip_ms",
    "kiln_remote_waiting_entries": "waiting",
    "kiln_remote_requests_total": "asked",
    "kiln_remote_objects_total": "found",
    "kiln_remote_failures_total": "failures",
    "kiln_remote_late_answers_total": "slow",
    "kiln_remote_pushed_entries_total": "pushed",
    "kiln_remote_duplicate_entries_total": "duplicates",
    "kiln_remote_dropped_entries_total": "dropped",
    "kiln_remote_lease_waits_total": "lease_waits",
}
NAME = "[a-z][a-z0-9_]*"
# What node_exporter reads is Prometheus' older text format, which has no other types of these.
SUFFIX = {"counter": "_total", "gauge": ""}


def samples(text):
    """The samples by name and label, after a look at each line by the format's grammar."""
    found, family, kind, told, known = {}, None, None, [], set()
    assert text.endswith("\n# EOF\n"), "no end"
    for line in text.removesuffix("# EOF\n").splitlines():
        if match := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge)", line):
            family, kind = match.groups()
            assert family not in known, f"{family} comes twice"
            known.add(family)
            told = ["TYPE"]
        elif match := re.fullmatch(rf"# (UNIT|HELP) {family} (\S.*)", line):
            told.append(match[1])
            assert told in (["TYPE", "UNIT"], ["TYPE", "UNIT", "HELP"], ["TYPE", "HELP"]), line
            assert match[1] == "HELP" or family.endswith("_" + match[2]), f"{family} does not end in its unit"
        else:
            match = re.fullmatch(rf'({NAME})(\{{{NAME}="[^"\\\n]*"\}})? ([0-9.e+-]+)', line)
            assert match and match[1] == family + SUFFIX[kind], line
            assert told[-1] == "HELP", f"nobody says what {family} is"
            assert match[1] + (match[2] or "") not in found, line
            found[match[1] + (match[2] or "")] = float(match[3])
    return found


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


class OpenMetrics(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.cache = pathlib.Path(self.folder.name, "cache")

    def run_tool(self, *words, **settings):
        done = subprocess.run([KILN, "--cache", self.cache, *words], capture_output=True, text=True, cwd=self.folder.name,
                              env={**os.environ, **settings})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def compile(self, name, text, **settings):
        pathlib.Path(self.folder.name, name).write_text(text, encoding="utf-8")
        self.run_tool("compile", name, "--arch", "sm_80", "--name", "k", **settings)

    def both(self, **settings):
        """What is written, and what --json tells, times in seconds."""
        told = json.loads(self.run_tool("--json", "stats", **settings))
        self.assertEqual(told.pop("remotes"), [])
        history = told.pop("history")
        told["compile_ms"] /= 1000
        history["saved_ms"] /= 1000
        return samples(self.run_tool("stats", "--openmetrics", "-", **settings)), told, history

    def test_each_figure_of_the_history_is_its_own(self):
        self.compile("a.cu", 'extern "C" __global__ void k() {}')
        names = [name if name != "saved_ms" else "saved_us" for name in HISTORY.values()]
        with sqlite3.connect(self.cache / "kernels.v1.db") as database:
            for number, name in enumerate(names):
                database.execute("INSERT OR REPLACE INTO state(name, value) VALUES(?, ?)",
                                 (f"counter.{name}", 1000 + 7 * number))
        found, told, history = self.both()
        self.assertEqual(set(found), {*SUMS, *HISTORY, *(name for name in found if name.startswith("kiln_info"))})
        self.assertEqual(set(history) - {"hit_rate"}, set(HISTORY.values()))
        for sample, member in HISTORY.items():
            self.assertAlmostEqual(found[sample], history[member], msg=sample)
        self.assertEqual(len(set(history.values())), len(history), "no two are alike")

    def test_each_sum_moves(self):
        self.compile("a.cu", 'extern "C" __global__ void k() {}')
        before, told, _ = self.both()
        for sample, member in SUMS.items():
            self.assertAlmostEqual(before[sample], told[member], msg=sample)
        pathlib.Path(self.folder.name, "b.cuh").write_text("// " + "b" * 100_000 + "\n", encoding="utf-8")
        body = "".join(f"y[{number}] = x[{number}] * x[{number + 1}];" for number in range(2000))
        self.compile("b.cu", f'#include "b.cuh"\nextern "C" __global__ void k(float* x, float* y) {{ {body} }}')
        after, _, _ = self.both(KILN_CACHE_MAX_SIZE="77M")
        for sample in SUMS:
            self.assertNotEqual(before[sample], after[sample], sample)
        self.assertEqual(after["kiln_cache_max_size_bytes"], 77 << 20)

    def test_hits_and_misses_are_counted(self):
        for _ in range(3):
            self.compile("a.cu", 'extern "C" __global__ void k() {}')
        found, _, _ = self.both()
        self.assertEqual(found['kiln_cache_misses_total{reason="absent"}'], 1)
        self.assertEqual(found['kiln_cache_hits_total{layer="local"}'], 2)
        self.assertGreater(found["kiln_cache_saved_seconds_total"], 0)

    def test_a_file_is_replaced_whole(self):
        self.compile("a.cu", 'extern "C" __global__ void k() {}')
        file = pathlib.Path(self.folder.name, "kiln.prom")
        file.write_text("of an hour ago", encoding="utf-8")
        self.assertEqual(self.run_tool("stats", "--openmetrics", str(file)), "")
        self.assertIn("kiln_cache_entries", samples(file.read_text(encoding="utf-8")))
        self.assertEqual([path.name for path in file.parent.glob("kiln.prom*")], ["kiln.prom"])
        if promtool := shutil.which("promtool"):
            checked = subprocess.run([promtool, "check", "metrics"], stdin=file.open(), capture_output=True, text=True)
            self.assertNotIn("error", checked.stderr.lower())

    def test_a_bundle_has_no_history(self):
        self.compile("a.cu", 'extern "C" __global__ void k() {}')
        bundle = pathlib.Path(self.folder.name, "b.kiln")
        self.run_tool("export", str(bundle))
        self.cache = bundle
        found = samples(self.run_tool("stats", "--openmetrics", "-"))
        self.assertEqual(found["kiln_cache_entries"], 1)
        self.assertFalse(set(found) & {*HISTORY, "kiln_cache_max_size_bytes"})

    def remotes(self, stores, until=lambda remote: remote["waiting"] == 0):
        """What is told of each store, once it is so of the first; each figure as OpenMetrics has it."""
        told, found, names = [], {}, set()
        for _ in range(600):
            told = json.loads(self.run_tool("--json", "stats", KILN_REMOTE=stores))["remotes"]
            found = samples(self.run_tool("stats", "--openmetrics", "-", KILN_REMOTE=stores))
            again = json.loads(self.run_tool("--json", "stats", KILN_REMOTE=stores))["remotes"]
            names = {f'{sample}{{store="{remote["url"]}"}}' for remote in told for sample, member in REMOTE.items()
                     if remote[member] is not None}
            # Where the helper of a busy machine does not answer in time, there are none.
            is_whole = names == {name for name in found if name.startswith("kiln_remote")}
            if told == again and is_whole and until(told[0]):
                break
            time.sleep(0.1)
        else:
            self.fail(f"it stays at {told} and {found.keys() ^ names}")
        for remote in told:
            for sample, member in REMOTE.items():
                if remote[member] is not None:
                    value = remote[member] / 1000 if member == "round_trip_ms" else remote[member]
                    self.assertAlmostEqual(found[f'{sample}{{store="{remote["url"]}"}}'], value, msg=sample)
        return told

    def of_machine(self, name):
        self.cache = pathlib.Path(self.folder.name, name)

    def test_no_store_has_no_figures(self):
        self.compile("a.cu", 'extern "C" __global__ void k() {}')
        found, _, _ = self.both()
        self.assertFalse([name for name in found if name.startswith("kiln_remote")])

    def test_figures_of_a_store_move(self):
        store = f"file://{self.folder.name}/store"
        other = f"file://{self.folder.name}/other"
        kernel = 'extern "C" __global__ void k() {}'
        self.compile("a.cu", kernel)
        for remote in self.remotes(f"{store} {other}?read-only"):
            self.assertEqual({remote[member] for member in REMOTE.values()}, {0, None}, "nothing has happened yet")
        self.assertEqual(self.remotes(f"{store} {other}?read-only")[1]["read_only"], True)

        self.of_machine("first")
        self.compile("a.cu", kernel, KILN_REMOTE=store)
        first = self.remotes(store)[0]
        self.assertEqual((first["pushed"], first["found"], first["duplicates"]), (1, 0, 0))
        self.assertGreater(first["asked"], 0)
        self.assertGreater(first["round_trip_ms"], 0)
        self.of_machine("second")
        self.compile("a.cu", kernel, KILN_REMOTE=store)
        second = self.remotes(store)[0]
        self.assertEqual(second["pushed"], 1)
        self.assertGreater(second["found"], 0)
        # Its hints are lost, and what another machine compiles again is there.
        shutil.rmtree(f"{self.folder.name}/store/kiln-store.v1/requests")
        elsewhere = f"{store}?timeout=1999"
        self.of_machine("third")
        self.compile("a.cu", kernel, KILN_REMOTE=elsewhere)
        third = self.remotes(elsewhere)[0]
        self.assertEqual((third["pushed"], third["duplicates"]), (1, 1))
        self.assertEqual((third["failures"], third["dropped"], third["lease_waits"]), (0, 0, 0))

    def test_waits_for_other_machines_are_counted(self):
        # Whom a busy machine does not answer in time goes on alone, and so does who takes a busy holder for one that is gone. Both
        # are counted.
        for attempt in range(5):
            served, remote = self.wait_for_another(attempt)
            if served["origin"] == "remote":
                self.assertEqual(remote["lease_waits"], 1)
                return
            alone = remote["slow"] + remote["failures"] + remote["duplicates"]
            self.assertGreater(alone, 0, (served["origin"], remote))
        self.fail("it went on alone each time")

    def wait_for_another(self, attempt):
        """What a machine gets that asks while another one compiles the same, and what it counts."""
        store = f"file://{self.folder.name}/store{attempt}"
        body = "".join(f"y[{number}] += x[{number}] * x[y[{number}]];" for number in range(600))
        pathlib.Path(self.folder.name, "slow.cu").write_text(
            f'extern "C" __global__ void k(float* x, unsigned* y) {{ {body} }}', encoding="utf-8")
        words = ("compile", "slow.cu", "--arch", "sm_80", "--name", "k")
        self.of_machine(f"first{attempt}")
        with subprocess.Popen([KILN, "--cache", self.cache, *words], cwd=self.folder.name, stdout=subprocess.DEVNULL,
                              env={**os.environ, "KILN_REMOTE": store}) as first:
            leases = pathlib.Path(self.folder.name, f"store{attempt}/kiln-store.v1/leases")
            while not list(leases.rglob("*")) and first.poll() is None:
                time.sleep(0.01)
            elsewhere = f"{store}?timeout=1998"
            self.of_machine(f"second{attempt}")
            served = json.loads(self.run_tool("--json", *words, KILN_REMOTE=elsewhere))
        return served, self.remotes(elsewhere)[0]

    @unittest.skipUnless(shutil.which("redis-server"), "redis-server is not installed")
    def test_failures_are_counted(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        store = f"redis://127.0.0.1:{port}"
        with subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
                              cwd=self.folder.name, stdout=subprocess.DEVNULL) as server:
            self.addCleanup(server.kill)
            while not answers(port):
                time.sleep(0.01)
            self.compile("a.cu", 'extern "C" __global__ void k() {}', KILN_REMOTE=store)
            well = self.remotes(store)[0]
            self.assertEqual((well["pushed"], well["resting"], well["failures"], well["slow"], well["dropped"]),
                             (1, False, 0, 0, 0), well)
            server.send_signal(signal.SIGSTOP)
            self.compile("b.cu", 'extern "C" __global__ void k() { ; }', KILN_REMOTE=store)
            silent = self.remotes(store, lambda remote: remote["resting"] and remote["dropped"] == 1)[0]
            self.assertNotEqual(silent["reason"], None)
            server.send_signal(signal.SIGCONT)
            self.remotes(store, lambda remote: remote["slow"] > 0)
            server.kill()
        self.compile("c.cu", 'extern "C" __global__ void k() { ; ; }', KILN_REMOTE=store)
        self.remotes(store, lambda remote: remote["failures"] > 0)


unittest.main(argv=sys.argv[:1])
