"""`MICGroup`: one response, features in groups, chosen by description length.

Reference: P. S. Dhillon, D. Foster and L. H. Ungar (2011), "Minimum Description Length Penalization
for Group and Multi-Task Sparse Learning", Journal of Machine Learning Research 12, 525-564,
section 4.2 and Algorithm 2.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.estimators.sparse_rows import validate_rows
from octavo.engine.linalg.forward_selection import coefficients
from octavo.engine.linalg.unit_columns import UnitColumns
from octavo.linear.code_length.codes import coefficient_bits
from octavo.linear.code_length.estimators import warn_of_constant, warn_of_saturation
from octavo.linear.code_length.group_search import search_groups
from octavo.linear.code_length.groups import SCHEMES, GroupCode, as_group_labels

__all__ = ["MICGroup"]


def resolved_variance(variance: str, scheme: str) -> str:
    """Return "profile" or "plugin", which "auto" is for schemes that add a feature or more."""
    if variance != "auto":
        return variance
    return "profile" if scheme in ("switch", "ric") else "plugin"


class MICGroup(RegressorMixin, SelectorMixin, SoundEstimator):
    """Linear regression on few features out of few groups, without a tuning parameter.

    Features stand in groups (pathways of genes, kinds of words). A group that has given a feature
    gives its next one more cheaply, so that small groups with several good features are found
    and large groups without any stay empty; within a group only some features need enter.

    Parameters
    ----------
    groups : array-like of shape (n_features,) or sequence of sequence of int, default=None
        A label for each feature, or the features of each group; every feature in exactly one. All
        features are one group by default.
    scheme : {"switch", "subset", "full", "ric"}, default="switch"
        How a model is coded: a feature at a time, the group by 1 + lg K bits when it is new and
        1 + lg Q when it is one of the Q in use (MIC-Group-SC); a subset of a group at once
        (MIC-Group(I)); a whole group at once; or without groups (the risk inflation criterion).
    search : {"forward", "forward-backward"}, default="forward"
        Whether to stop where no step shortens the description, or to go on and then delete
        features again, keeping the shortest description on the way.
    coef_bits : float or {"aic", "bic", "bic-paper"}, default=2.0
        Bits of a coefficient: a number, one nat, lg(n) / 2 or lg(n).
    variance : {"auto", "profile", "plugin"}, default="auto"
        Whether residuals are coded with the variance of the model with or without the candidate.
        "auto" is "profile" for single features and "plugin" for subsets and whole groups, where
        the best of many features would seem to save too much.
    index : {"groups", "paper"}, default="groups"
        Whether the index of a group costs lg K bits in "subset" and "full", or lg p as printed.
    overshoot : int, default=10
        Features that "forward-backward" goes beyond its shortest description.
    max_features : int, default=None
        Stop before there are more features than this.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,)
        Whether a feature is in the model.
    coef_ : ndarray of shape (n_features,)
        Coefficients of least squares on the support.
    intercept_ : float
        Intercept.
    order_ : ndarray of shape (n_selected,)
        Selected features in the order of their entry.
    groups_ : ndarray of shape (n_features,)
        The number of the group of each feature.
    selected_groups_ : ndarray
        Numbers of the groups that have selected features.
    description_length_path_ : ndarray of shape (n_steps + 1, 3)
        Bits of data, of the model and of both for each set on the way, deletions included.
    description_length_ : float
        The total of the selected set.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    MICSelector : Many responses.
    TransFeat : Related classification tasks, whose codes learn from one another.

    Notes
    -----
    For 0/1 responses put it before a classifier: ``make_pipeline(MICGroup(groups),
    LogisticRegression())``. "subset" takes no more features from a group than a quarter of the
    rows that are left, "full" no group of more than half of them. In a small group "subset" finds
    all features cheaper to name than most of them, and so takes the rest of the group along.
    Overlapping groups are not supported. scikit-learn has no grouped selection; the group lasso of
    other packages selects whole groups and wants a penalty.

    References
    ----------
    .. [1] Dhillon, Foster and Ungar (2011). Minimum description length penalization for group and
       multi-task sparse learning. Journal of Machine Learning Research 12:525-564.

    Examples
    --------
    >>> from octavo.data import make_grouped_features
    >>> from octavo.linear import MICGroup
    >>> sample = make_grouped_features("unequal", random_state=0)
    >>> model = MICGroup(sample.groups).fit(sample.X, sample.y)
    >>> sorted(model.order_.tolist()), model.selected_groups_.tolist()
    ([0, 1, 2, 3, 4, 5, 6], [0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "groups": ["array-like", list, tuple, None],
        "scheme": [StrOptions(set(SCHEMES))],
        "search": [StrOptions({"forward", "forward-backward"})],
        "coef_bits": [
            Interval(Real, 0, None, closed="left"),
            StrOptions({"aic", "bic", "bic-paper"}),
        ],
        "variance": [StrOptions({"auto", "profile", "plugin"})],
        "index": [StrOptions({"groups", "paper"})],
        "overshoot": [Interval(Integral, 0, None, closed="left")],
        "max_features": [Interval(Integral, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        groups=None,
        scheme="switch",
        search="forward",
        *,
        coef_bits=2.0,
        variance="auto",
        index="groups",
        overshoot=10,
        max_features=None,
    ):
        self.groups = groups
        self.scheme = scheme
        self.search = search
        self.coef_bits = coef_bits
        self.variance = variance
        self.index = index
        self.overshoot = overshoot
        self.max_features = max_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y) -> Self:
        """Choose features and fit their coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features. Their scales do not matter.
        y : array-like of shape (n_samples,)
            Response.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, y = validate_rows(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=np.float64,
            y_numeric=True,
            ensure_min_samples=2,
        )
        y = y.astype(np.float64, copy=False)
        self.groups_ = as_group_labels(self.groups, X.shape[1])
        warn_of_constant(np.array([(y == y[0]).all()]))
        columns = UnitColumns(X)
        code = GroupCode(
            self.groups_, self.scheme, coefficient_bits(self.coef_bits, len(y)), self.index
        )
        path = search_groups(
            columns,
            y,
            code,
            variance=resolved_variance(self.variance, self.scheme),
            overshoot=self.overshoot if self.search == "forward-backward" else 0,
            max_features=self.max_features,
        )
        warn_of_saturation([0] if path.saturated else [])
        self.order_ = np.array(path.order, dtype=np.intp)
        self.support_ = np.zeros(columns.p, dtype=bool)
        self.support_[self.order_] = True
        self.selected_groups_ = np.unique(self.groups_[self.order_])
        coef, intercept = coefficients(columns, y[:, None], [path.order])
        self.coef_, self.intercept_ = coef[0], float(intercept[0])
        totals = path.bits.sum(axis=1)
        self.description_length_path_ = np.column_stack([path.bits, totals])
        self.description_length_ = float(totals[path.chosen])
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def predict(self, X):
        """Return the predicted response.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        check_is_fitted(self)
        X = validate_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_) + self.intercept_
