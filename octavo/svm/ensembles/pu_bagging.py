"""Classification from positive and unlabelled rows by bagged support vector machines.

Every machine separates all positives from a random sample of unlabelled rows, as if those were
negative; the few positives among them move a different machine each time, and the mean of all
machines ranks rows by how positive they look.

Mordelet and Vert (2014), A bagging SVM to learn from positive and unlabeled examples; a use that
Claesen, De Smet, Suykens and De Moor (2014) name in their introduction.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state

from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.svm.ensembles.aggregation import make_aggregator
from octavo.svm.ensembles.estimator import KERNEL_CONSTRAINTS
from octavo.svm.ensembles.pooled_svc import PooledSVC, tasks_of_samples

__all__ = ["PUBaggingSVC"]


def unlabelled_samples(
    positive: np.ndarray, n_samples: int, size: int, rng: np.random.RandomState
) -> list[np.ndarray]:
    """Return all positive rows with `size` unlabelled ones, drawn with replacement, many times."""
    kept, others = np.flatnonzero(positive), np.flatnonzero(~positive)
    return [
        np.sort(np.concatenate([kept, rng.choice(others, size, replace=True)]))
        for _ in range(n_samples)
    ]


class PUBaggingSVC(PooledSVC):
    """Bagged SVMs for positive and unlabelled rows, over one pool of support vectors.

    Parameters
    ----------
    n_estimators : int, default=50
        Number of machines.
    n_unlabelled : "auto" or int, default="auto"
        Unlabelled rows in each sample; "auto" is the number of positives.
    C : float, default=1.0
        Penalty of an error on an unlabelled row. The positives of a sample together weigh as
        much as its unlabelled rows.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"} or callable, default="rbf"
        The kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Scale of "rbf", "poly" and "sigmoid", settled once on all rows.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Offset of "poly" and "sigmoid".
    threshold : float, default=0.0
        A row is called positive where the mean decision value exceeds it.
    out_of_bag : bool, default=True
        Whether to rank the unlabelled rows of the training set by the machines that were not
        trained on them.
    tol : float, default=1e-3
        Tolerance of LIBSVM's optimality conditions; at least 1e-10, what it can reach.
    cache_size : float, default=200
        Megabytes of LIBSVM's cache, for each machine in training.
    batch_size : int, default=4096
        Rows that prediction takes at a time at most.
    n_jobs : int, default=None
        Machines trained, or batches predicted, at a time.
    random_state : int, RandomState instance or None, default=None
        Draws samples.

    Attributes
    ----------
    oob_decision_function_ : ndarray of shape (n_samples,)
        Mean decision value of the machines whose sample does not hold a row, less the threshold.
        NaN for positives, which are in every sample. With ``out_of_bag=True``.
    support_indices_ : ndarray of shape (n_pool,)
        Rows of the training set that some machine uses.
    support_vectors_ : {ndarray, CSR matrix} of shape (n_pool, n_features)
        Those rows; empty for a precomputed kernel.
    dual_coef_ : CSC array of shape (n_pool, n_estimators)
        Signed dual coefficients.
    intercept_ : ndarray of shape (n_estimators,)
        Offsets.
    estimators_samples_ : list of ndarray
        Rows of the sample of each machine, those drawn twice twice.
    duality_gap_ : ndarray of shape (n_estimators,)
        Primal minus dual objective of the problem of every machine, where LIBSVM stopped.
    n_support_total_ : int
        Support vectors of all machines, counted for each machine.
    gamma_ : float
        The value of `gamma` that was used.
    aggregator_ : object
        The aggregation in use: the mean decision value.
    classes_ : ndarray of shape (2,)
        Labels: unlabelled, positive.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    EnsembleSVC : For labelled rows.

    Notes
    -----
    Do not use it where negatives are known: `EnsembleSVC` with ``sampling="balanced"`` uses them.
    Where only positives are at hand and nothing else, `sklearn.svm.OneClassSVM` describes them.
    Decision values rank; where zero falls depends on how many unlabelled rows are positive, so
    choose `threshold` by what is known of their share.

    References
    ----------
    .. [1] Mordelet and Vert (2014). A bagging SVM to learn from positive and unlabeled examples.
       Pattern Recognition Letters 37:201-209.
    .. [2] Claesen, De Smet, Suykens and De Moor (2014). EnsembleSVM: a library for ensemble
       learning using support vector machines. JMLR 15:141-145.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import roc_auc_score
    >>> from octavo.svm import PUBaggingSVC
    >>> X, truth = make_moons(600, noise=0.2, random_state=0)
    >>> known = truth * (np.random.default_rng(0).random(600) < 0.2)
    >>> model = PUBaggingSVC(random_state=0).fit(X, known)
    >>> hidden = known == 0
    >>> print(f"{roc_auc_score(truth[hidden], model.oob_decision_function_[hidden]):.2f}")
    0.98
    """

    _parameter_constraints = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "n_unlabelled": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        **KERNEL_CONSTRAINTS,
        "threshold": [Interval(Real, None, None, closed="neither")],
        "out_of_bag": ["boolean"],
    }

    def __init__(
        self,
        n_estimators=50,
        *,
        n_unlabelled="auto",
        C=1.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        threshold=0.0,
        out_of_bag=True,
        tol=1e-3,
        cache_size=200,
        batch_size=4096,
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.n_unlabelled = n_unlabelled
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.threshold = threshold
        self.out_of_bag = out_of_bag
        self.tol = tol
        self.cache_size = cache_size
        self.batch_size = batch_size
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y):
        """Train the machines.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows; for a precomputed kernel the (n_samples, n_samples) kernel values.
        y : array-like of shape (n_samples,)
            Two labels: the larger stands for positive, the other for unlabelled.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, y = self._check_training_data(X, y)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported: y must hold two labels, positive and "
                f"unlabelled; got {len(self.classes_)}."
            )
        self._settle_kernel(X)
        positive = y == 1
        n_pos = int(positive.sum())
        size = n_pos if self.n_unlabelled == "auto" else self.n_unlabelled
        rng = check_random_state(self.random_state)
        self.estimators_samples_ = unlabelled_samples(positive, self.n_estimators, size, rng)
        penalties = self.C * np.where(positive, size / n_pos, 1.0)  # both sides weigh the same
        self._fit_tasks(X, y, tasks_of_samples(self.estimators_samples_, penalties))
        # the mean of decision values ranks; votes would tie
        self.aggregator_ = make_aggregator("mean", self._n_machines, 2, threshold=self.threshold)
        self.__dict__.pop("oob_decision_function_", None)  # of an earlier fit
        if self.out_of_bag:
            self._set_out_of_bag(X, y, ~positive)
            values, known, *_ = self.__dict__.pop("_out_of_bag")
            self.oob_decision_function_ = self.aggregator_.decision(values, known)
        return self
