"""A headless Chromium that a test drives through its DevTools protocol, over two pipes: no network, no port."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium-headless-shell", "chromium", "google-chrome")
TIMEOUT_S = 60
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         "--no-first-run", "--disable-background-networking", "--disable-extensions", "--remote-debugging-pipe",
         "about:blank"]


def installed():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Failure(Exception):
    """Something that the browser refused or did not do in time."""


class Browser:
    """Its processes end with the `with` block."""

    def __init__(self):
        # Its last processes may still be writing into it when it goes.
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        # The browser reads from its descriptor 3 and writes to 4; neither end may be one of these before.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands, answers)]

        def take_ends():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen([installed(), f"--user-data-dir={self._profile.name}", *FLAGS],
                                         preexec_fn=take_ends, pass_fds=(3, 4), start_new_session=True,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (commands, answers, *ends):
            os.close(end)
        self._rest = b""
        self._last = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._profile.cleanup()

    def _read(self, until):
        """The next message."""
        while b"\0" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                raise Failure(f"the browser said nothing for {TIMEOUT_S} s")
            more = os.read(self._answers, 1 << 20)
            if not more:
                raise Failure("the browser ended")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        """What the method gives. Events that come meanwhile are kept."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + TIMEOUT_S
        while True:
            answer = self._read(until)
            if "id" not in answer:
                self.events.append(answer)
            elif answer["id"] == self._last:
                if "error" in answer:
                    raise Failure(f"{method}: {answer['error']['message']}")
                return answer["result"]


class Page:
    """A tab."""

    def __init__(self, browser, width=1400, height=1000, dark=False, scripts=True):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.emulate("screen", dark)
        if not scripts:
            self.call("Emulation.setScriptExecutionDisabled", value=True)

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def emulate(self, media, dark):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path):
        self._browser.events.clear()
        self.call("Page.navigate", url=f"file://{path}")
        # A load event may be that of the blank page before.
        until = time.monotonic() + TIMEOUT_S
        while self.run("document.readyState === 'complete' && decodeURI(document.URL)") != f"file://{path}":
            if time.monotonic() > until:
                raise Failure(f"{path} is not loaded after {TIMEOUT_S} s")
            time.sleep(0.02)

    def run(self, script):
        """The value of an expression, once it is there; what it throws is a Failure."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failure(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def _events(self, method):
        return [event["params"] for event in self._browser.events
                if event["method"] == method and event.get("sessionId") == self._session]

    def complaints(self):
        """All that the page said to its console, and all that the browser said of it."""
        return [json.dumps(each) for method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
                for each in self._events(method)]

    def requests(self):
        """What it loaded or tried to."""
        return [each["request"]["url"] for each in self._events("Network.requestWillBeSent")]

    def screenshot(self, file):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
