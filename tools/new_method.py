"""Write the files of a new method, with a mark wherever something is still to be written.

``python tools/new_method.py NAME --room ROOM --family FAMILY`` makes the paper's module with the
record, the family with an estimator, its test, benchmark, docs page, plot and example.
``tests/conformance/test_unwritten.py`` then fails and lists the marks, one line each, until the
last of them is gone. Nothing that exists is overwritten.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = "TO " + "BE WRITTEN"  # in two parts, so that this file has none itself

RECORD = '''"""{mark}: authors (year): what the paper is about."""

from __future__ import annotations

from octavo import {room}, plot
from octavo.catalogue import Method, Paper
from octavo.claims import Run, holds, stated

PAPER = Paper(
    key="{key}",
    title="{mark}: the title",
    authors="{mark}: the authors",
    year=2000,
    venue="{mark}: the journal",
    headlines=("first-claim",),
    methods=(
        Method(
            name="{name}",
            room="{room}",
            family="{family}",
            task="{mark}: what the user wants done, in a few words",
            summary="{mark}: what it does, in one sentence.",
            use_when="{mark}: when it is the right choice.",
            avoid_when="{mark}: when not.",
            instead="{mark}: what scikit-learn offers.",
            peers=("{mark}: the package that a user would pick instead",),
            plots=("plot_{family}",),
        ),
    ),
)


@PAPER.claim("{mark}: what the paper says")
@stated("{mark}: the figure", "{mark}: where")
@holds(because="{mark}: why the tolerance is what it is")
def first_claim(run: Run) -> float:
    model = {room}.{name}().fit([[0.0], [1.0]])
    return float(model.n_features_in_ == 1)


@PAPER.figure("{mark}: the caption")
def first_figure():
    return plot.plot_{family}({room}.{name}().fit([[0.0], [1.0]])).figure
'''

MODULE = '''"""{mark}: what the method does for a user, in two sentences.

Reference: {mark}: authors (year), title, sections.
"""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from octavo.engine.estimators.sklearn_door import fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["{name}"]

# {mark}: array functions, in the order in which data meet them, equation numbers beside the lines.


class {name}(SoundEstimator):
    """{mark}: one sentence.

    {mark}: when not to use it, and what scikit-learn offers instead.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.

    References
    ----------
    .. [1] {mark}: the paper.

    Examples
    --------
    >>> from octavo.{room} import {name}
    >>> {name}().fit([[0.0], [1.0]]).n_features_in_
    1
    """

    _parameter_constraints: dict[str, Any] = {{}}

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : None
            Ignored.

        Returns
        -------
        self : object
            The fitted model.
        """
        validate_data(self, X)
        return self
'''

PLOT = '''"""{mark}: what the pictures show."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

__all__ = ["plot_{family}"]


def plot_{family}(model: Any, *, ax: Axes | None = None) -> Axes:
    """{mark}: one sentence.

    Parameters
    ----------
    model : {name}
        Fitted.
    ax : matplotlib axes, optional
        Where to draw.

    Returns
    -------
    ax : matplotlib axes
        The axes.
    """
    ax = plt.subplots()[1] if ax is None else ax
    ax.set_title(f"{{model.n_features_in_}} features")
    return ax
'''

TEST = '''"""{mark}: an oracle first (closed form, other solver, brute force, limiting case)."""

from octavo.{room} import {name}


def test_oracle():
    assert {name}().fit([[0.0], [1.0]]).n_features_in_ == 1
'''

BENCH = '''"""{mark}: {name} beside its peer, on the same problem to the same tolerance."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.{room} import {name}

CONTESTS = [
    Contest(
        name="first",
        problem="{mark}: the problem with its size and tolerance",
        setup=lambda: np.eye(3),
        solvers={{"octavo": lambda X: {name}().fit(X), "peer": lambda X: X}},
    )
]
'''

PAGE = """{name}
{line}

{mark}: what it is, which option when, traps.

.. code-block:: python

   >>> from octavo.{room} import {name}
   >>> print({name}().fit([[0.0], [1.0]]).n_features_in_)  # {mark}: data, and numbers that say more
   1

See :ref:`sphx_glr_gallery_{room}_plot_{family}.py` for a longer example.

.. octavo-method:: {name}
"""

EXAMPLE = '''"""
{name}
{line}

{mark}: what the example shows.
"""

import matplotlib.pyplot as plt

from octavo.plot import plot_{family}
from octavo.{room} import {name}

model = {name}().fit([[0.0], [1.0]])
print(model.n_features_in_)
plot_{family}(model)
plt.show()
'''

ROOM = '''"""{mark}: what the room is for."""

from octavo._lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
'''


def files(name: str, room: str, family: str) -> dict[str, str]:
    """Return the text of every file of a method by its path."""
    words = {
        "name": name,
        "room": room,
        "family": family,
        "key": family.replace("_", "-"),
        "mark": MARK,
        "line": "=" * len(name),
    }
    found = {
        f"octavo/{room}/__init__.py": ROOM,
        f"octavo/{room}/{family}/__init__.py": '"""{mark}: the family in one sentence."""\n',
        f"octavo/{room}/{family}/estimator.py": MODULE,
        f"octavo/papers/{family}.py": RECORD,
        f"octavo/plot/{room}/__init__.py": '"""Pictures."""\n',
        f"octavo/plot/{room}/{family}.py": PLOT,
        f"tests/{room}/__init__.py": "",
        f"tests/{room}/{family}/__init__.py": "",
        f"tests/{room}/{family}/test_estimator.py": TEST,
        f"benchmarks/{room}/__init__.py": "",
        f"benchmarks/{room}/{family}.py": BENCH,
        f"docs/methods/{room}/{family}.rst": PAGE,
        f"examples/{room}/README.rst": "{room}\n-----------\n",
        f"examples/{room}/plot_{family}.py": EXAMPLE,
    }
    return {path: text.format(**words) for path, text in found.items()}


def main() -> int:
    """Write what is not there yet, and the derived files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="the class, such as OnlineRanker")
    parser.add_argument("--room", required=True, help="such as ranking")
    parser.add_argument("--family", required=True, help="such as ratings")
    given = parser.parse_args()
    for what, word in (("NAME", given.name), ("ROOM", given.room), ("FAMILY", given.family)):
        if not word.isidentifier():
            parser.error(f"{what} must be a Python identifier; got {word!r}.")
    for path, text in files(given.name, given.room, given.family).items():
        target = ROOT / path
        if target.exists():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    return subprocess.run([sys.executable, str(ROOT / "tools" / "sync.py")]).returncode


if __name__ == "__main__":
    sys.exit(main())
