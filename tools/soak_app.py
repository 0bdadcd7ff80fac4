"""Use the page's server for long and watch its memory: ``python tools/soak_app.py``.

Sessions are real ones, over web sockets, to ``octavo app`` in a process of its own. Every reply
is compared with a session in this process that is given the same actions: its constraints, and
its map in single precision. Prints a line every thousand actions; `docs/reliability.md` holds the
numbers of a run.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from typing import Any

import numpy as np


def resident(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1)) / 1024  # type: ignore[union-attr]


def make_gesture(rng: np.random.Generator, n_rows: int, can_undo: bool) -> dict[str, Any]:
    """Return what a hand might do next."""
    i, j = (int(k) for k in rng.choice(n_rows, 2, replace=False))
    at = [float(v) for v in rng.normal(0, 0.3, 2).round(3)]
    kind = rng.choice(["pin", "link", "label", "undo", "clear"], p=[0.5, 0.2, 0.14, 0.1, 0.06])
    if kind == "undo" and not can_undo:
        kind = "pin"
    gestures: dict[str, dict[str, Any]] = {
        "pin": {"kind": "pin", "index": i, "x": at[0], "y": at[1]},
        "link": {"kind": "link", "indices": [i, j], "sign": int(rng.choice([1, -1]))},
        "label": {"kind": "label", "indices": [i], "name": "+1"},
        "undo": {"kind": "undo"},
        "clear": {"kind": "clear"},
    }
    return gestures[str(kind)]


class Tab:
    """One session of the page and its twin here."""

    def __init__(self, url: str, twin: Any) -> None:
        from bokeh.client import pull_session

        self.session = pull_session(url=url)
        (steered,) = (r for r in self.session.document.roots if r.name == "steered")
        self.gesture, self.answer = steered.tags
        self.twin, self.number = twin, 0

    def act(self, rng: np.random.Generator) -> None:
        """Do something, and compare the reply with the twin's."""
        gesture = make_gesture(rng, len(self.twin.table), self.twin.session.can_undo)
        expected = self.twin.handle(gesture)
        self.number += 1
        self.gesture.data = {"json": [json.dumps(gesture | {"number": self.number})]}
        told = self._reply()
        assert (told["ok"], told["action"]) == (expected.ok, expected.action), told
        assert told["state"]["constraints"] == self.twin.session.constraints
        if expected.ok and expected.moved:
            points = np.asarray(self.answer.data["points"][0]).reshape(2, -1).T
            np.testing.assert_allclose(points, self.twin.points, atol=1e-5)

    def _reply(self) -> dict[str, Any]:
        told: dict[str, Any] = {}

        def arrived() -> bool:
            told.update(json.loads((list(self.answer.data["json"]) or ["{}"])[0]))
            return told.get("number") == self.number

        # Bokeh's client drops what arrives while it waits for answers to its own questions.
        self.session._connection._loop_until(arrived)
        return told


def main() -> None:
    """Run the soak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--low-rank", type=int, default=30)
    options = parser.parse_args()
    from octavo.app.controller import MapController
    from octavo.app.map_sessions import start_session
    from octavo.app.map_tables import load_table

    table = load_table(None, None)
    first = start_session(table, low_rank=options.low_rank)
    command = [sys.executable, "-m", "octavo", "app", "--no-browser"]
    command += ["--low-rank", str(options.low_rank)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        tabs = [Tab(url, MapController(table, first.fork())) for _ in range(options.sessions)]
        rng, start = np.random.default_rng(0), time.monotonic()
        print(f"{'actions':>8} {'MB':>7} {'s':>6}")
        for k in range(options.actions + 1):
            if k % 1000 == 0:
                took = time.monotonic() - start
                print(f"{k:>8} {resident(server.pid):>7.0f} {took:>6.0f}", flush=True)
            tabs[k % len(tabs)].act(rng)
        print(f"{options.actions} replies of {len(tabs)} sessions were right")
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
