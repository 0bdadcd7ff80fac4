"""Independent vectors of dependent coordinates: shapes, letters and wire frames, and mixtures.

Each source is a vector of two or three coordinates that is uniform on a figure; different sources
are independent. Independent subspace analysis finds them in a linear mixture.
"""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, validate_params

__all__ = ["SubspaceMixture", "make_subspace_mixture"]

# Mosaics of 5 x 5 cells; a source is uniform on the dark ones.
_LETTERS = {
    "A": ".###. #...# ##### #...# #...#",
    "C": ".#### #.... #.... #.... .####",
    "E": "##### #.... ####. #.... #####",
    "F": "##### #.... ####. #.... #....",
    "H": "#...# #...# ##### #...# #...#",
    "K": "#..#. #.#.. ##... #.#.. #..#.",
    "L": "#.... #.... #.... #.... #####",
    "T": "##### ..#.. ..#.. ..#.. ..#..",
    "U": "#...# #...# #...# #...# .###.",
    "Z": "##### ...#. ..#.. .#... #####",
}
_CURVES = {  # corners of figures that are drawn in straight lines; None lifts the pen
    "square": [(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)],
    "cross": [(-1, -1), (1, 1), None, (-1, 1), (1, -1)],
    "triangle": [(-1, -1), (1, -1), (0, 1), (-1, -1)],
    "arrow": [(-1, 0), (1, 0), None, (0.2, 0.8), (1, 0), (0.2, -0.8)],
}
_WIRES = {
    "cube": [
        *[(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, -1), (-1, -1, 1)],
        *[(1, -1, 1), (1, 1, 1), (-1, 1, 1), (-1, -1, 1), None, (1, -1, -1), (1, -1, 1)],
        *[None, (1, 1, -1), (1, 1, 1), None, (-1, 1, -1), (-1, 1, 1)],
    ],
    "tetrahedron": [
        *[(1, 1, 1), (1, -1, -1), (-1, 1, -1), (1, 1, 1), (-1, -1, 1), (1, -1, -1), None],
        *[(-1, 1, -1), (-1, -1, 1)],
    ],
    "jack": [(-1, 0, 0), (1, 0, 0), None, (0, -1, 0), (0, 1, 0), None, (0, 0, -1), (0, 0, 1)],
    "pyramid": [
        *[(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (-1, -1, 0), (0, 0, 2), (1, -1, 0)],
        *[None, (1, 1, 0), (0, 0, 2), (-1, 1, 0)],
    ],
}


def _on_lines(corners, n, rng):
    """Draw points that are uniform on straight lines between corners."""
    ends = [(a, b) for a, b in pairwise(corners) if a is not None and b is not None]
    start, stop = np.array(ends, dtype=np.float64).swapaxes(0, 1)
    length = np.linalg.norm(stop - start, axis=1)
    line = rng.choice(len(length), size=n, p=length / length.sum())
    return start[line] + rng.uniform(size=(n, 1)) * (stop - start)[line]


def _on_curve(name, n, rng):
    t = rng.uniform(size=n)
    if name == "ring":
        return np.column_stack([np.cos(2 * np.pi * t), np.sin(2 * np.pi * t)])
    if name == "spiral":
        turn = 3.0 * np.pi * np.sqrt(t)
        return np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
    turn = 4.0 * np.pi * t  # helix
    return np.column_stack([np.cos(turn), np.sin(turn), 2.0 * t])


def _on_letter(letter, n, rng):
    """Draw points that are uniform on the dark cells of a mosaic."""
    rows = _LETTERS[letter].split()
    cells = np.array([(c, -r) for r, row in enumerate(rows) for c in range(5) if row[c] == "#"])
    return cells[rng.randint(len(cells), size=n)] + rng.uniform(size=(n, 2))


_KINDS = {
    "shapes": ("ring", "square", "cross", "spiral", "triangle", "arrow"),
    "letters": tuple(_LETTERS),
    "wires": ("cube", "helix", "jack", "tetrahedron", "pyramid"),
}


def _figure(name, n, rng):
    if name in _LETTERS:
        return _on_letter(name, n, rng)
    corners = _CURVES.get(name) or _WIRES.get(name)
    return _on_lines(corners, n, rng) if corners else _on_curve(name, n, rng)


def _whitened(S):
    """Return S with zero mean and unit covariance, turned as little as possible."""
    centred = S - S.mean(axis=0)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(S))
    return centred @ (vectors / np.sqrt(values)) @ vectors.T


class SubspaceMixture(NamedTuple):
    """A mixture and what it is made of: ``X = sources @ mixing.T``.

    ``X`` (n_samples, n_features), ``sources`` (n_samples, n_sources), ``mixing``
    (n_features, n_sources), ``subspaces``, the columns of each source vector, and ``names``, the
    figures that they are uniform on.
    """

    X: np.ndarray
    sources: np.ndarray
    mixing: np.ndarray
    subspaces: list[np.ndarray]
    names: list[str]


@checked
@validate_params(
    {
        "kind": [StrOptions({*_KINDS})],
        "n_subspaces": [Interval(Integral, 1, None, closed="left")],
        "n_samples": [Interval(Integral, 10, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_subspace_mixture(
    kind: str = "shapes",
    *,
    n_subspaces: int = 3,
    n_samples: int = 1000,
    noise: float = 0.02,
    n_features: int | None = None,
    random_state: Any = None,
) -> SubspaceMixture:
    """Draw independent vectors, each uniform on a figure, and mix them linearly.

    Parameters
    ----------
    kind : {"shapes", "letters", "wires"}, default="shapes"
        Lines and curves in the plane; mosaics of letters in the plane; or wire frames in
        three dimensions.
    n_subspaces : int, default=3
        How many vectors; figures come again after the last of their kind.
    n_samples : int, default=1000
        Number of draws.
    noise : float, default=0.02
        Deviation of normal noise on the sources, which then have a density.
    n_features : int, default=None
        Number of mixtures, at least as many as coordinates of sources; as many by default.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    SubspaceMixture
        The mixture, the sources (of zero mean and unit covariance in the sample), the mixing
        matrix (random, with singular values between 0.5 and 2), the columns of each source and
        the names of the figures.

    Examples
    --------
    >>> from octavo.data import make_subspace_mixture
    >>> sample = make_subspace_mixture("wires", n_subspaces=2, n_samples=50, random_state=0)
    >>> sample.X.shape, sample.names, [group.tolist() for group in sample.subspaces]
    ((50, 6), ['cube', 'helix'], [[0, 1, 2], [3, 4, 5]])
    """
    rng = check_random_state(random_state)
    names = [_KINDS[kind][m % len(_KINDS[kind])] for m in range(n_subspaces)]
    drawn = []
    for name in names:
        points = _whitened(_figure(name, n_samples, rng))
        drawn.append(_whitened(points + noise * rng.normal(size=points.shape)))
    sources = np.hstack(drawn)
    d = sources.shape[1]
    p = d if n_features is None else n_features
    if p < d:
        raise ValueError(
            f"n_features must be at least the {d} coordinates of the sources, got {p}."
        )
    turn = np.linalg.qr(rng.normal(size=(p, d)))[0]
    mixing = turn * rng.uniform(0.5, 2.0, size=d) @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    ends = np.cumsum([part.shape[1] for part in drawn])
    subspaces = [np.arange(end - part.shape[1], end) for part, end in zip(drawn, ends)]
    return SubspaceMixture(sources @ mixing.T, sources, mixing, subspaces, names)
