"""The norm q across groups and the cost C, chosen by cross-validation.

Reference: J. Aflalo, A. Ben-Tal, C. Bhattacharyya, J. Saketha Nath and S. Raman (2011), "Variable
Sparsity Kernel Learning", Journal of Machine Learning Research 12, Section 4.1: accuracy depends on
q, and which is best must be found out.
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
from octavo.engine.estimators.doubles import real_array
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.kernel.mkl.kernel_normalize import as_stack
from octavo.kernel.mkl.kernel_stack import KernelStack
from octavo.kernel.vskl.base import descriptors_of
from octavo.kernel.vskl.estimators import VSKLClassifier
from octavo.kernel.vskl.kernel_groups import as_kernel_groups

__all__ = ["VSKLClassifierCV"]


class VSKLClassifierCV(DelegatesToFitted, ClassifierMixin, CallbackSupportMixin, SoundEstimator):
    """`VSKLClassifier` with its norm q and its cost C chosen by cross-validation.

    The kernels of a fold are computed and normalised once, on its training part; along the costs
    every fit starts from the last.

    Parameters
    ----------
    kernels : str or list, default="rbf_ladder"
        The kernels, as in `KernelStack`; ``"precomputed"`` is split by rows and columns.
    groups : None, str, array-like of shape (n_kernels,) or list of lists, default=None
        Which kernels belong together, as in `VSKLClassifier`.
    qs : array-like, default=(1, 2, 3, inf)
        Norms across groups to try, each at least 0.5.
    Cs : array-like, default=(10, 100, 1000, 10000)
        Costs to try.
    cv : int, splitter or iterable, default=None
        How to split, as in scikit-learn; five stratified folds by default.
    scoring : str, callable or None, default=None
        What to maximise; accuracy by default.
    normalize : {"multiplicative", "spherical", "trace"} or None, default="trace"
        How kernels are made comparable. With ``"trace"`` the kernels of a fold are larger than
        those of all samples, by the inverse of its share; the last fit makes up for it in C.
    tol : float, default=1e-3
        Duality gap to stop at, relative to the objective; at least 1e-10.
    max_iter : int, default=500
        Most changes of the weights.
    class_weight : dict, "balanced" or None, default=None
        Factors of C by class.

    Attributes
    ----------
    q_, C_ : float
        The choice; C as it was tried.
    best_score_ : float
        Its mean score.
    scores_ : ndarray of shape (n_qs, n_Cs, n_folds)
        All scores, with qs and Cs in rising order.
    best_estimator_ : VSKLClassifier
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
    VSKLClassifier : One q and one C.

    Notes
    -----
    Keeps all kernel matrices of a fold in memory. Not for more samples than that allows: choose q
    on a part of them.

    References
    ----------
    .. [1] Aflalo, Ben-Tal, Bhattacharyya, Saketha Nath and Raman (2011). Variable Sparsity Kernel
       Learning. JMLR 12.

    Examples
    --------
    >>> from octavo.kernel import VSKLClassifierCV, make_mkl_toy
    >>> X, y, _ = make_mkl_toy(60, nu=0.0, d=8, random_state=0)
    >>> model = VSKLClassifierCV("linear_per_feature", qs=(0.5, 1), Cs=(10, 100)).fit(X, y)
    >>> model.q_, model.scores_.shape
    (1.0, (2, 2, 5))
    """

    _parameter_constraints = {
        **{
            name: VSKLClassifier._parameter_constraints[name]
            for name in ("kernels", "groups", "normalize", "tol", "max_iter", "class_weight")
        },
        "qs": ["array-like"],
        "Cs": ["array-like"],
        "cv": ["cv_object"],
        "scoring": [str, callable, None],
    }

    def __init__(
        self,
        kernels="rbf_ladder",
        groups=None,
        qs=(1.0, 2.0, 3.0, np.inf),
        Cs=(10.0, 100.0, 1000.0, 10_000.0),
        *,
        cv=None,
        scoring=None,
        normalize="trace",
        tol=1e-3,
        max_iter=500,
        class_weight=None,
    ):
        self.kernels = kernels
        self.groups = groups
        self.qs = qs
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight

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
        """Try every q and C on every fold, and fit the best on all samples.

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
        qs, Cs = self._grid("qs"), self._grid("Cs")
        splits = list(check_cv(self.cv, y, classifier=True).split(np.zeros(len(y)), y))
        self.scores_ = np.empty((len(qs), len(Cs), len(splits)))
        with FitProgress(self, len(splits) * len(qs), X, y, step_name="norm") as progress:
            for fold, (train, test) in enumerate(splits):
                K, K_test, groups = self._fold(X, train, test)
                for i, q in enumerate(qs):
                    model = self._model("precomputed", groups, None).set_params(q=q)
                    self.scores_[i, :, fold] = self._scores(model, K, y[train], K_test, y[test], Cs)
                    progress.step()
        mean = self.scores_.mean(axis=2)
        best = np.unravel_index(int(mean.argmax()), mean.shape)
        self.q_, self.C_ = float(qs[best[0]]), float(Cs[best[1]])
        self.best_score_ = float(mean[best])
        share = np.mean([len(train) for train, _ in splits]) / len(y)
        # Unit trace over more samples makes kernels smaller: the same regularisation needs more C.
        cost = self.C_ / share if self.normalize == "trace" else self.C_
        self.best_estimator_ = self._model(self.kernels, self.groups, self.normalize)
        self.best_estimator_.set_params(q=self.q_, C=float(cost)).fit(X, y)
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

    def _grid(self, name: str) -> Floats:
        values = real_array(getattr(self, name), name, finite=False)
        fits = values >= 0.5 if name == "qs" else (values > 0.0) & np.isfinite(values)
        if values.ndim != 1 or len(values) == 0 or not fits.all():
            sign = "of at least 0.5" if name == "qs" else "> 0 and finite"
            raise ValueError(f"{name} must be a list of numbers {sign}, got {values.tolist()}.")
        return np.sort(values)

    def _fold(self, X: Any, train: Any, test: Any) -> tuple[Floats, Floats, Any]:
        """Return kernels of the training samples, of the others against them, and the groups."""
        stack = KernelStack(self.kernels, normalize=self.normalize)
        if self._is_precomputed():
            K = stack.fit_transform(X[:, train][:, :, train])
            diagonals = np.diagonal(X, axis1=1, axis2=2)[:, test]
            K_test = stack.transform(X[:, test][:, :, train], diagonals=diagonals)
        else:
            K, K_test = stack.fit_transform(X[train]), stack.transform(X[test])
        groups = as_kernel_groups(self.groups, len(K), descriptors_of(stack))
        return K, K_test, [kernels.tolist() for kernels in groups.members]

    def _model(self, kernels: Any, groups: Any, normalize: Any) -> VSKLClassifier:
        return VSKLClassifier(
            kernels,
            groups,
            normalize=normalize,
            tol=self.tol,
            max_iter=self.max_iter,
            class_weight=self.class_weight,
        )

    def _inner_candidates(self) -> list[VSKLClassifier]:
        return [VSKLClassifier()]

    def _query(self, X: Any) -> Any:
        return X if self._is_precomputed() else super()._query(X)

    def _scores(
        self, model: VSKLClassifier, K: Floats, y: Any, K_test: Floats, y_test: Any, Cs: Floats
    ) -> list[float]:
        """Return the scores along the costs, each fit started from the last."""
        model.set_params(warm_start=True)
        scorer = check_scoring(model, scoring=self.scoring)
        scores = []
        for C in Cs:
            with warnings.catch_warnings():
                # Scales and idle kernels: the last fit, on all samples, tells of them.
                warnings.filterwarnings("ignore", message="The variances of the kernels")
                warnings.filterwarnings("ignore", message=r"Kernel\(s\)")
                scores.append(scorer(model.set_params(C=C).fit(K, y), K_test, y_test))
        return scores
