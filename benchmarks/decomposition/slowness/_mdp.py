"""MDP in an environment of its own, whose interpreter ``OCTAVO_MDP_PYTHON`` names."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

INTERPRETER = os.environ.get("OCTAVO_MDP_PYTHON", "")
WORKER = Path(__file__).with_name("_mdp_worker.py")
FOLDER = Path(tempfile.gettempdir())


@cache
def worker() -> Any:
    """Return the process, started once; imports are not part of any time."""
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
    source, target = FOLDER / f"mdp-{os.getpid()}.npy", FOLDER / f"mdp-{os.getpid()}-answer.npy"
    np.save(source, X)
    process = worker()
    process.stdin.write(f"{task} {source} {target}\n")
    process.stdin.flush()
    if process.stdout.readline().strip() != "done":
        raise RuntimeError("MDP has failed; its message is on the terminal.")
    return np.load(target)


def solvers(ours: dict[str, Any], mdp: dict[str, Any]) -> dict[str, Any]:
    """Return octavo's solvers and MDP's, which is absent where no interpreter is named."""
    return ours | mdp
