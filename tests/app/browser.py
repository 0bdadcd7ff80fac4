"""A page served by the command line and driven in a real browser."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def find_chromium():
    """Return a Chromium of this machine; None leaves the choice to Playwright."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def open_browser(playwright):
    path = find_chromium()
    if path is None and not Path(playwright.chromium.executable_path).exists():
        pytest.skip(
            "no Chromium on this machine: install one, or run `playwright install chromium`"
        )
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])


@contextlib.contextmanager
def time_limit(seconds, what):
    """Fail with a sentence when a block takes longer: nothing that waits may wait for ever."""

    def ring(signum, frame):
        raise AssertionError(f"{what} took longer than {seconds} s")

    if threading.current_thread() is not threading.main_thread():  # where no alarm can ring
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class Served:
    """`octavo app` in a process of its own.

    `command` is what starts octavo, `root` the checkout to work in; the page has to be there after
    `seconds`.
    """

    def __init__(self, *arguments, command=None, root=ROOT, seconds=180):
        command = command or [sys.executable, "-c", "from octavo.cli import main; main()"]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.complaints = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*command, "app", *arguments, "--no-browser"],
            stdout=subprocess.PIPE,
            stderr=self.complaints,  # a pipe that nobody empties would stop it when full
            text=True,
            cwd=root,
            env={**os.environ, **threads, "PYTHONPATH": str(root)},
        )
        timer = threading.Timer(seconds, self.process.kill)  # ends the line that is waited for
        timer.start()
        try:
            self.url = self.process.stdout.readline().strip()
        finally:
            timer.cancel()
        if not self.url.startswith("http://localhost:"):
            self.process.kill()
            self.process.wait(30)
            raise AssertionError(
                f"octavo app gave no address within {seconds} s, but {self.url!r}; {self.said()}"
            )

    def said(self):
        """Return what was written to standard error."""
        self.complaints.seek(0)
        return self.complaints.read()

    def interrupt(self):
        """Stop as Ctrl-C does; return the exit status and what was said."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate(timeout=30)
            raise AssertionError(f"Ctrl-C did not stop octavo app in 60 s; {self.said()}") from None
        return self.process.returncode, self.said()


class Tab:
    """A tab on the page."""

    def __init__(self, page, url):
        self.page, self.errors = page, []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)
        page.goto(url)
        page.wait_for_selector("body.ready")
        self.settle()

    def _hear(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.type}: {message.text}")

    def settle(self):
        """Wait until everything sent is answered and drawn."""
        self.page.wait_for_function("octavo.idle()")

    def pixel(self, x, y):
        """Return where on the page a place of the map is."""
        return self.page.evaluate(
            """([x, y]) => {
                const {frame, canvas_view} = octavo.view;
                const {left, top} = canvas_view.el.getBoundingClientRect();
                return [left + frame.x_scale.compute(x), top + frame.y_scale.compute(y)];
            }""",
            [x, y],
        )

    def where(self, i):
        """Return the pixel of a point."""
        return self.pixel(*self.points()[i].tolist())

    def room(self, i):
        """Return the pixels from a point to the nearest other."""
        return self.page.evaluate(
            """(i) => {
                const {x, y} = octavo.models.points.data;
                const {x_scale, y_scale} = octavo.view.frame;
                const px = Array.from(x, (v) => x_scale.compute(v));
                const py = Array.from(y, (v) => y_scale.compute(v));
                let least = Infinity;
                for (let j = 0; j < px.length; j++) {
                    const d = Math.hypot(px[j] - px[i], py[j] - py[i]);
                    if (j !== i && d < least) least = d;
                }
                return least;
            }""",
            i,
        )

    def loners(self, count):
        """Return points with no other near, so that a click means them."""
        found = [i for i in range(len(self.points())) if self.room(i) > 12]
        assert len(found) >= count
        return found[:count]

    def click(self, i):
        self.page.mouse.click(*self.where(i))

    def drag(self, i, dx, dy, steps=6):
        self.drag_from(self.where(i), dx, dy, steps)

    def drag_from(self, at, dx, dy, steps=6):
        x, y = at
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        for k in range(1, steps + 1):
            mouse.move(x + dx * k / steps, y + dy * k / steps)
        mouse.up()
        self.settle()

    def press(self, name):
        self.page.click(f"#{name}")
        self.settle()

    def points(self):
        x, y = self.page.evaluate(
            "(({x, y}) => [Array.from(x), Array.from(y)])(octavo.models.points.data)"
        )
        return np.column_stack([x, y])

    def constraints(self):
        return self.page.evaluate("octavo.state.constraints")

    def drawn(self, name):
        return self.page.evaluate("(name) => octavo.drawing[name]", name)

    def download(self, press, folder):
        with self.page.expect_download() as found:
            self.page.click(press)
        path = folder / found.value.suggested_filename
        found.value.save_as(path)
        self.settle()
        return path


def wait_until(page, expression, seconds=20):
    """Wait for an expression on a page that lets no script be made of a string."""
    for _ in range(10 * seconds):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"after {seconds} s not true: {expression}")
