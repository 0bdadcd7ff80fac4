"""With the core dependencies alone every module imports and every figure of the report is drawn."""

import os
import subprocess
import sys
import tomllib

import pytest

from octavo.catalogue import papers
from octavo.reproduction import FIGURES
from tests.conformance.discovery import PACKAGE

ROOT = PACKAGE.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What an extra installs under another name than its own.
IMPORTED_AS = {
    "python-crfsuite": "pycrfsuite",
    "dask[distributed]": "dask",
    "cma": "cma",
    "POT": "ot",
    "PyMaxflow": "maxflow",
    "gco-wrapper": "gco",
}
BESIDES = ["distributed", "mpi4py", "IPython", "sphinx", "pytest"]


def names(requirements):
    plain = [r.split(">")[0].split("=")[0].split("<")[0].strip() for r in requirements]
    return {IMPORTED_AS.get(name, name).replace("-", "_") for name in plain}


BLOCKED = sorted(
    (set().union(*map(names, PROJECT["optional-dependencies"].values())) | set(BESIDES))
    - names(PROJECT["dependencies"])
)
BLOCK = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {BLOCKED!r}:
            raise ImportError(f"{{name}} is not a core dependency", name=name)
sys.meta_path.insert(0, Block())
"""


def run_without_extras(code):
    env = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BLOCK + code],
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_the_block_blocks():
    assert {"pandas", "dask", "bokeh", "torch", "cvxpy"} <= set(BLOCKED)
    with pytest.raises(AssertionError, match="not a core dependency"):
        run_without_extras("import pandas")


IMPORTS = """
import importlib
from octavo._lazy import modules_below
for name in modules_below("octavo"):
    if name == "octavo.__main__":
        continue
    try:
        importlib.import_module(name)
    except ImportError as error:
        assert error.name and error.name.split(".")[0] in {allowed!r}, (name, error)
        print(name)
"""
# Modules that are a bridge to one extra and nothing else.
BRIDGES = ("octavo.app.", "octavo.engine.distributed.")


def test_every_module_imports():
    failed = run_without_extras(IMPORTS.format(allowed=BLOCKED)).split()
    assert all(name.startswith(BRIDGES) for name in failed), failed


DRAW = """
import traceback
from octavo.catalogue import find_paper
from octavo.data import DatasetNotFoundError
for key in {keys!r}:
    for figure in find_paper(key).figures[{part}]:
        try:
            figure.draw()
        except DatasetNotFoundError:  # no data on this machine: the report says so in its place
            pass
        except Exception:
            print(key, traceback.format_exc(limit=-2))
"""
KEYS = [paper.key for paper in papers()]
PROCESSES = 6  # several papers in each: starting one takes longer than most figures


@pytest.mark.parametrize("first", range(PROCESSES))
def test_the_figures_of_the_demo_are_drawn(first):
    keys = KEYS[first::PROCESSES]
    assert not run_without_extras(DRAW.format(keys=keys, part=f":{FIGURES}"))


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_every_other_figure_is_drawn(key):
    assert not run_without_extras(DRAW.format(keys=[key], part=f"{FIGURES}:"))
