"""A page served by the command line and driven in a real browser."""

import os
import shutil
import signal
import subprocess
import sys
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


class Served:
    """`octavo app` in a process of its own.

    `command` is what starts octavo, `root` the checkout to work in.
    """

    def __init__(self, *arguments, command=None, root=ROOT):
        command = command or [sys.executable, "-c", "from octavo.cli import main; main()"]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [*command, "app", *arguments, "--no-browser"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, **threads, "PYTHONPATH": str(root)},
        )
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://localhost:"), self.process.stderr.read()

    def interrupt(self):
        """Stop as Ctrl-C does; return the exit status and what was said."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=30)
        return self.process.returncode, said


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
        return self.page.evaluate("(name) => ({...octavo.models.drawn[name].data})", name)

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
