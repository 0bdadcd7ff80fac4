"""Views of the same items made ready for the programs: factors, tables and the ways back.

A view is a Gram matrix, or a table of features for the linear case. For full matrices it becomes a
factor Ψ with ΨΨᵀ = K and a map T with KT = Ψ, so that W = T W̃ Tᵀ and an item with kernel values
K_x lies at K_x T W̃^{1/2}; for diagonal ones its columns are scaled to unit cost.

Reference: B. McFee and G. Lanckriet (2011), "Learning Multi-modal Similarity", Eqs. (3), (8), (9).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh, svd

from octavo.engine.estimators.arrays import Floats, Indices
from octavo.metric.partial_order.atoms import solve_atoms
from octavo.metric.partial_order.comparisons import distinct_pairs
from octavo.metric.partial_order.descents import solve_fista, solve_subgradient
from octavo.metric.partial_order.landmark_weights import solve_landmark_lp
from octavo.metric.partial_order.programs import (
    DiagonalProgram,
    FullProgram,
    PairProgram,
    Solution,
)
from octavo.metric.partial_order.semidefinite import solve_sdp
from octavo.metric.partial_order.splitting import solve_admm

CUT = 1e-12  # eigenvalues of a kernel below this share of the largest are rounding
RANK = 1e-10  # the same for a learned matrix
SOLVERS: dict[str, dict[str, Any]] = {
    "full": {
        "atoms": solve_atoms,
        "admm": solve_admm,
        "fista": solve_fista,
        "subgradient": solve_subgradient,
        "sdp": solve_sdp,
    },
    "diagonal": {
        "lp": solve_landmark_lp,
        "fista": solve_fista,
        "subgradient": solve_subgradient,
        "sdp": solve_sdp,
    },
}


class View(NamedTuple):
    """A view: what items are multiplied by, its factor, and the map from the one to the other.

    ``table`` is (n_items, width), the Gram matrix or the features; ``factor`` is what programs see;
    ``back`` has table @ back = factor (a matrix for full programs, scales of columns else).
    """

    table: Floats
    factor: Floats
    back: Floats


def unit_scale(mean: float, name: str) -> float:
    """Return what gives a kernel unit mean diagonal; 1 for one that is zero."""
    if not np.isfinite(mean) or mean < 0.0:
        raise ValueError(f"{name} has a mean diagonal of {mean:.3g}, which cannot be normalised.")
    scale = 1.0 / mean if mean > 0.0 else 1.0
    if not np.isfinite(scale):
        raise ValueError(f"{name} is too small to be normalised: its mean diagonal is {mean:.3g}.")
    return scale


def gram_view(K: Floats, structure: str, name: str) -> View:
    """Return a Gram matrix as a view.

    Parameters
    ----------
    K : ndarray of shape (n_items, n_items)
        Symmetric. Its positive part is used for full matrices, with a warning where there is
        another.
    structure : {"full", "diagonal"}
        Of W.
    name : str
        What messages call it.

    Returns
    -------
    View
        The view.
    """
    if structure == "diagonal":
        own = np.diagonal(K)
        usable = own > CUT * max(float(own.max(initial=0.0)), 0.0)
        scales = np.where(usable, 1.0 / np.sqrt(np.where(usable, own, 1.0)), 0.0)
        return View(K, K * scales, scales)  # K's columns, divided by √K_tt: tr becomes Σ w
    values, vectors = eigh(K)
    top = float(values[-1])
    if values[0] < -1e-8 * max(top, 0.0) * len(K):
        warnings.warn(
            f"{name} is indefinite: its lowest eigenvalue is {values[0]:.3g}. Directions with "
            "negative ones are left out.",
            UserWarning,
            stacklevel=4,
        )
    kept = values > CUT * top if top > 0.0 else np.zeros(len(values), dtype=np.bool_)
    roots = np.sqrt(values[kept])
    # Ψ with ΨΨᵀ = K, and Ψ's inverse on its range
    return View(K, vectors[:, kept] * roots, vectors[:, kept] / roots)


def feature_view(X: Floats, structure: str) -> View:
    """Return a table of features as a view; more features than items are turned into the latter."""
    n, d = X.shape
    if structure == "diagonal":
        return View(X, X, np.ones(d))
    if d <= n:
        return View(X, X, np.eye(d))
    U, values, Vt = svd(X, full_matrices=False)
    kept = values > np.sqrt(CUT) * max(float(values[0]), 0.0)
    return View(X, U[:, kept] * values[kept], np.ascontiguousarray(Vt[kept].T))


def make_program(
    views: Sequence[View], structure: str, comparisons: Indices, beta: float
) -> PairProgram:
    """Return the program of some views and comparisons."""
    compared = distinct_pairs(comparisons)
    if structure == "diagonal":
        return DiagonalProgram(np.hstack([view.factor for view in views]), compared, beta)
    return FullProgram([view.factor for view in views], compared, beta)


def solve_program(
    program: PairProgram, structure: str, solver: str, tol: float, max_iter: int, on_step: Any
) -> Solution:
    """Solve a program by the solver of that name; "auto" is "atoms" or, for diagonals, "lp"."""
    if solver == "auto":
        solver = "lp" if structure == "diagonal" else "atoms"
    choices = SOLVERS[structure]
    if solver not in choices:
        raise ValueError(
            f"solver={solver!r} is not for structure={structure!r}, which has "
            f"{', '.join(repr(name) for name in choices)}."
        )
    return choices[solver](program, tol=tol, max_iter=max_iter, on_step=on_step)


def upright(columns: Floats) -> Floats:
    """Return columns with their largest entries positive: eigenvectors have no sign."""
    if not columns.size:
        return columns
    largest = columns[np.argmax(np.abs(columns), axis=0), np.arange(columns.shape[1])]
    return columns * np.where(largest < 0.0, -1.0, 1.0)


def projections(
    program: PairProgram, views: Sequence[View], weights: Floats
) -> tuple[list[Floats], Floats]:
    """Return N^p transposed with W^p = (N^p)ᵀN^p, one of each view, and tr(W^pK^p)."""
    maps, traces = [], []
    if isinstance(program, FullProgram):
        top = max(float(weights.max(initial=0.0)), 0.0)
        for view, M in zip(views, program.split(weights), strict=True):
            values, vectors = eigh(0.5 * (M + M.T)) if len(M) else (np.zeros(0), np.zeros((0, 0)))
            kept = values > RANK * max(top, float(values.max(initial=0.0)))
            root = (vectors[:, kept] * np.sqrt(values[kept]))[:, ::-1]  # Λ^½ Vᵀ of Section 3.2
            maps.append(upright(view.back @ root))
            traces.append(float(np.trace(M)))
        return maps, np.array(traces)
    first = 0
    for view in views:
        own = weights[first : first + len(view.back)]
        first += len(view.back)
        used = np.flatnonzero(own > 0.0)
        root = np.zeros((len(own), len(used)))
        root[used, np.arange(len(used))] = np.sqrt(own[used]) * view.back[used]
        maps.append(root)
        traces.append(float(own.sum()))
    return maps, np.array(traces)
