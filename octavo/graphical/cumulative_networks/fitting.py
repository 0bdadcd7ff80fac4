"""Maximum likelihood and composite likelihood of cumulative distribution networks.

The density is linear in the table of derivatives of each factor. Its terms have shares that sum to
one; the score of a factor's parameters is the mean of the gradients of the table's logarithms under
them. This is the gradient-DSP that Section 5.1 of the paper leaves to the future, and it is exact.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from octavo.engine.estimators.arrays import Floats
from octavo.engine.trees.derivatives import DerivativeTree
from octavo.graphical.cumulative_networks.factors import CDFFactor


class FittedFactors(NamedTuple):
    """Factors at the maximum, and what is known about it."""

    factors: list[CDFFactor]
    log_likelihood: float
    standard_errors: list[Floats]
    n_iter: int


class _Piece(NamedTuple):
    """A sub-network whose log density is a term of the objective."""

    columns: list[int]
    members: list[tuple[int, list[int]]]  # factor, and which of its variables are kept
    tree: DerivativeTree
    scopes: list[list[int]]


def _whole(network: Any) -> list[_Piece]:
    members = [(s, list(range(len(scope)))) for s, scope in enumerate(network.scopes)]
    scopes = [list(scope) for scope in network.scopes]
    tree = DerivativeTree(network.n_variables, scopes)
    return [_Piece(list(range(network.n_variables)), members, tree, scopes)]


def _pairs(network: Any) -> list[_Piece]:
    """Return the bivariate margins of variables that share a factor, and lone variables."""
    sets = {tuple(sorted(p)) for scope in network.scopes for p in combinations(scope, 2)}
    paired = {v for pair in sets for v in pair}
    sets |= {(v,) for v in range(network.n_variables) if v not in paired}
    pieces = []
    for columns in sorted(sets):
        members, scopes = [], []
        for s, scope in enumerate(network.scopes):
            kept = [k for k, v in enumerate(scope) if v in columns]
            if kept:
                members.append((s, kept))
                scopes.append([columns.index(scope[k]) for k in kept])
        tree = DerivativeTree(len(columns), scopes)
        pieces.append(_Piece(list(columns), members, tree, scopes))
    return pieces


def row_scores(
    network: Any, X: Floats, factors: Sequence[CDFFactor], pieces: Sequence[_Piece]
) -> tuple[Floats, list[Floats]]:
    """Return the log likelihood of each row, and its gradient by each factor's free parameters.

    A variable that a piece leaves out stands at +inf in its factor.
    """
    steps = np.array([kind == "ordinal" for kind in network.kinds])
    value = np.zeros(len(X))
    scores = [np.zeros((len(X), f.free().size)) for f in factors]
    for piece in pieces:
        wanted = np.ones(len(piece.columns), dtype=bool)
        settings, tables = [], []
        for s, kept in piece.members:
            scope = list(network.scopes[s])
            points = np.full((len(X), len(scope)), np.inf)
            points[:, kept] = X[:, [scope[k] for k in kept]]
            wants = [k in kept for k in range(len(scope))]
            settings.append((points, wants, steps[scope].tolist()))
            full = factors[s].log_table(*settings[-1])
            tables.append(full.reshape(*(2,) * len(kept), len(X)))
        found, shares = piece.tree.weights(tables, wanted, steps[piece.columns])
        value += found
        for (s, _), setting, share in zip(piece.members, settings, shares):
            # Σ over the table's entries of share times slope
            for p, slope in enumerate(factors[s].log_table_gradient(*setting)):
                scores[s][:, p] += (share * slope.reshape(share.shape)).reshape(-1, len(X)).sum(0)
    return value, scores


def fit_factors(
    network: Any,
    X: Floats,
    method: str,
    n_starts: int,
    max_iter: int,
    tol: float,
    random: np.random.RandomState,
    on_step: Callable[[], bool] | None = None,
) -> FittedFactors:
    """Maximise the (composite) likelihood over the free parameters of all factors."""
    for name, count in (("n_starts", n_starts), ("max_iter", max_iter)):
        if not isinstance(count, (int, np.integer)) or isinstance(count, bool) or count < 1:
            raise ValueError(f"{name} must be a whole number from 1, got {count!r}.")
    if not isinstance(tol, (int, float)) or not 0 < tol < 1:
        raise ValueError(f"tol must be a number in (0, 1), got {tol!r}.")
    pieces = _whole(network) if method == "ml" else _pairs(network)
    models = [factor for _, factor in network.factors]
    sizes = [f.free().size for f in models]
    ends = np.cumsum([0, *sizes])

    def split(theta: Floats) -> list[CDFFactor]:
        return [f.freed(theta[a:b]) for f, a, b in zip(models, ends, ends[1:])]

    def objective(theta: Floats) -> tuple[float, Floats]:
        value, scores = row_scores(network, X, split(theta), pieces)
        total, slope = value.mean(), np.concatenate([s.mean(axis=0) for s in scores])
        if not np.isfinite(total) or not np.isfinite(slope).all():
            return 1e10, np.zeros_like(theta)
        return -total, -slope

    first = np.concatenate([f.free() for f in models])
    if not np.isfinite(row_scores(network, X, models, pieces)[0].sum()):
        raise ValueError(
            "Some rows of X have density zero under the present factors; start the fit from "
            "factors whose support holds all rows."
        )
    best: Any = None
    for start in range(n_starts):
        theta = first if start == 0 else first + 0.5 * random.normal(size=first.size)
        options = {"maxiter": max_iter, "ftol": tol, "gtol": 1e-6, "maxls": 40}
        if not first.size:
            break
        found = minimize(
            objective,
            theta,
            jac=True,
            method="L-BFGS-B",
            options=options,
            callback=_stopping(on_step),
        )
        if best is None or found.fun < best.fun:
            best = found
    if best is None:
        value, _ = row_scores(network, X, models, pieces)
        return FittedFactors(models, float(value.sum()), [np.empty(0) for _ in models], 0)
    if best.nit >= max_iter:
        warnings.warn(
            f"The likelihood has not converged after {best.nit} iterations: its largest slope a "
            f"row is {np.abs(best.jac).max():.3g}. Raise max_iter or scale the data.",
            ConvergenceWarning,
            stacklevel=4,
        )
    final = split(best.x)
    value, scores = row_scores(network, X, final, pieces)
    errors = _standard_errors(np.concatenate(scores, axis=1))
    return FittedFactors(final, float(value.sum()), np.split(errors, ends[1:-1]), int(best.nit))


def _stopping(on_step: Callable[[], bool] | None) -> Callable[[Any], None] | None:
    if on_step is None:
        return None

    def callback(intermediate_result: Any) -> None:
        if on_step():
            raise StopIteration

    return callback


def _standard_errors(scores: Floats) -> Floats:
    """Return the roots of the inverse information, the sum of squares of the rows' scores."""
    information = scores.T @ scores
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    unit = information / scale[:, None] / scale
    inverse = np.linalg.pinv(unit, rcond=len(unit) * np.finfo(float).eps, hermitian=True)
    return np.sqrt(np.maximum(np.diag(inverse), 0.0)) / scale
