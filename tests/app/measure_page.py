"""How long the page takes, by its own log: ``python -m tests.app.measure_page [ROWS]``.

Serves digits, repeated with noise up to the number of rows, drags two points and does every other
action, several times over, and prints the times from the gesture to the redrawn map. It needs a
machine with nothing else to do.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

from tests.app.browser import Served, Tab, open_browser

ROUND = [
    {"kind": "link", "indices": [3, 4], "sign": 1},
    {"kind": "link", "indices": [5, 6], "sign": -1},
    {"kind": "label", "indices": [8, 9, 10], "name": "a"},
    {"kind": "label", "indices": [11, 12], "name": "b"},
    {"kind": "strength", "name": "lambda_link", "value": 3},
    {"kind": "strength", "name": "lambda_label", "value": 2},
    {"kind": "undo"},
    {"kind": "redo"},
    {"kind": "colour", "column": "pixel 21"},
    {"kind": "colour", "column": "digit"},
    {"kind": "unlink", "indices": [3, 4]},
    {"kind": "unlabel", "indices": [8]},
    {"kind": "release", "indices": [7]},
    {"kind": "clear"},
]


def write_rows(n, path):
    digits = load_digits()
    rng = np.random.default_rng(0)
    chosen = np.arange(n) % len(digits.data)
    X = digits.data[chosen] / 16.0
    X[len(digits.data) :] += 0.05 * rng.standard_normal(X[len(digits.data) :].shape)
    names = ",".join(f"pixel {k}" for k in range(64))
    table = np.column_stack([X, digits.target[chosen]])
    np.savetxt(path, table, "%.3f", ",", header=f"{names},digit", comments="")


def measure(n, rounds=3):
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "digits.csv"
        write_rows(n, path)
        served = Served(str(path), "--label", "digit")
        try:
            browser = open_browser(playwright)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(60_000)
            tab = Tab(page, served.url)
            page.wait_for_timeout(1000)
            for _ in range(rounds):
                for i in (7, 100):
                    drag_slowly(tab, i)
                for gesture in ROUND:
                    page.evaluate("(gesture) => octavo.send(gesture)", gesture)
                    tab.settle()
                    page.wait_for_timeout(50)
            drawn = "octavo.log.filter((entry) => entry.drawn)"
            return page.evaluate(
                f"{drawn}.map(({{action, steps, solves}}) => ({{action, steps, solves}}))"
            )
        finally:
            served.process.kill()


def drag_slowly(tab, i):
    """Drag a point that may lie under others: by the gestures that a mouse would make."""
    x, y = tab.points()[i]
    tab.page.evaluate("octavo.drags = (octavo.drags || 0) + 1")
    for k in range(1, 16):
        tab.page.evaluate(
            """([index, x, y]) => octavo.send(
                {kind: 'pin', index, x, y, live: true, drag: octavo.drags})""",
            [i, x + 0.01 * k, y - 0.01 * k],
        )
        tab.page.wait_for_timeout(20)
    tab.settle()


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    times = {}
    for entry in measure(n):
        found = times.setdefault(entry["action"], ([], []))
        found[0].extend(entry["steps"])
        found[1].extend(entry["solves"])
    total = np.concatenate([steps for steps, _ in times.values()])
    print(f"{n} rows: milliseconds from the gesture to the redrawn map (of it in Python)")
    for action, (steps, solves) in times.items():
        print(
            f"{action:10s} n={len(steps):3d}  "
            f"median {np.median(steps):5.0f} ({np.median(solves):3.0f})  "
            f"slowest {max(steps):5.0f} ({max(solves):3.0f})"
        )
    print(f"all: median {np.median(total):.0f}, {np.mean(total <= 50):.0%} within 50 ms")


if __name__ == "__main__":
    main()
