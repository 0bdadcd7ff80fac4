"""Learn the strengths, the radii and the kernel's scale of a steered map from its constraints.

Some of the placements or labels are held out, the map is made with the others, and the error at
those held out is minimised by L-BFGS-B with exact gradients (`octavo.kernel.steered.gradients`).

Reference: D. Oglic, Constructive approximation and learning by greedy algorithms (thesis), Section
2.7.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import TransformerMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.kernels.gram import settle_gamma
from octavo.kernel.steered.components import SteeringSystem, radii_of
from octavo.kernel.steered.constraints import MapConstraints, read_constraints
from octavo.kernel.steered.gradients import kernel_slope, map_gradient
from octavo.kernel.steered.knowledge_kernel_pca import (
    KnowledgeKernelPCA,
    basis_of,
    checked_samples,
    steering_of,
)

__all__ = ["KnowledgeKernelPCACV"]


TUNABLE = ("lambda_place", "lambda_link", "lambda_label", "lambda_orth", "radius", "gamma")
REACH = 1e4  # how far from its start a parameter may go, as a factor


class Fold(NamedTuple):
    """The constraints to make a map with, and what it should say at some points."""

    constraints: MapConstraints
    points: NDArray[np.intp]
    targets: Floats


def folds_of(constraints: MapConstraints, loss: str, cv: int, seed: Any) -> list[Fold]:
    """Hold out placements (for "mse") or labels (for "sq_hinge") in turn.

    Labels are spread evenly over the folds. A target that is nan counts for nothing.
    """
    held: dict[int, tuple[float, ...]]
    if loss == "mse":
        held = {i: p.at for i, p in sorted(constraints.placements.items())}
        name = "placements"
    else:
        held = {i: tuple(y or np.nan for y in v) for i, v in sorted(constraints.labels.items())}
        name = "labels"
    if len(held) < cv:
        raise ValueError(
            f"loss={loss!r} holds out {name} in cv={cv} folds, and there are {len(held)} of them."
        )
    points, targets = np.array(list(held)), np.array(list(held.values()), dtype=np.float64)
    if loss == "mse":
        splits = KFold(cv, shuffle=True, random_state=seed).split(points)
    else:
        classes = np.unique(np.nan_to_num(targets), axis=0, return_inverse=True)[1].ravel()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a class with fewer labels than folds
            splits = list(
                StratifiedKFold(cv, shuffle=True, random_state=seed).split(points, classes)
            )
    found = []
    for _, test in splits:
        out = set(points[test].tolist())
        kept: Any = {name: {i: v for i, v in getattr(constraints, name).items() if i not in out}}
        found.append(Fold(replace(constraints, **kept), points[test], targets[test]))
    return found


def fold_loss(values: Floats, targets: Floats, loss: str) -> tuple[float, Floats]:
    """Return the mean loss of map values at held-out points, and its slope."""
    known = ~np.isnan(targets)
    count = max(int(known.sum()), 1)
    y = np.where(known, targets, 0.0)
    if loss == "mse":
        gap = np.where(known, values - y, 0.0)
        return float(np.sum(gap**2)) / count, 2.0 * gap / count  # squared error, and its slope
    short = np.where(known, np.maximum(0.0, 1.0 - y * values), 0.0)
    return float(np.sum(short**2)) / count, -2.0 * y * short / count  # squared hinge


class _Objective:
    """The mean loss over folds and its gradient, by the logarithms of the parameters."""

    def __init__(self, model: Any, X: Any, folds: list[Fold], names: tuple, loss: str) -> None:
        self.model, self.X, self.folds, self.loss = model, X, folds, loss
        self.names = names
        self.system = SteeringSystem(basis_of(model, X))
        self.last: tuple[Floats, float, Floats] | None = None

    def start(self) -> Floats:
        """Return the logarithms to begin with."""
        values: list[float] = []
        for name in self.names:
            if name == "radius":
                values += radii_of(steering_of(self.model), self.system.basis.p).tolist()
            else:
                values.append(float(getattr(self.model, name)))
            if values[-1] <= 0.0:
                raise ValueError(f"{name} must be positive to be tuned, got {values[-1]!r}.")
        return np.log(values)

    def params(self, theta: Floats) -> dict[str, Any]:
        """Return the parameters that these logarithms stand for."""
        values = np.exp(theta).tolist()
        out: dict[str, Any] = {}
        for name in self.names:
            n = self.model.n_components if name == "radius" else 1
            taken, values = values[:n], values[n:]
            out[name] = taken if name == "radius" else taken[0]
        return out

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        params = self.params(theta)
        model = clone(self.model).set_params(**params)
        steering = steering_of(model)
        if "gamma" in self.names:
            self.system = SteeringSystem(basis_of(model, self.X))
        kernel = None
        if "gamma" in self.names:
            kernel = kernel_slope(self.system.basis, model.gamma, steering.n_neighbors)
        total, gradient = 0.0, np.zeros_like(theta)
        for fold in self.folds:
            solved = self.system.solve(fold.constraints, steering)
            value, slope = fold_loss(solved.embedding[fold.points], fold.targets, self.loss)
            whole = np.zeros_like(solved.embedding)
            whole[fold.points] = slope
            found = map_gradient(self.system, fold.constraints, steering, solved, whole, kernel)
            total += value / len(self.folds)
            # By the logarithm: θ times the derivative by θ.
            # of Section 2.7, by log θ so that strengths stay positive
            parts = [np.ravel(params[name]) * np.ravel(found[name]) for name in self.names]
            gradient += np.concatenate(parts) / len(self.folds)
        self.last = theta.copy(), total, gradient
        return total, gradient


class KnowledgeKernelPCACV(CallbackSupportMixin, TransformerMixin, SoundEstimator):
    """Tune a steered map by the error at placements or labels that are held out.

    Parameters
    ----------
    estimator : KnowledgeKernelPCA, default=None
        Where to start from; its variant must be "variance" and its `anchor` 0. None stands
        for the defaults.
    params : sequence of str, default=("lambda_place", "radius")
        What to tune: of "lambda_place", "lambda_link", "lambda_label", "lambda_orth" (for soft
        orthogonality), "radius" and, for rbf and laplacian kernels, "gamma".
    loss : {"mse", "sq_hinge"}, default="mse"
        Squared error of held-out placements, or squared hinge loss of held-out labels.
    cv : int, default=5
        Number of folds.
    max_iter : int, default=50
        Most iterations of L-BFGS-B.
    tol : float, default=1e-5
        Largest entry of the projected gradient, by the logarithms of the parameters, at which
        the search ends.
    random_state : int, RandomState instance or None, default=None
        Of the folds.

    Attributes
    ----------
    best_estimator_ : KnowledgeKernelPCA
        Fitted with the tuned parameters and all constraints.
    best_params_ : dict
        The tuned parameters.
    best_loss_ : float
        Mean loss over folds with them.
    initial_loss_ : float
        Mean loss over folds at the start.
    losses_ : list of float
        The loss after each iteration; it never rises.
    gradient_ : ndarray
        The gradient, by logarithms, where the search ended.
    embedding_ : ndarray of shape (n_samples, n_components)
        The tuned map.
    n_iter_ : int
        Iterations made.
    n_features_in_ : int
        Number of features seen during fit.

    See Also
    --------
    KnowledgeKernelPCA : The map that is tuned.

    Notes
    -----
    Use `sklearn.model_selection.GridSearchCV` around a pipeline where there are labels for most
    samples. The loss is not convex: the search finds a local optimum near where it starts. With
    a handful of constraints there is little to learn from; about 20 are a sensible minimum.

    References
    ----------
    .. [1] Oglic (2018). Constructive approximation and learning by greedy algorithms, Section 2.7.
       Thesis, Bonn.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.kernel import KnowledgeKernelPCA, KnowledgeKernelPCACV
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> placements = {i: (X[i, 0], X[i, 1]) for i in range(20)}
    >>> tuner = KnowledgeKernelPCACV(params=("lambda_place", "radius", "gamma"), cv=4)
    >>> tuner = tuner.set_params(random_state=0).fit(X, placements=placements)
    >>> bool(tuner.best_loss_ < 0.2 * tuner.initial_loss_)
    True
    """

    _parameter_constraints = {
        "estimator": [None, KnowledgeKernelPCA],
        "params": ["array-like"],
        "loss": [StrOptions({"mse", "sq_hinge"})],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        params=("lambda_place", "radius"),
        loss="mse",
        cv=5,
        max_iter=50,
        tol=1e-5,
        random_state=None,
    ):
        self.estimator = estimator
        self.params = params
        self.loss = loss
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, *, placements=None, links=None, labels=None) -> Self:
        """Tune, then fit with all constraints.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            Samples, or their kernel matrix.
        y : None
            Ignored.
        placements, links, labels : object, default=None
            As in `KnowledgeKernelPCA.fit`.

        Returns
        -------
        self : object
            Fitted.
        """
        model = clone(self.estimator) if self.estimator is not None else KnowledgeKernelPCA()
        model._validate_params()
        rows = checked_samples(model, X)
        names = self._names(model)
        if "gamma" in names:
            model.gamma = settle_gamma(model.gamma, rows)
        known = read_constraints(placements, links, labels, rows.shape[0], model.n_components)
        folds = folds_of(known, self.loss, self.cv, self.random_state)
        objective = _Objective(model, rows, folds, names, self.loss)
        theta = self._search(objective)
        self.best_params_ = objective.params(theta)
        self.best_estimator_ = model.set_params(**self.best_params_)
        self.best_estimator_.fit(X, placements=placements, links=links, labels=labels)
        self.embedding_ = self.best_estimator_.embedding_
        self.n_features_in_ = self.best_estimator_.n_features_in_
        return self

    def _names(self, model: KnowledgeKernelPCA) -> tuple[str, ...]:
        """Return the parameters to tune, checked against the model."""
        names = tuple(self.params)
        unknown = [name for name in names if name not in TUNABLE]
        if unknown or not names or len(set(names)) < len(names):
            raise ValueError(f"params must be some of {TUNABLE}, each once, got {self.params!r}.")
        if model.variant != "variance" or model.anchor:
            raise ValueError(
                "The gradients are those of variant='variance' without an anchor, got "
                f"variant={model.variant!r} and anchor={model.anchor!r}."
            )
        if "lambda_orth" in names and model.orthogonality != "soft":
            raise ValueError("lambda_orth counts only where orthogonality='soft'.")
        if "gamma" in names and (
            model.kernel not in ("rbf", "laplacian") or model.low_rank is not None
        ):
            raise ValueError(
                "gamma can be tuned for the rbf and laplacian kernels without low_rank, got "
                f"kernel={model.kernel!r} and low_rank={model.low_rank!r}."
            )
        return names

    def _search(self, objective: _Objective) -> Floats:
        """Minimise the loss over the logarithms of the parameters."""
        start = objective.start()
        reach = np.log(REACH)
        self.initial_loss_ = objective(start)[0]
        self.losses_ = [self.initial_loss_]
        with FitProgress(self, self.max_iter) as progress:

            def note(theta: Floats) -> None:
                last = objective.last
                value = last[1] if last and np.array_equal(last[0], theta) else objective(theta)[0]
                self.losses_.append(value)
                if progress.step():
                    raise StopIteration

            found = minimize(
                objective,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=np.column_stack([start - reach, start + reach]),
                callback=note,
                options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-12},
            )
        self.n_iter_ = int(found.nit)
        self.best_loss_, self.gradient_ = float(found.fun), np.asarray(found.jac)
        inside = (found.x > start - reach) & (found.x < start + reach)
        largest = float(np.abs(self.gradient_[inside]).max(initial=0.0))
        if self.n_iter_ >= self.max_iter and largest > self.tol:
            warnings.warn(
                f"The search ended after max_iter={self.max_iter} iterations; the largest entry "
                f"of the gradient is {largest:.2e}, tol is {self.tol:.0e}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return np.asarray(found.x)

    def transform(self, X):
        """Return the places of new samples on the tuned map.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features) or (n_queries, n_samples)
            Samples, or their kernel with the training samples.

        Returns
        -------
        ndarray of shape (n_queries, n_components)
            Their places.
        """
        check_is_fitted(self)
        return self.best_estimator_.transform(X)
