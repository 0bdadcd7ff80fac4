"""Choose a private model among several without spending privacy on the side.

Trying one penalty after the other on the same records and keeping the best is a release of its
own. Here each candidate is fitted on records of its own and the choice itself is private, so that
the whole costs one epsilon; or the choice is made on public records, and costs nothing.

Reference: K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011), "Differentially Private
Empirical Risk Minimization", Journal of Machine Learning Research 12: Algorithm 4 and
Section 6.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.utils import Tags
from sklearn.utils.validation import check_X_y

from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.delegation import DelegatesToFitted
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import canonical_csr, validate_rows
from octavo.linear.private.estimators import PrivateLogisticRegression
from octavo.linear.private.noise import (
    NoiseSource,
    ReproducibleNoiseWarning,
    exponential_mechanism,
    noise_source,
)

__all__ = ["PrivateModelSelector"]

DEFAULT_GRID = {"alpha": [1e-1, 1e-2, 1e-3]}


def disjoint_parts(n_samples: int, n_parts: int, source: NoiseSource) -> list[NDArray[np.intp]]:
    """Divide records at random into parts of equal size, give or take one."""
    if n_samples < n_parts:
        raise ValueError(
            f"{n_parts - 1} candidates need at least {n_parts} records, one part each and one "
            f"to choose by; got n_samples={n_samples}."
        )
    return np.array_split(source.permutation(n_samples), n_parts)


class PrivateModelSelector(
    DelegatesToFitted, CallbackSupportMixin, ClassifierMixin, SoundEstimator
):
    """Fit several private classifiers and release one, for one epsilon in all.

    Parameters
    ----------
    estimators : estimator or list of estimators, default=None
        Candidates: private classifiers. Others than octavo's declare themselves by an attribute
        ``differentially_private = True`` and have a parameter ``epsilon``, which is set to the
        selector's. None is `PrivateLogisticRegression`, and without a `param_grid` that with
        alpha 0.1, 0.01 and 0.001.
    epsilon : float, default=1.0
        The privacy loss of the whole: fits and choice.
    random_state : None, int or RandomState, default=None
        None for a secret split, secret noise and a secret choice; anything else warns.
    param_grid : dict or list of dict, default=None
        Values of parameters, as for scikit-learn's `ParameterGrid`; every combination of every
        estimator is a candidate. The grid must not be made by looking at the records.
    cv : int, default=3
        Number of folds when candidates are compared on public records.
    classes : array-like, default=None
        The possible labels; read off `y` when None.
    ledger : PrivacyLedger, default=None
        The fit is entered there once, or refused.

    Attributes
    ----------
    best_estimator_ : estimator
        The classifier chosen.
    best_index_ : int
        Its place among `candidates_`.
    candidates_ : list of estimators
        What there was to choose from, unfitted.
    estimators_ : list of estimators
        The fitted candidates. They may be released as well: that is part of the same epsilon.
        With public records only the one chosen is fitted on the private ones.
    public_errors_ : ndarray of shape (n_candidates,)
        Errors on the public records, where these were given.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    epsilon_spent_ : float
        What this fit has cost.
    n_samples_public_ : int
        Number of private records; it is not protected.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X has names that are strings.

    See Also
    --------
    exponential_mechanism : The private choice.
    selection_excess_bound : How much worse than the best it can be.

    Notes
    -----
    Every candidate sees one part of the records in m + 1 parts, for m candidates: keep the list
    short, and use a public data set where there is one. How many mistakes the candidates
    make on the last part is not kept, because it is not private. Do not use scikit-learn's
    `GridSearchCV` on private classifiers instead: it spends epsilon once a fit, and more when
    it looks at the scores.

    With public records the candidates are fitted there with an epsilon so much larger as the
    public set is smaller. Their noise is then the noise that the private fit will have, and the
    penalty that suits it is found.

    References
    ----------
    .. [1] K. Chaudhuri, C. Monteleoni and A. D. Sarwate (2011). "Differentially Private
       Empirical Risk Minimization". Journal of Machine Learning Research 12.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.linear import PrivateHuberSVM, PrivateModelSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.7, 0.7, (30_000, 2))
    >>> y = X[:, 0] > 0.1 * rng.normal(size=30_000)
    >>> selector = PrivateModelSelector(
    ...     PrivateHuberSVM(), epsilon=0.5, param_grid={"alpha": [1e-3, 1e-2, 1.0]}
    ... )
    >>> bool(selector.fit(X, y).score(X, y) > 0.85)
    True
    >>> selector.epsilon_spent_
    0.5
    """

    _parameter_constraints: dict[str, Any] = {
        "estimators": [HasMethods(["fit", "predict"]), list, tuple, None],
        "epsilon": [Interval(Real, 0, None, closed="right")],
        "random_state": ["random_state"],
        "param_grid": [dict, list, None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "classes": ["array-like", None],
        "ledger": [HasMethods("spend"), None],
    }

    def __init__(
        self,
        estimators: Any = None,
        epsilon: float = 1.0,
        random_state: Any = None,
        *,
        param_grid: Any = None,
        cv: int = 3,
        classes: ArrayLike | None = None,
        ledger: Any = None,
    ) -> None:
        self.estimators = estimators
        self.epsilon = epsilon
        self.random_state = random_state
        self.param_grid = param_grid
        self.cv = cv
        self.classes = classes
        self.ledger = ledger

    def _inner_candidates(self) -> list[Any]:
        """Return every combination of estimator and parameters, unfitted."""
        given, grid = self.estimators, self.param_grid
        if given is None:
            given, grid = PrivateLogisticRegression(), DEFAULT_GRID if grid is None else grid
        found = []
        for estimator in given if isinstance(given, (list, tuple)) else [given]:
            parameters = estimator.get_params()
            # Other estimators have an epsilon too, which means something else.
            private = getattr(estimator, "differentially_private", False)
            if not private or "epsilon" not in parameters:
                raise ValueError(
                    "candidates must be private classifiers: with a parameter epsilon, and an "
                    "attribute differentially_private that is True; "
                    f"{type(estimator).__name__} is not one."
                )
            if parameters.get("ledger") is not None:
                raise ValueError("Give the ledger to the selector, not to its candidates.")
            found += [clone(estimator).set_params(**p) for p in ParameterGrid(grid or {})]
        if not found:
            raise ValueError("There are no candidates: estimators is an empty list.")
        return found

    def _prepared(self, candidate: Any, epsilon: float, source: NoiseSource) -> Any:
        """Return a copy of a candidate with the selector's budget, labels and randomness."""
        known = candidate.get_params(deep=False)
        wanted: dict[str, Any] = {"epsilon": epsilon}
        if "classes" in known:
            wanted["classes"] = self.classes_
        if not source.secret and "random_state" in known:
            wanted["random_state"] = source.integer()
        return clone(candidate).set_params(**wanted)

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Any, y: ArrayLike, *, X_public: Any = None, y_public: ArrayLike | None = None
    ) -> Self:
        """Fit the candidates and choose one; this spends `epsilon` of the records' privacy.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Private records.
        y : array-like of shape (n_samples,)
            Their classes.
        X_public, y_public : array-like, optional
            Public records from the same source. The choice is then made on them alone, and all
            private records serve the candidate chosen.

        Returns
        -------
        self : PrivateModelSelector
            The selector.
        """
        X, y = validate_rows(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.candidates_ = self._inner_candidates()
        self.classes_, _ = encode_classes(y, classes=self.classes, owner=self)
        if (X_public is None) != (y_public is None):
            raise ValueError("X_public and y_public go together; got only one of them.")
        source = noise_source(self.random_state)
        with warnings.catch_warnings():
            # The selector itself has warned already.
            warnings.simplefilter("ignore", ReproducibleNoiseWarning)
            if X_public is None:
                self._fit_private(X, np.asarray(y), source)
            else:
                shown, told = check_X_y(X_public, y_public, accept_sparse="csr", dtype=np.float64)
                self._fit_public(X, np.asarray(y), canonical_csr(shown), told, source)
        self.epsilon_spent_ = self.epsilon
        self.n_samples_public_ = X.shape[0]
        return self

    def _spend(self) -> None:
        if self.ledger is not None:
            self.ledger.spend(self.epsilon, type(self).__name__)

    def _fit_private(self, X: Any, y: NDArray[Any], source: NoiseSource) -> None:
        """Algorithm 4: candidates on disjoint parts, chosen by their mistakes on the last."""
        parts = disjoint_parts(X.shape[0], len(self.candidates_) + 1, source)
        self._spend()
        self.estimators_, mistakes = [], []
        with FitProgress(self, len(self.candidates_), X, y, step_name="candidate") as progress:
            for candidate, part in zip(self.candidates_, parts):
                # Each on its own part: Algorithm 4 spends ε once
                fitted = self._prepared(candidate, self.epsilon, source).fit(X[part], y[part])
                self.estimators_.append(fitted)
                mistakes.append(int((fitted.predict(X[parts[-1]]) != y[parts[-1]]).sum()))  # z_i
                progress.step()
        # e^(-ε z_i / 2)
        self.best_index_ = exponential_mechanism(mistakes, self.epsilon, random_state=source)
        self.best_estimator_ = self.estimators_[self.best_index_]

    def _fit_public(
        self, X: Any, y: NDArray[Any], X_public: Any, y_public: NDArray[Any], source: NoiseSource
    ) -> None:
        """Choose by cross-validation on public records, then fit on all private ones."""
        folds = StratifiedKFold(self.cv, shuffle=True, random_state=source.integer())
        splits = list(folds.split(X_public, y_public))
        errors = np.zeros(len(self.candidates_))
        with FitProgress(self, len(errors) + 1, X, y, step_name="candidate") as progress:
            for k, candidate in enumerate(self.candidates_):
                for train, test in splits:
                    epsilon = self.epsilon * X.shape[0] / len(train)  # n times epsilon is kept
                    fitted = self._prepared(candidate, epsilon, source)
                    fitted.fit(X_public[train], y_public[train])
                    errors[k] += (fitted.predict(X_public[test]) != y_public[test]).sum()
                progress.step()
            self.best_index_ = int(np.argmin(errors))
            self._spend()
            chosen = self._prepared(self.candidates_[self.best_index_], self.epsilon, source)
            self.best_estimator_ = chosen.fit(X, y)
            progress.step()
        self.estimators_ = [self.best_estimator_]
        self.public_errors_ = errors / len(y_public)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
