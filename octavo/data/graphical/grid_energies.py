"""Random energies of Section 7.1 and random-dot stereograms.

M. P. Kumar, O. Veksler and P. H. S. Torr (2011). Improved Moves for Truncated Convex Models.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked

__all__ = ["GridEnergy", "Stereogram", "make_grid_energy", "make_random_dot_stereogram"]


class GridEnergy(NamedTuple):
    """Costs, edge weights and truncation of a random energy, in the order of `grid_mrf`."""

    unary: Floats
    weights: Floats
    truncation: float


class Stereogram(NamedTuple):
    """Two views in grey, the disparity of the left, and where it has a match in the right."""

    left: Floats
    right: Floats
    disparity: Ints
    visible: NDArray[np.bool_]


def _shape(shape: Any, name: str = "shape") -> tuple[int, int]:
    sizes = tuple(shape) if np.iterable(shape) else ()
    if len(sizes) != 2 or not all(1 <= int(s) == s <= 4096 for s in sizes):
        raise ValueError(f"{name} must be (height, width), ints of 1 to 4096; got {shape!r}.")
    return int(sizes[0]), int(sizes[1])


@checked
def make_grid_energy(
    shape: tuple[int, int] = (50, 50),
    n_labels: int = 20,
    *,
    distance: str = "linear",
    random_state: Any = None,
) -> GridEnergy:
    """Return a random energy on a grid of four neighbours (Section 7.1.1).

    Unary costs are uniform on [0, 10], weights on [0, 5], and the truncation between d(5) and
    d(10): a whole number for a linear d, its square for a quadratic one.

    Parameters
    ----------
    shape : tuple of int, default=(50, 50)
        Height and width.
    n_labels : int, default=20
        Number of labels, 1 to 1024.
    distance : {"linear", "quadratic"}, default="linear"
        What the truncation is in units of.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    energy : GridEnergy
        ``unary`` (height, width, n_labels), ``weights`` (n_edges,) and ``truncation``.

    Examples
    --------
    >>> from octavo.data import make_grid_energy
    >>> energy = make_grid_energy((4, 5), 3, random_state=0)
    >>> energy.unary.shape, energy.weights.shape, energy.truncation
    ((4, 5, 3), (31,), 8.0)
    """
    height, width = _shape(shape)
    if isinstance(n_labels, bool) or not 1 <= int(n_labels) == n_labels <= 1024:
        raise ValueError(f"n_labels must be an int of 1 to 1024; got {n_labels!r}.")
    if distance not in ("linear", "quadratic"):
        raise ValueError(f"distance must be 'linear' or 'quadratic'; got {distance!r}.")
    rng = check_random_state(random_state)
    unary = rng.uniform(0, 10, (height, width, int(n_labels)))
    weights = rng.uniform(0, 5, height * (width - 1) + (height - 1) * width)
    reach = float(rng.randint(5, 11))
    return GridEnergy(unary, weights, reach if distance == "linear" else reach**2)


@checked
def make_random_dot_stereogram(
    shape: tuple[int, int] = (64, 96),
    *,
    n_disparities: int = 12,
    n_objects: int = 4,
    noise: float = 2.0,
    random_state: Any = None,
) -> Stereogram:
    """Return two views of random dots on a slanted ground with rectangles before it.

    Parameters
    ----------
    shape : tuple of int, default=(64, 96)
        Height and width.
    n_disparities : int, default=12
        Disparities 0 to n_disparities - 1; at least 2 and below the width.
    n_objects : int, default=4
        Rectangles, each at one disparity, nearer ones before others; at most 1000.
    noise : float, default=2.0
        Standard deviation of the noise of both views, whose dots are grey values of 0 to 255.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    scene : Stereogram
        ``left``, ``right``, ``disparity`` of the left view and ``visible``: whether its pixel
        is in the right view too. Column x of the left is column x - disparity of the right.

    Examples
    --------
    >>> from octavo.data import make_random_dot_stereogram
    >>> scene = make_random_dot_stereogram((32, 48), random_state=0)
    >>> scene.left.shape, int(scene.disparity.max()) < 12
    ((32, 48), True)
    """
    height, width = _shape(shape)
    if isinstance(n_disparities, bool) or not 2 <= int(n_disparities) == n_disparities < width:
        raise ValueError(
            f"n_disparities must be an int of at least 2, below the width {width}; "
            f"got {n_disparities!r}."
        )
    if isinstance(n_objects, bool) or not 0 <= int(n_objects) == n_objects <= 1000:
        raise ValueError(f"n_objects must be an int of 0 to 1000; got {n_objects!r}.")
    if not 0 <= noise < 1e6:
        raise ValueError(f"noise must be a number of at least 0, below a million; got {noise!r}.")
    rng = check_random_state(random_state)
    top = int(n_disparities) - 1
    ground = np.rint(np.linspace(0, top / 2, height)).astype(np.intp)
    disparity = np.repeat(ground[:, None], width, axis=1)
    for _ in range(int(n_objects)):
        depth = rng.randint(max(1, top // 2), top + 1)
        high, wide = rng.randint(1, max(2, height // 2)), rng.randint(1, max(2, width // 2))
        row, column = rng.randint(height - high + 1), rng.randint(width - wide + 1)
        box = disparity[row : row + high, column : column + wide]
        np.maximum(box, depth, out=box)
    left = rng.uniform(0, 255, (height, width))
    right = rng.uniform(0, 255, (height, width))  # what only the right view sees
    rows, columns = np.indices((height, width))
    at = columns - disparity
    front = np.full((height, width), -1)
    inside = at >= 0
    np.maximum.at(front, (rows[inside], at[inside]), disparity[inside])
    visible = inside.copy()
    visible[inside] = front[rows[inside], at[inside]] == disparity[inside]
    right[rows[visible], at[visible]] = left[visible]
    for view in (left, right):
        view += rng.normal(0, noise, view.shape)
    return Stereogram(left, right, disparity, visible)
