"""What private classifiers share: bounded rows, labels, budget, noise and decisions.

Reference: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12. One-vs-rest problems on
the same records share epsilon evenly; the intercept is the coefficient of a constant feature.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.extmath import row_norms
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.sklearn_door import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    fit_context,
)
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import canonical_csr, validate_rows
from octavo.linear.private.noise import NoiseSource, noise_source
from octavo.linear.private.perturbation import (
    LOSS_NAMES,
    CustomLoss,
    Loss,
    Perturbation,
    calibrate_perturbation,
    private_loss,
    private_minimisers,
    release_mask,
)

_ROUNDING = 1e-12  # rows that were normalised may exceed their bound by rounding


def bounded_rows(X: Any, data_norm: float, clip: str) -> Any:
    """Return rows of norm at most `data_norm`; each depends on nothing but itself."""
    X = canonical_csr(X)  # a column named twice counts as its sum, and so does its norm
    norms = row_norms(X)
    if clip == "raise":
        over = norms > data_norm * (1 + _ROUNDING)
        if over.any():
            worst = int(np.argmax(norms))
            raise ValueError(
                f"Row {worst} has norm {norms[worst]:.6g}, above data_norm={data_norm:g} "
                f"({int(over.sum())} of {len(norms)} rows are). Give a bound that holds for any "
                "record, not one taken from these; or let clip='clip' shorten such rows."
            )
        return X
    if clip == "clip":
        factor = data_norm / np.maximum(norms, data_norm)
    else:
        factor = data_norm / np.where(norms > 0, norms, data_norm)
    return sp.csr_array(sp.diags_array(factor) @ X) if sp.issparse(X) else X * factor[:, None]


def append_constant(X: Any, constant: float) -> Any:
    """Return X with one more column, that of the intercept."""
    column = np.full((X.shape[0], 1), constant)
    return sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])


def one_vs_rest_targets(codes: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Return -1/+1 targets, a row per problem: one for two classes, else one a class."""
    positive = np.array([1]) if n_classes == 2 else np.arange(n_classes)
    return np.where(codes == positive[:, None], 1.0, -1.0)


def _is_logistic(estimator: Any) -> bool:
    if isinstance(estimator.loss, str) and estimator.loss == "logistic":
        return True
    raise AttributeError(
        f"predict_proba is for loss='logistic'; {estimator.loss!r} gives no probabilities."
    )


