"""The privacy that a private linear model really spends, computed instead of estimated.

For two data sets that differ in one record, the density of the released model is known in closed
form: the noise that leads to a model f is unique, and so is the change of volume. The audit
evaluates the logarithm of the quotient of the two densities, searches for its largest value,
and builds the pairs of data sets on which it is largest. No value may exceed epsilon.

Densities are those of exact minimisers and real noise. What a computer releases lies near, on a
grid, under a mask (see `octavo.linear.private.perturbation`); the most that this can add to the
loss, for the tolerance that the solver is held to, is added by the audit.

Reference: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12: Eq. (6) and the
determinants in the proof of Theorem 9, evaluated exactly.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import differential_evolution, minimize
from sklearn.utils import check_random_state, check_X_y

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.sparse_rows import canonical_csr
from octavo.linear.private.base import PrivateClassifier, one_vs_rest_targets
from octavo.linear.private.noise import NoiseSource
from octavo.linear.private.perturbation import (
    Loss,
    Perturbation,
    exact_minimiser,
    largest_gradient,
    release_mask,
)

__all__ = ["WorstCase", "log_density_ratio", "privacy_audit", "worst_case_neighbours"]

_NO_NOISE = "epsilon is infinite: a model without noise has no density to compare."

Data = tuple[Any, ArrayLike]


class WorstCase(NamedTuple):
    """Two data sets (X, y) that differ in one record, and the model that tells them apart best."""

    data: tuple[Floats, NDArray[np.int64]]
    neighbour: tuple[Floats, NDArray[np.int64]]
    coef: Floats


class Pair(NamedTuple):
    """One binary problem on two neighbouring data sets: what they share, and what they do not."""

    loss: Loss
    perturbation: Perturbation
    alpha: float
    tol: float
    shared: Floats  # records of both
    shared_y: Floats
    weight: Floats  # how often each of them occurs
    own: Floats  # of shape (2, d): the record of the one, the record of the other
    own_y: Floats

    @property
    def n_samples(self) -> float:
        return float(self.weight.sum()) + 1.0


def _densities(pair: Pair, F: Floats) -> Floats:
    """Return log g(f|D) - log g(f|D') of objective perturbation for each row f."""
    points, d = F.shape
    penalty = pair.n_samples * (pair.alpha + pair.perturbation.delta_reg)
    n_shared = len(pair.shared)
    predictions = (F @ pair.shared.T).ravel()
    targets, weights = np.tile(pair.shared_y, points), np.tile(pair.weight, points)
    _, slope, curvature = pair.loss.evaluate(predictions, targets, weights)
    # Eq. (6) and its Jacobian, without the record that differs.
    b = -penalty * F - slope.reshape(points, n_shared) @ pair.shared
    outer = (pair.shared[:, :, None] * pair.shared[:, None, :]).reshape(n_shared, d * d)
    A = (curvature.reshape(points, n_shared) @ outer).reshape(points, d, d) + penalty * np.eye(d)
    p = F @ pair.own.T
    _, slope, curvature = pair.loss.evaluate(p.ravel(), np.tile(pair.own_y, points))
    # Eq. (6) with the record that differs.
    moved = b[:, None, :] - slope.reshape(points, 2)[:, :, None] * pair.own  # b and b'
    norm = np.linalg.norm(moved, axis=2)
    total = norm.sum(axis=1)
    # ‖b‖ - ‖b'‖ without cancellation where both are large
    gap = ((moved[:, 0] - moved[:, 1]) * (moved[:, 0] + moved[:, 1])).sum(axis=1)
    gap = np.divide(gap, total, out=np.zeros_like(gap), where=total > 0)
    # det(A + c x xᵀ) = det A · (1 + c xᵀA⁻¹x), so that the quotient needs no determinant
    solved = np.linalg.solve(A, np.broadcast_to(pair.own.T, (points, d, 2)))
    growth = np.log1p(curvature.reshape(points, 2) * (pair.own.T * solved).sum(axis=1))
    # Log of g(f|D)/g(f|D'), as in Theorem 9's proof
    return -gap / pair.perturbation.noise_scale + growth[:, 0] - growth[:, 1]


def _minimisers(pair: Pair) -> Floats:
    """Return the minimisers on the two data sets, of shape (2, d), as exactly as they can be."""
    found = []
    for record, y in zip(pair.own, pair.own_y):
        X = np.vstack([np.repeat(pair.shared, pair.weight.astype(int), axis=0), record])
        targets = np.append(np.repeat(pair.shared_y, pair.weight.astype(int)), y)
        given = (X, targets, pair.loss, pair.alpha, pair.perturbation, min(pair.tol, 1e-10))
        found.append(exact_minimiser(*given))
    return np.array(found)


def _log_ratio(pair: Pair, F: Floats) -> Floats:
    if pair.perturbation.noise_scale == 0.0:
        raise ValueError(_NO_NOISE)
    if pair.perturbation.method == "objective":
        chunk = max(1, 2_000_000 // max(1, len(pair.shared)))
        parts = [_densities(pair, F[i : i + chunk]) for i in range(0, len(F), chunk)]
        return np.concatenate(parts)
    one, other = _minimisers(pair)
    # The two sets' noises are f - f₁ and f - f₂: proof of Theorem 6.
    distance = np.linalg.norm(F - one, axis=1) - np.linalg.norm(F - other, axis=1)
    return -distance / pair.perturbation.noise_scale


def _mask_loss(pair: Pair) -> float:
    """Return the most that optimisation and arithmetic can add to the loss, under the mask."""
    d, strength = pair.own.shape[1], pair.alpha + pair.perturbation.delta_reg
    public = (pair.perturbation, int(pair.n_samples), d, pair.alpha, pair.tol)
    # The radius that fits are held to, whatever the mask was made for.
    return release_mask(*public).privacy_loss(largest_gradient(*public) / strength, d)


def _dense(V: Any) -> Floats:
    return V.toarray() if sp.issparse(V) else np.asarray(V, dtype=float)


def neighbouring_pairs(estimator: PrivateClassifier, data: Data, neighbour: Data) -> list[Pair]:
    """Return the binary problems of two data sets that differ in exactly one record."""
    if not isinstance(estimator, PrivateClassifier):
        raise TypeError(
            f"The audit knows octavo's private classifiers, got {type(estimator).__name__}."
        )
    model = copy.copy(estimator)
    model._validate_params()
    checked = [
        check_X_y(*given, accept_sparse="csr", dtype=np.float64) for given in (data, neighbour)
    ]
    (X, y), (X2, y2) = ((canonical_csr(X), y) for X, y in checked)
    if X.shape != X2.shape:
        raise ValueError(f"Neighbours have equally many records, got {X.shape} and {X2.shape}.")
    if model.classes is None:
        model.classes = np.unique(np.concatenate([y, y2]))
    classes, codes = model._encode(y)
    codes2 = model._encode(y2)[1]
    if not hasattr(estimator, "coef_"):
        model._start(X.shape[1], NoiseSource())
    V, V2 = _dense(model._design(X)), _dense(model._design(X2))
    differs = (_dense(X) != _dense(X2)).any(axis=1) | (codes != codes2)
    if differs.sum() != 1:
        raise ValueError(f"Neighbours differ in exactly one record, got {int(differs.sum())}.")
    targets, targets2 = (one_vs_rest_targets(c, len(classes)) for c in (codes, codes2))
    loss, perturbation = model._plan(len(y), len(targets))
    same = ~differs
    return [
        Pair(
            loss,
            perturbation,
            model.alpha,
            model.tol,
            V[same],
            one[same],
            np.ones(len(y) - 1),
            np.vstack([V[differs], V2[differs]]),
            np.append(one[differs], two[differs]),
        )
        for one, two in zip(targets, targets2)
    ]


@checked
def log_density_ratio(
    estimator: PrivateClassifier, data: Data, neighbour: Data, coef: ArrayLike
) -> Floats:
    """Return the exact log-quotient of the densities of a model under two data sets.

    Parameters
    ----------
    estimator : PrivateLinearClassifier or PrivateKernelClassifier
        The mechanism; fitted or not.
    data, neighbour : tuple of (X, y)
        Two data sets that differ in one record.
    coef : array-like of shape (n_points, n_coef) or (n_points, n_classes, n_coef)
        Models: coefficients, and the last is that of the constant feature where there is an
        intercept. The second form is for more than two classes.

    Returns
    -------
    ratio : ndarray of shape (n_points,)
        ``log(density of coef given data / density of coef given neighbour)`` of exact
        minimisers with real noise. ε-differential privacy says that none is above epsilon or
        below -epsilon; a small part of epsilon is left for what computers add, see
        `privacy_audit`.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import PrivateLogisticRegression, log_density_ratio
    >>> X, y = np.array([[0.6], [-1.0]]), np.array([1, 0])
    >>> other = np.array([[0.6], [1.0]])
    >>> model = PrivateLogisticRegression(epsilon=1.0, alpha=1.0)
    >>> log_density_ratio(model, (X, y), (other, y), [[0.5], [-4.0]]).round(3).tolist()
    [0.382, -0.382]
    """
    F = np.asarray(coef, dtype=float)
    pairs = neighbouring_pairs(estimator, data, neighbour)
    if len(pairs) == 1 and F.ndim == 2:
        F = F[:, None, :]
    expected = (len(pairs), pairs[0].own.shape[1])
    if F.ndim != 3 or F.shape[1:] != expected:
        raise ValueError(
            f"coef must be n_points times {' x '.join(map(str, expected))}, got {F.shape}."
        )
    return np.sum([_log_ratio(pair, F[:, k]) for k, pair in enumerate(pairs)], axis=0)


def _candidate_points(pair: Pair, n_points: int, rng: np.random.RandomState) -> Floats:
    """Return models at which the two densities may differ most."""
    d = pair.own.shape[1]
    norm = max(float(np.linalg.norm(pair.own, axis=1).max()), 1e-300)
    scattered = rng.normal(size=(n_points - n_points // 2, d))
    # Margins from 0.01 to 100
    scattered *= 10 ** rng.uniform(-2, 2, (len(scattered), 1)) / norm / np.sqrt(d)
    # Models that put the two records where slopes are steep or curvature is large.
    margins = rng.choice([0.0, 0.5, 1.0, 1.5], (n_points // 2, 2)) + rng.normal(
        scale=0.3, size=(n_points // 2, 2)
    )
    margins *= rng.choice([-1.0, 1.0, 10.0, -10.0], margins.shape)
    aimed = margins @ np.linalg.pinv(pair.own).T
    aimed += 0.1 / norm * rng.normal(size=aimed.shape)
    return np.vstack([scattered, aimed])


def _largest_ratio(
    pair: Pair, n_points: int, refine: bool, points: Floats | None, rng: np.random.RandomState
) -> float:
    """Return the largest absolute log-quotient found for one binary problem."""
    if pair.perturbation.method == "output":
        one, other = _minimisers(pair)
        # ‖f - f₁‖ - ‖f - f₂‖ is largest, and is ‖f₁ - f₂‖, at f₂ itself.
        return float(np.linalg.norm(one - other)) / pair.perturbation.noise_scale
    F = _candidate_points(pair, n_points, rng)
    F = F if points is None else np.vstack([F, points])
    ratio = np.abs(_log_ratio(pair, F))
    best = float(ratio.max())
    if refine:
        for start in F[np.argsort(-ratio)[:3]]:
            found = minimize(
                lambda f: -abs(_log_ratio(pair, f[None, :])[0]),
                start,
                method="Nelder-Mead",
                options={"maxfev": 300, "xatol": 1e-10, "fatol": 1e-12},
            )
            best = max(best, -float(found.fun))
    return best


@checked
def privacy_audit(
    estimator: PrivateClassifier,
    data: Data,
    neighbour: Data,
    n_points: int = 1000,
    *,
    points: ArrayLike | None = None,
    refine: bool = True,
    random_state: Any = None,
) -> float:
    """Return the largest privacy loss found between two neighbouring data sets.

    It is exact at every model tried, and never an estimate from samples; the search for the
    worst model is what is heuristic. For output perturbation the maximum is known in closed form.
    To the loss of exact minimisers with real noise comes the most that the error of
    optimisation, up to `tol`, and of arithmetic can add under the mask that hides them.

    Parameters
    ----------
    estimator : PrivateLinearClassifier or PrivateKernelClassifier
        The mechanism.
    data, neighbour : tuple of (X, y)
        Two data sets that differ in one record.
    n_points : int, default=1000
        Number of models at which the quotient of densities is evaluated.
    points : array-like of shape (n_models, n_coef), optional
        Models to try besides, such as that of `worst_case_neighbours`.
    refine : bool, default=True
        Climb from the three worst models.
    random_state : None, int or RandomState, default=None
        Where the models come from. Nothing here is secret.

    Returns
    -------
    loss : float
        The largest absolute log-quotient of densities, and what optimisation and arithmetic can
        add; at most epsilon if the promise is kept. More than two classes: the sum over the
        one-vs-rest problems.

    See Also
    --------
    worst_case_neighbours : Data sets on which the loss is largest.
    log_density_ratio : The quotient at given models.

    Examples
    --------
    >>> from octavo.linear import PrivateHuberSVM, privacy_audit, worst_case_neighbours
    >>> model = PrivateHuberSVM(epsilon=1.0, alpha=0.01)
    >>> worst = worst_case_neighbours(model, n_samples=1000)
    >>> round(privacy_audit(model, worst.data, worst.neighbour, points=[worst.coef]), 3)
    0.905
    """
    if n_points < 2:
        raise ValueError(f"n_points must be at least 2, got {n_points}.")
    rng = check_random_state(random_state)
    pairs = neighbouring_pairs(estimator, data, neighbour)
    extra = None if points is None else np.atleast_2d(np.asarray(points, dtype=float))
    if pairs[0].perturbation.noise_scale == 0.0:
        raise ValueError(_NO_NOISE)
    return sum(
        _largest_ratio(pair, n_points, refine, extra, rng) + _mask_loss(pair) for pair in pairs
    )


def _adversary(estimator: PrivateClassifier, n_samples: int, z: Floats) -> tuple[Pair, Floats]:
    """Return a pair of data sets in the plane and a model, from seven numbers.

    The model points along the second axis. A crowd pulls the noise along the first; a few
    records cancel the penalty along the second, so that the two records that are exchanged,
    nearly opposite along the first axis, can both lie on the steep side of the loss.
    """
    crowd_angle, reach, share, angle, angle2, first, second = z
    loss, perturbation = estimator._plan(n_samples, 1)
    B = estimator._feature_norm()
    few = float(round(share * (n_samples - 1)))  # records that pull against the penalty
    shared = B * np.array(
        [[-np.cos(crowd_angle), -np.sin(crowd_angle)], [0.0, reach]],
    )
    # Both have the largest norm allowed
    own = B * np.array([[np.cos(angle), -np.sin(angle)], [-np.cos(angle2), -np.sin(angle2)]])
    weight = np.array([n_samples - 1 - few, few])
    pair = Pair(
        loss, perturbation, estimator.alpha, estimator.tol,
        shared, np.ones(2), weight, own, np.ones(2),
    )  # fmt: skip
    return pair, np.array([first, 10.0**second]) / B


@checked
def worst_case_neighbours(
    estimator: PrivateClassifier, n_samples: int, *, random_state: Any = 0
) -> WorstCase:
    """Build two neighbouring data sets that a private linear model tells apart as well as it can.

    Parameters
    ----------
    estimator : PrivateLinearClassifier
        The mechanism: two classes, objective perturbation, no intercept.
    n_samples : int
        Number of records, at least 3.
    random_state : None, int or RandomState, default=0
        For the search. Nothing here is secret.

    Returns
    -------
    worst : WorstCase
        Named tuple (data, neighbour, coef): data sets (X, y) in the plane, and the model at
        which their densities differ most.

    Examples
    --------
    >>> from octavo.linear import PrivateHuberSVM, worst_case_neighbours
    >>> (X, y), (X2, y2), coef = worst_case_neighbours(PrivateHuberSVM(epsilon=1.0), 100)
    >>> X.shape, int((X != X2).any(axis=1).sum())
    ((100, 2), 1)
    """
    if estimator.method != "objective" or estimator.fit_intercept:
        raise ValueError("The worst case is known for objective perturbation without intercept.")
    if n_samples < 3:
        raise ValueError(f"n_samples must be at least 3, got {n_samples}.")

    def loss(z: Floats) -> float:
        pair, coef = _adversary(estimator, n_samples, z)
        return -float(_densities(pair, coef[None, :])[0])

    quarter = np.pi / 2
    bounds = [(-quarter, quarter), (0, 1), (0, 0.9), (-quarter, quarter), (-quarter, quarter)]
    bounds += [(-3, 3), (-3, 3)]
    found = differential_evolution(
        loss, bounds, rng=check_random_state(random_state), maxiter=80, popsize=6, polish=False
    )
    found = minimize(loss, found.x, method="Nelder-Mead", bounds=bounds, options={"maxfev": 800})
    pair, coef = _adversary(estimator, n_samples, found.x)
    X = np.vstack([np.repeat(pair.shared, pair.weight.astype(int), axis=0), pair.own[0]])
    X2 = np.vstack([X[:-1], pair.own[1]])
    # A record (x, +1) acts as (-x, -1): both classes occur.
    sign = np.where(np.arange(n_samples) % 2, 1, -1)
    return WorstCase((X * sign[:, None], sign), (X2 * sign[:, None], sign), coef)
