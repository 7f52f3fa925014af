"""The page of `kiln report` in headless Chromium: it says nothing to the console, loads nothing, runs nothing but its
own, fits wide and narrow windows, can be read by day, by night and on paper, and is usable with 10,000 entries.

Usage: report_page_test.py FOLDER, which is made; pictures of the page are left there. The tool is that of
tests/support/kiln_tool.py. Status 77: Chromium is not installed.
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import chromium
import kiln_tool

FOLDER = pathlib.Path(sys.argv[1]).resolve()
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">&lt;b&gt;.cu"
SECTIONS = ["overview", "size", "time", "kernels", "history", "misses", "age", "entries"]
DATA = re.compile(r'(<script type="application/json" id="data">)(.*?)(</script>)', re.S)

SPILLING = """
template <int n> __global__ void __launch_bounds__(1024, 2) spilling(double* values, int step) {
  double own[n];
  for (int i = 0; i < n; ++i) own[i] = values[i * step];
  for (int k = 0; k < step; ++k)
    for (int i = 0; i < n; ++i) own[i] = own[i] * own[(i + 7) % n] + values[k];
  for (int i = 0; i < n; ++i) values[i * step] = own[i];
}
"""
PROGRAMS = [
    {"name": "spilling.cu", "source": SPILLING, "kernels": ["spilling<40>", "spilling<8>"]},
    {"name": "scale.cu", "source": "#include <outer.h>\ntemplate <class T> __global__ void scale(T* x) { *x *= BY; }",
     "kernels": ["scale<float>", "scale<double>"], "include_dirs": ["include"]},
    {"name": HOSTILE, "source": "template <char c> __global__ void hostile(char* x) { *x = c; }",
     "kernels": ["hostile<'<'>", "hostile<'\"'>"]},
]

# Gives each text that is hard to read: the contrast of its colour and what is behind it.
CONTRAST = """(() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parts(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const faults = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
    const [a, b] = [light(parts(getComputedStyle(element).color)), light(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faults.push(`${texts.currentNode.data}: ${contrast.toFixed(2)}`);
  }
  return faults;
})()"""

# Gives each element that ends beyond the window, unless it can be scrolled to.
OVERFLOW = """[...document.body.querySelectorAll('*')].filter(element =>
  element.checkVisibility() && !element.closest('.scroll') && element.getBoundingClientRect().right > innerWidth + 0.5)
  .map(element => element.outerHTML.slice(0, 200))"""


def tool(cache, *words):
    done = kiln_tool.run(["--cache", cache, *words], FOLDER)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def write_report(folder):
    """A page of a cache that holds, hit, missed and compiled again."""
    header = folder / "include/outer.h"
    header.parent.mkdir()
    header.write_text("#define BY 2\n", encoding="utf-8")
    manifest = folder / "engine.json"
    manifest.write_text(json.dumps({"kiln_manifest": 1, "targets": ["sm_80", "sm_90"], "programs": PROGRAMS}),
                        encoding="utf-8")
    cache = folder / "cache"
    tool(cache, "prewarm", manifest)
    header.write_text("#define BY 3\n", encoding="utf-8")
    for _ in range(3):
        tool(cache, "prewarm", manifest, "--arch", "sm_80")
    page = FOLDER / "report.html"
    tool(cache, "report", "-o", page)
    tool(cache, "report", "-o", FOLDER / "listed.html", "--manifest", manifest)
    return page


def multiplied(page, times):
    """The same page as if each entry were so many, each of a program of its own."""
    def multiply(found):
        data = json.loads(found[2])
        entries = len(data["entries"]["key"])
        for table in ("entries", "kernels"):
            data[table] = {name: values * times for name, values in data[table].items()}
        data["entries"]["key"] = [f"{number:032x}" for number in range(entries * times)]
        for number, program in enumerate(data["entries"]["program"]):
            data["entries"]["program"][number] = len(data["names"])
            data["names"].append(f"{data['names'][program]} {number}")
            data["entries"]["bytes"][number] += number * number // 500
        rows = len(data["kernels"]["entry"]) // times
        data["kernels"]["entry"] = [entry + number // rows * entries
                                    for number, entry in enumerate(data["kernels"]["entry"])]
        today = data["days"][0]
        data["days"] = [{**today, "day": today["day"] - day, "hits": day} for day in range(365, -1, -1)]
        return found[1] + json.dumps(data).replace("<", "\\u003c") + found[3]
    large = FOLDER / "large.html"
    large.write_text(DATA.sub(multiply, page.read_text(encoding="utf-8")), encoding="utf-8")
    return large


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        cls.scratch = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.page = write_report(cls.scratch)
        cls.browser = cls.enterClassContext(chromium.Browser())

    def open(self, file=None, **circumstances):
        page = chromium.Page(self.browser, **circumstances)
        page.open(file or self.page)
        if circumstances.get("scripts", True):
            # The map is drawn when its size is known, which is with the first frame.
            page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        return page

    def check_quiet(self, page):
        self.assertEqual(page.complaints(), [])
        self.assertEqual([url for url in page.requests() if url != "about:blank"], [page.run("location.href")])

    def test_its_policy_has_the_digests_of_its_own_parts(self):
        text = self.page.read_text(encoding="utf-8")
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        for tag in ("script", "style"):
            own = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)
            self.assertEqual(len(own), 1)
            digest = base64.b64encode(hashlib.sha256(own[0].encode()).digest()).decode()
            self.assertIn(f"{tag}-src 'sha256-{digest}'", policy)

    def test_fits_each_window_by_day_and_by_night(self):
        for width in (360, 800, 1400):
            for dark in (False, True):
                for file in (self.page, FOLDER / "listed.html"):
                    with self.subTest(width=width, dark=dark, file=file.name):
                        page = self.open(file, width=width, dark=dark)
                        self.check_quiet(page)
                        self.assertLessEqual(page.run("document.documentElement.scrollWidth"), width)
                        self.assertEqual(page.run(OVERFLOW), [])
                        self.assertEqual(page.run(CONTRAST), [])
                        page.screenshot(FOLDER / f"{file.stem}-{width}-{'dark' if dark else 'light'}.png")

    def test_night_is_dark_and_paper_is_not(self):
        background = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        page = self.open(dark=True)
        self.assertLess(max(page.run(background)), 64)
        page.emulate("print", True)
        self.assertEqual(page.run(background), [255, 255, 255])
        self.assertEqual(page.run(CONTRAST), [])
        self.assertFalse(page.run("document.querySelector('nav').checkVisibility()"))
        self.assertGreater(min(self.open(dark=False).run(background)), 192)

    def test_sections_follow_each_other_and_show_something(self):
        for width in (360, 1400):
            page = self.open(width=width)
            boxes = page.run(f"""{json.dumps(SECTIONS)}.map(id => {{
              const {{ top, bottom, left, right }} = document.getElementById(id).getBoundingClientRect();
              return {{ id, top, bottom, left, right }};
            }})""")
            for above, below in zip(boxes, boxes[1:]):
                self.assertLessEqual(above["bottom"], below["top"], below["id"])
                self.assertEqual((above["left"], above["right"]), (below["left"], below["right"]))
            for box in boxes:
                self.assertGreater(box["bottom"] - box["top"], 60, box["id"])

    def test_names_stay_text(self):
        for file in (self.page, FOLDER / "listed.html"):
            page = self.open(file)
            page.run("for (const button of document.querySelectorAll('th button')) button.click()")
            page.run("document.querySelector('.choice input[value=arch]').click()")
            self.check_quiet(page)
            self.assertEqual(page.run("document.querySelectorAll('img, b').length"), 0)
            self.assertEqual(page.run("document.scripts.length"), 2)
            self.assertTrue(page.run("document.title").startswith("kiln report: "))
            self.assertIn(HOSTILE, page.run("document.querySelector('#entries').textContent"))
            self.assertIn("hostile<'\"'>", page.run("document.querySelector('#kernels').textContent"))

    def test_runs_and_loads_nothing_else(self):
        page = self.open()
        page.run("""(() => {
          const script = document.createElement('script');
          script.textContent = 'window.owned = true';
          const image = document.createElement('img');
          image.src = 'file:///dev/null';
          const styled = document.createElement('p');
          styled.setAttribute('style', 'color: red');
          document.body.append(script, image, styled);
          document.body.insertAdjacentHTML('beforeend', '<i id="clicked" onclick="window.owned = true">x</i>');
          document.getElementById('clicked').click();
        })()""")
        self.assertIsNone(page.run("window.owned"))
        refused = page.run("new Promise(done => setTimeout(done, 100))") or page.complaints()
        self.assertEqual(len(refused), 4, refused)
        for complaint in refused:
            self.assertIn("Content Security Policy", complaint)

    def test_the_map_divides_its_room_by_size(self):
        page = self.open()
        for outer in ("program", "arch"):
            page.run(f"document.querySelector('.choice input[value={outer}]').click()")
            told = page.run("""(() => {
              const map = document.querySelector('.treemap').getBoundingClientRect();
              const groups = [...document.querySelectorAll('.treemap .group')].map(group => {
                const { left, top, right, bottom, width, height } = group.getBoundingClientRect();
                const inside = left >= map.left - 1 && top >= map.top - 1 && right <= map.right + 1 &&
                  bottom <= map.bottom + 1;
                return { area: width * height, inside };
              });
              return { area: map.width * map.height, groups };
            })()""")
            sizes = page.run(f"""[...new Set(entries.map(each => each.{outer}))]
              .map(name => sum(entries.filter(each => each.{outer} === name), each => each.bytes))""")
            shares = sorted(group["area"] / told["area"] for group in told["groups"])
            self.assertEqual(len(shares), len(sizes))
            for share, size in zip(shares, sorted(sizes)):
                self.assertAlmostEqual(share, size / sum(sizes), delta=0.01)
            self.assertTrue(all(group["inside"] for group in told["groups"]))

    def test_a_click_on_the_map_finds_the_entries(self):
        page = self.open()
        page.run("document.querySelector('.treemap .cell').click()")
        words = page.run("document.querySelector('#entries input').value").split()
        rows = page.run("[...document.querySelectorAll('#entries tbody tr')].map(row => row.textContent)")
        self.assertEqual(len(words), 2)
        self.assertTrue(0 < len(rows) < page.run("entries.length"))
        for row in rows:
            self.assertTrue(all(word in row for word in words), row)

    def test_the_map_tells_what_the_pointer_is_on(self):
        page = self.open()
        x, y = page.run("""(() => {
          const { left, top, width, height } = document.querySelector('.treemap .cell').getBoundingClientRect();
          return [left + width / 2, top + height / 2];
        })()""")
        tip = "(tip => tip.hidden ? null : tip.textContent)(document.getElementById('tip'))"
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.assertRegex(page.run(tip), r"^spilling\.cu, sm_[89]0\n.* KiB, 1 entry$")
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
        self.assertIsNone(page.run(tip))

    def test_tables_sort_and_filter(self):
        page = self.open()
        column = """[...document.querySelectorAll('#kernels tbody td:nth-child(3)')]
          .map(cell => parseInt(cell.textContent))"""
        button = "document.querySelector('#kernels th:nth-child(3) button').click()"
        page.run(button)
        falling = page.run(column)
        self.assertEqual(falling, sorted(falling, reverse=True))
        self.assertEqual(page.run("document.querySelector('#kernels th:nth-child(3)').ariaSort"), "descending")
        page.run(button)
        self.assertEqual(page.run(column), sorted(falling))
        page.run("""(() => {
          const filter = document.querySelector('#kernels input');
          filter.value = ' SPILLING<40>  sm_';
          filter.dispatchEvent(new Event('input'));
        })()""")
        self.assertEqual(page.run("document.querySelectorAll('#kernels tbody tr').length"), 2)
        self.assertEqual(page.run("document.querySelector('#kernels .status').textContent"), "2 kernels")

    def test_tells_what_the_cache_did(self):
        page = self.open()
        text = page.run("document.querySelector('#misses').innerText")
        self.assertIn("What was stored did not fit", text)
        self.assertIn("outer.h has changed", text)
        self.assertIn("kiln report --manifest", page.run("document.querySelector('#time').innerText"))
        listed = self.open(FOLDER / "listed.html")
        self.assertIn("5 of 6 would be served", listed.run("document.querySelector('#misses').innerText"))
        self.assertIn("outer.h", listed.run("document.querySelector('#time').innerText"))

    def test_prints(self):
        pdf = self.open(dark=True).pdf()
        self.assertTrue(pdf.startswith(b"%PDF-"))
        (FOLDER / "report.pdf").write_bytes(pdf)
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        self.assertTrue(1 < pages < 10, pages)

    def test_ten_thousand_entries_are_usable(self):
        times = 1500
        large = multiplied(self.page, times)
        page = self.open(large, width=360)
        self.check_quiet(page)
        self.assertEqual(page.run("entries.length"), 7 * times)
        self.assertLess(page.run("document.querySelectorAll('*').length"), 5000)
        self.assertEqual(page.run(OVERFLOW), [])
        page.run("""(() => {
          const filter = document.querySelector('#entries input');
          filter.value = (1234).toString(16).padStart(32, '0');
          filter.dispatchEvent(new Event('input'));
        })()""")
        self.assertEqual(page.run("document.querySelector('#entries .status').textContent"), "1 entry")
        self.assertLess(page.run("document.querySelectorAll('.treemap div').length"), 500)
        self.assertGreater(page.run("document.querySelectorAll('.treemap .cell').length"), 1)
        page.run("document.querySelector('#kernels .plain').click()")
        self.assertEqual(page.run("document.querySelectorAll('#kernels tbody tr').length"), 120)
        page.screenshot(FOLDER / "large-360-light.png")
        self.open(large).screenshot(FOLDER / "large-1400-light.png")

    def test_says_that_it_needs_its_script(self):
        page = self.open(scripts=False)
        page.screenshot(FOLDER / "without-scripts.png")
        shown = page.call("DOM.getDocument", depth=-1)
        self.assertIn("scripts are switched off", json.dumps(shown))

    def test_empty_caches_and_bundles_are_pages_too(self):
        cache = self.scratch / "cache"
        bundle = self.scratch / "engine.kiln"
        tool(cache, "export", bundle)
        tool(bundle, "report", "-o", FOLDER / "bundle.html")
        empty = self.scratch / "empty"
        shutil.copytree(cache, empty)
        tool(empty, "clear", "--yes")
        tool(empty, "stats", "--reset")
        tool(empty, "report", "-o", FOLDER / "empty.html")
        for name, text in (("bundle", "A bundle keeps no history"), ("empty", "Nothing is kept yet")):
            for width in (360, 1400):
                page = self.open(FOLDER / f"{name}.html", width=width)
                self.check_quiet(page)
                self.assertEqual(page.run(OVERFLOW), [])
                self.assertIn(text, page.run("document.body.innerText"))
                page.screenshot(FOLDER / f"{name}-{width}-light.png")


if chromium.installed() is None:
    kiln_tool.skip("Chromium is not installed")
kiln_tool.compiler()
unittest.main(argv=sys.argv[:1])