class PrivateClassifier(ClassifierMixin, SoundEstimator):
    """What private classifiers share: labels, budget, noise, decisions.

    A subclass says how records become features (`_train_features`, `_test_features`) and
    which norm those cannot exceed (`_feature_norm`). Nothing is stored on the fitted model that
    depends on the records other than through the noise.

    Parameters
    ----------
    branch : {"auto", 1, 2, "best"}, default="auto"
        See `calibrate_perturbation`.
    epsilon : float, default=1.0
        The privacy loss; ``np.inf`` for the twin without noise.
    fit_intercept : bool, default=False
        Learn an intercept, penalised and noised like the coefficients.
    intercept_scaling : float, default=1.0
        The constant feature of the intercept.
    ledger : PrivacyLedger, default=None
        Every fit is entered there, or refused.
    method : {"objective", "output"}, default="objective"
        Where the noise goes.
    random_state : None, int or RandomState, default=None
        None for secret noise; anything else warns.
    slack : {"paper", "tight"}, default="paper"
        See `calibrate_perturbation`.
    tol : float, default=1e-10
        Largest norm of the gradient that counts as a minimiser; a larger one means more noise.
    """

    differentially_private = True

    _parameter_constraints: dict[str, Any] = {
        "epsilon": [Interval(Real, 0, None, closed="right")],
        "loss": [StrOptions(set(LOSS_NAMES)), CustomLoss],
        "method": [StrOptions({"objective", "output"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "h": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "branch": [StrOptions({"auto", "best"}), Options(int, {1, 2})],
        "slack": [StrOptions({"paper", "tight"})],
        "classes": ["array-like", None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "ledger": [HasMethods("spend"), None],
        "random_state": ["random_state"],
    }

    epsilon: float
    loss: str | CustomLoss
    method: str
    alpha: float
    h: float
    fit_intercept: bool
    intercept_scaling: float
    branch: str | int
    slack: str
    classes: ArrayLike | None
    tol: float
    ledger: Any
    random_state: Any

    def _start(self, n_features: int, source: NoiseSource) -> None:
        """Draw what the features need and the data does not decide."""

    def _train_features(self, X: Any) -> Any:
        raise NotImplementedError

    def _test_features(self, X: Any) -> Any:
        raise NotImplementedError

    def _feature_norm(self) -> float:
        raise NotImplementedError

    def _encode(self, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return the classes and the class of each record."""
        return encode_classes(y, classes=self.classes, owner=self)

    def _design(self, X: Any) -> Any:
        """Return the training matrix, with the intercept's column where there is one."""
        V = self._train_features(X)
        return append_constant(V, self.intercept_scaling) if self.fit_intercept else V

    def _plan(self, n_samples: int, n_problems: int) -> tuple[Loss, Perturbation]:
        """Return the loss and the noise of each of several problems on the same records."""
        loss = private_loss(self.loss, self.h)
        constant = self.intercept_scaling if self.fit_intercept else 0.0
        return loss, calibrate_perturbation(
            self.method,
            n_samples=n_samples,
            alpha=self.alpha,
            epsilon=self.epsilon / n_problems,  # problems share the records: their ε add up
            lipschitz=loss.lipschitz,
            curvature=loss.curvature_bound,
            data_norm=float(np.hypot(self._feature_norm(), constant)) * (1 + _ROUNDING),
            branch=self.branch,
            slack=self.slack,
            tol=self.tol,
        )

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the private model; this spends `epsilon` of the records' privacy each time.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Records.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : object
            The classifier.
        """
        X, y = validate_rows(self, X, y, accept_sparse="csr", dtype=np.float64)
        classes, codes = self._encode(np.asarray(y))
        source = noise_source(self.random_state)
        self._start(X.shape[1], source)
        V = self._design(X)
        targets = one_vs_rest_targets(codes, len(classes))
        _, perturbation = self._plan(X.shape[0], len(targets))
        mask = release_mask(perturbation, V.shape[0], V.shape[1], self.alpha, self.tol)
        if self.ledger is not None:
            self.ledger.spend(self.epsilon, type(self).__name__)
        coef = np.vstack(
            [
                private_minimisers(
                    V,
                    target,
                    self.loss,
                    self.alpha,
                    perturbation,
                    h=self.h,
                    tol=self.tol,
                    random_state=source,
                )
                for target in targets
            ]
        )
        self.classes_ = classes
        self.coef_ = coef[:, :-1] if self.fit_intercept else coef
        self.intercept_ = np.zeros(len(coef))
        if self.fit_intercept:
            self.intercept_ = coef[:, -1] * self.intercept_scaling
        self.epsilon_spent_ = self.epsilon
        self.epsilon_prime_ = perturbation.epsilon_prime
        self.delta_reg_ = perturbation.delta_reg
        self.noise_scale_ = perturbation.noise_scale
        self.grid_, self.mask_scale_ = mask.grid, mask.scale * mask.grid
        self.branch_ = perturbation.branch
        self.n_samples_public_ = X.shape[0]
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each class; of two classes, that of the second.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Records.

        Returns
        -------
        score : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Linear in the features.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        score = self._test_features(X) @ self.coef_.T + self.intercept_
        return score[:, 0] if len(self.classes_) == 2 else score

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the highest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Records.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Classes.
        """
        score = self.decision_function(X)
        winner = (score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)
        return self.classes_[winner]

    @available_if(_is_logistic)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class; for the logistic loss alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Records.

        Returns
        -------
        probability : ndarray of shape (n_samples, n_classes)
            With more than two classes, one-vs-rest probabilities scaled to add to one.
        """
        score = self.decision_function(X)
        if score.ndim == 1:
            return np.column_stack([expit(-score), expit(score)])
        # Scaled by the largest, so that scores far below zero do not all vanish.
        log_chance = -np.logaddexp(0.0, -score)
        chance = np.exp(log_chance - log_chance.max(axis=1, keepdims=True))
        return chance / chance.sum(axis=1, keepdims=True)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
