"""MDP in an environment of its own, whose interpreter ``OCTAVO_MDP_PYTHON`` names."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import ELSEWHERE

INTERPRETER = os.environ.get("OCTAVO_MDP_PYTHON", "")
WORKER = Path(__file__).with_name("_mdp_worker.py")
FOLDER = Path(tempfile.gettempdir())
PROCESSOR = [0.0]  # seconds that the process has taken
KEPT: dict[int, tuple[np.ndarray, Path]] = {}  # series that it has read


@cache
def worker() -> Any:
    """Return the process, started once; imports are not part of any time."""
    ELSEWHERE.append(lambda: PROCESSOR[0])
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.Popen(
        [INTERPRETER, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean,
    )


def with_mdp(task: str, X: np.ndarray) -> np.ndarray:
    """Return what MDP makes of a series."""
    if not INTERPRETER:
        raise ImportError("OCTAVO_MDP_PYTHON names no interpreter that has MDP.")
    if id(X) not in KEPT:  # written before the clock starts, in the run that warms up
        path = FOLDER / f"mdp-{os.getpid()}-{len(KEPT)}.npy"
        np.save(path, X)
        KEPT[id(X)] = X, path
    target = FOLDER / f"mdp-{os.getpid()}-answer.npy"
    process = worker()
    process.stdin.write(f"{task} {KEPT[id(X)][1]} {target}\n")
    process.stdin.flush()
    try:
        PROCESSOR[0] = float(process.stdout.readline())
    except ValueError:
        raise RuntimeError("MDP has failed; its message is on the terminal.") from None
    return np.load(target)


def solvers(ours: dict[str, Any], mdp: dict[str, Any]) -> dict[str, Any]:
    """Return octavo's solvers and MDP's, which is absent where no interpreter is named."""
    return ours | mdp
