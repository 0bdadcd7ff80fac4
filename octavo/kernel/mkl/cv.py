"""The norm p and the cost C of lp-norm multiple kernel learning, chosen by cross-validation.

Reference: M. Kloft, U. Brefeld, S. Sonnenburg and A. Zien (2011), "lp-Norm Multiple Kernel
Learning", Journal of Machine Learning Research 12, Section 6: which p is best depends on how many
kernels are informative, and must be found out.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.classes import encode_classes
from octavo.engine.estimators.delegation import DelegatesToFitted
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.kernel.mkl.estimators import LpMKLClassifier
from octavo.kernel.mkl.kernel_normalize import as_stack
from octavo.kernel.mkl.kernel_stack import KernelStack

__all__ = ["LpMKLClassifierCV"]


class LpMKLClassifierCV(DelegatesToFitted, ClassifierMixin, CallbackSupportMixin, SoundEstimator):
    """`LpMKLClassifier` with its norm p and its cost C chosen by cross-validation.

    The kernels of a fold are computed and normalised once, on its training part; along the costs
    every fit starts from the last.

    Parameters
    ----------
    kernels : str or list, default="rbf_ladder"
        The kernels, as in `KernelStack`; ``"precomputed"`` is split by rows and columns.
    norms : array-like, default=(1, 4/3, 2, 4, inf)
        Norms to try.
    Cs : array-like, default=(0.01, 0.1, 1, 10, 100)
        Costs to try.
    cv : int, splitter or iterable, default=None
        How to split, as in scikit-learn; five stratified folds by default.
    scoring : str, callable or None, default=None
        What to maximise; accuracy by default.
    loss : {"hinge", "logistic", "squared"}, default="hinge"
        The loss, as in `LpMKLClassifier`.
    normalize : {"multiplicative", "spherical", "trace"} or None, default="multiplicative"
        How kernels are made comparable.
    center : bool, default=False
        Whether to centre the kernels.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the penalty; at least 1e-10.
    max_iter : int, default=200
        Most changes of the weights.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class.
    shared_weights : bool, default=False
        Whether all classes share one vector of weights.

    Attributes
    ----------
    p_, C_ : float
        The choice.
    best_score_ : float
        Its mean score.
    scores_ : ndarray of shape (n_ps, n_Cs, n_folds)
        All scores.
    best_estimator_ : LpMKLClassifier
        Fitted on all samples with the choice.
    weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Its weights.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_iter_ : int
        Changes of the weights in the last fit.
    n_features_in_ : int
        Number of features; of training samples if precomputed.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where X has them.

    See Also
    --------
    LpMKLClassifier : One p and one C.

    Notes
    -----
    Keeps all kernel matrices of a fold in memory. Not for more samples than that allows: choose p
    on a part of them.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg and Zien (2011). lp-Norm Multiple Kernel Learning. JMLR 12.

    Examples
    --------
    >>> from octavo.kernel import LpMKLClassifierCV, make_mkl_toy
    >>> X, y, _ = make_mkl_toy(100, nu=0.98, d=20, random_state=0)
    >>> model = LpMKLClassifierCV("linear_per_feature", norms=(1, 4), Cs=(0.01, 0.1)).fit(X, y)
    >>> model.p_, model.C_
    (1.0, 0.01)
    """

    _parameter_constraints = {
        **{
            name: LpMKLClassifier._parameter_constraints[name]
            for name in (
                "kernels",
                "normalize",
                "center",
                "tol",
                "max_iter",
                "class_weight",
                "shared_weights",
                "loss",
            )
        },
        "norms": ["array-like"],
        "Cs": ["array-like"],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
    }

    def __init__(
        self,
        kernels="rbf_ladder",
        norms=(1, 4 / 3, 2, 4, np.inf),
        Cs=(0.01, 0.1, 1.0, 10.0, 100.0),
        *,
        cv=None,
        scoring=None,
        loss="hinge",
        normalize="multiplicative",
        center=False,
        tol=1e-3,
        max_iter=200,
        class_weight=None,
        shared_weights=False,
    ):
        self.kernels = kernels
        self.norms = norms
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.normalize = normalize
        self.center = center
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.shared_weights = shared_weights

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        precomputed = self._is_precomputed()
        tags.input_tags.two_d_array = not precomputed
        tags.input_tags.three_d_array = precomputed
        tags.input_tags.sparse = not precomputed
        return tags

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernels, str) and self.kernels == "precomputed"

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y) -> Self:
        """Try every p and C on every fold, and fit the best on all samples.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Samples, or precomputed kernels of shape (n_kernels, n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        X, y = self._checked(X, y)
        norms, Cs = self._grid("norms", 1.0), self._grid("Cs", 0.0)
        splits = list(check_cv(self.cv, y, classifier=True).split(np.zeros(len(y)), y))
        self.scores_ = np.empty((len(norms), len(Cs), len(splits)))
        with FitProgress(self, len(splits) * len(norms), X, y, step_name="norm") as progress:
            for fold, (train, test) in enumerate(splits):
                K, K_test = self._fold(X, train, test)
                for i, p in enumerate(norms):
                    self.scores_[i, :, fold] = self._scores(K, y[train], K_test, y[test], p, Cs)
                    progress.step()
        mean = self.scores_.mean(axis=2)
        best = np.unravel_index(int(mean.argmax()), mean.shape)
        self.p_, self.C_ = float(norms[best[0]]), float(Cs[best[1]])
        self.best_score_ = float(mean[best])
        self.best_estimator_ = self._model(self.kernels, self.normalize, self.center)
        self.best_estimator_.set_params(p=self.p_, C=self.C_).fit(X, y)
        self.weights_ = self.best_estimator_.weights_
        self.n_iter_ = self.best_estimator_.n_iter_
        return self

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        if self._is_precomputed():
            X, y = as_stack(X), np.asarray(y).ravel()
            self.n_features_in_ = X.shape[1]
            if len(y) != X.shape[1]:
                raise ValueError(
                    f"y must have one entry per sample: the kernels have {X.shape[1]}, y {len(y)}."
                )
        else:
            X, y = validate_rows(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, _ = encode_classes(y, owner=self)
        return X, y

    def _grid(self, name: str, least: float) -> Floats:
        values = np.asarray(getattr(self, name), dtype=np.float64)
        fits = (values >= least) if least == 1.0 else (values > least) & np.isfinite(values)
        if values.ndim != 1 or len(values) == 0 or not fits.all():
            sign = ">= 1" if least == 1.0 else "> 0 and finite"
            raise ValueError(f"{name} must be a list of numbers {sign}, got {values.tolist()}.")
        return np.sort(values)

    def _fold(self, X: Any, train: Any, test: Any) -> tuple[Floats, Floats]:
        """Return kernels of the training samples, and of the others against them."""
        stack = KernelStack(self.kernels, normalize=self.normalize, center=self.center)
        if not self._is_precomputed():
            return stack.fit_transform(X[train]), stack.transform(X[test])
        K = stack.fit_transform(X[:, train][:, :, train])
        diagonals = np.diagonal(X, axis1=1, axis2=2)[:, test]
        return K, stack.transform(X[:, test][:, :, train], diagonals=diagonals)

    def _model(self, kernels: Any, normalize: Any, center: bool) -> LpMKLClassifier:
        return LpMKLClassifier(
            kernels,
            loss=self.loss,
            normalize=normalize,
            center=center,
            tol=self.tol,
            max_iter=self.max_iter,
            class_weight=self.class_weight,
            shared_weights=self.shared_weights,
        )

    def _inner_candidates(self) -> list[LpMKLClassifier]:
        return [LpMKLClassifier()]

    def _query(self, X: Any) -> Any:
        return X if self._is_precomputed() else super()._query(X)

    def _scores(self, K: Floats, y: Any, K_test: Floats, y_test: Any, p: float, Cs: Floats) -> Any:
        """Return the scores along the costs, each fit started from the last."""
        model = self._model("precomputed", None, False).set_params(p=p, warm_start=True)
        scorer = check_scoring(model, scoring=self.scoring)
        scores = []
        for C in Cs:
            with warnings.catch_warnings():
                # Scales are the caller's business; the last fit on all samples tells of them.
                warnings.filterwarnings("ignore", message="The variances of the kernels")
                scores.append(scorer(model.set_params(C=C).fit(K, y), K_test, y_test))
        return scores
