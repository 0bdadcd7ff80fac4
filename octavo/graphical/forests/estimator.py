"""`ForestDensityEstimator`: a joint density and a graph without a Gaussian assumption.

Kernel densities of pairs of variables, joined along a forest that a second part of the data
chooses.

Reference: Liu, Xu, Gu, Gupta, Lafferty and Wasserman (2011), "Forest density estimation",
JMLR 12:907-951, sections 3 and 5.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from sklearn.base import DensityMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.graphs.spanning import maximum_forest, rooted_forest
from octavo.graphical.forests.columns import (
    decode_columns,
    encode_columns,
    find_categories,
    is_frame,
)
from octavo.graphical.forests.draws import complete_rows, draw_rows
from octavo.graphical.forests.grids import backend_of
from octavo.graphical.forests.kernels import forest_terms, kernel_sample
from octavo.graphical.forests.mutual_information import (
    LARGEST_GRID,
    MI,
    cross_entropies,
    sample_information,
    sizes_of,
)
from octavo.graphical.forests.structures import (
    as_graph,
    heaviest_first,
    partition_forest,
    restricted_edges,
)

__all__ = ["ForestDensityEstimator"]

LEAST_ROWS = 10
EVERY_T = 20  # sizes that are all tried; above, each a tenth larger than the last


def tried_sizes(t_max):
    """Return the t that are tried: 0, 1, ..., 20, then each a tenth larger, up to t_max."""
    sizes = list(range(min(EVERY_T, t_max) + 1))
    while sizes[-1] < t_max:
        sizes.append(min(t_max, int(1.1 * sizes[-1])))
    return sizes


def split_rows(shape, holdout, random, least=LEAST_ROWS):
    """Return the rows of the first and of the second part."""
    n, d = shape
    if isinstance(holdout, Real):
        n_second = int(holdout * n)
        shuffled = random.permutation(n)
        first, second = np.sort(shuffled[n_second:]), np.sort(shuffled[:n_second])
    else:
        second = np.asarray(holdout)
        if (
            second.ndim != 1
            or second.dtype.kind not in "iu"
            or not len(second)
            or second.min() < 0
            or second.max() >= n
            or len(np.unique(second)) != len(second)
        ):
            raise ValueError(
                f"holdout must be a fraction between 0 and 1 or distinct row numbers below {n}, "
                f"got {holdout!r}."
            )
        first = np.setdiff1d(np.arange(n), second)
    if len(first) < least or not len(second):
        raise ValueError(
            f"Densities need at least {least} rows in the first part and one in the second; "
            f"n_samples={n}, n_features={d} and holdout leave {len(first)} and {len(second)}."
        )
    return first, second


def restricted_forests(M, crossed, sizes):
    """Yield, for each t, the pruned forest of Algorithm 3 with trees of at most t edges.

    Where t is no less than every degree of the spanning forest, the greedy step finds that forest.
    """
    d = len(M)
    pairs = heaviest_first(M)
    spanning = maximum_forest(M, 0.0)
    widest = int(np.bincount(spanning.ravel(), minlength=d).max(initial=0))
    for t in sizes:
        if t < max(widest, 2):
            edges = restricted_edges(M, t, pairs)
        else:
            kept = partition_forest(d, spanning, M[spanning[:, 0], spanning[:, 1]], t)
            edges = spanning[kept]
        yield edges[crossed[edges[:, 0], edges[:, 1]] > 0]


class ForestDensityEstimator(CallbackSupportMixin, DensityMixin, SoundEstimator):
    """A joint density and its graph by kernel densities along a forest.

    The density of all variables is made of kernel densities of single variables and of pairs,
    joined along the edges of a forest: nothing is assumed Gaussian, and nothing is estimated in
    more than two dimensions. One part of the rows makes the densities and ranks the pairs by
    mutual information, the other says where to stop.

    Parameters
    ----------
    method : {"train-prune", "heldout", "t-restricted"}, default="train-prune"
        "train-prune": the spanning tree of largest mutual information in the first part, its
        edges kept in that order up to where the second part is most likely. "heldout": the
        forest of largest weight by cross-entropy of both parts; needs a large second part.
        "t-restricted": forests with trees of at most t edges, t = 0, 1, ..., each less the edges
        that the second part speaks against; the second part chooses t.
    holdout : float or array-like of int, default=0.5
        The second part: a fraction of the rows, drawn at random, or their numbers.
    t_max : int or None, default=None
        Largest t of "t-restricted"; None is n_features - 1. Sizes up to 20 are all tried, above
        that each a tenth larger than the last.
    grid : int, default=128
        Points of a column for sums over pairs.
    mi : str, default="medium"
        The mutual information: see `mutual_information_matrix`. With "discrete" every column is
        taken as categories, and the tree is that of Chow and Liu.
    bandwidth : "plugin" or array-like, default="plugin"
        In units of X: one number, one a column, or a (2, n_features) array of univariate and
        bivariate ones. "plugin" is 1.06 min(sd, IQR/1.34) times n^(-1/5) and n^(-1/6).
    marginals : {"consistent", "paper"}, default="consistent"
        Bandwidth of single variables in the density: that of pairs, with which the
        density integrates to one, or their own as in the paper, with which it does not quite.
    refit : bool, default=False
        Whether all rows make the densities once the forest is chosen.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where sums over grids are computed: "cuda" needs PyTorch.
    batch_size : int or None, default=None
        Columns whose grids are in memory together; None chooses.
    random_state : int, RandomState instance or None, default=None
        Of the split, and of ``mi="monte-carlo"``.

    Attributes
    ----------
    edges_ : ndarray of shape (n_edges, 2)
        The forest: pairs i < j, in the order in which they were added.
    n_edges_ : int
        Their number.
    adjacency_ : ndarray of shape (n_features, n_features), dtype bool
        The forest as a matrix.
    graph_ : networkx.Graph
        The forest, ``weight`` the mutual information; its nodes are column numbers.
    tree_sizes_ : ndarray of shape (n_trees,)
        Variables of each tree, the largest first.
    mutual_info_ : ndarray of shape (n_features, n_features)
        Mutual informations in the first part.
    cross_entropies_ : ndarray of shape (n_features, n_features)
        Eq. (10) of the paper for all pairs: what the second part gains by an edge. None for
        "train-prune".
    heldout_curve_ : ndarray
        Mean log-likelihood of the second part after 0, 1, ... edges: of the spanning tree
        ("train-prune"), of the forest else.
    t_ : int
        The t that was chosen; None but for "t-restricted".
    t_scores_ : ndarray of shape (n_sizes, 2)
        Each t and what its forest gains in the second part, Eq. (9). None but for "t-restricted".
    bandwidths_ : ndarray of shape (2, n_features)
        Univariate and bivariate bandwidths in units of X; for categories, the weight of the
        uniform distribution that frequencies are mixed with.
    heldout_rows_ : ndarray
        Rows of the second part.
    categories_ : list
        Of each column its categories, None where it holds numbers.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    RefitGraphicalLasso : A sparse Gaussian density.
    mutual_information_matrix : The weights of the pairs.
    sklearn.neighbors.KernelDensity : Kernels in all dimensions at once.

    Notes
    -----
    Use `sklearn.mixture.GaussianMixture` or `RefitGraphicalLasso` where the data are close to
    Gaussian or where a variable depends on several others jointly: a forest has no cycles. Grids
    reach from the least to the largest value of a column, so that one far outlier squeezes the
    rest into a few points; and a kernel density is too low at hard ends of a range. Transform
    such columns first, by ranks or logarithms.

    References
    ----------
    .. [1] Liu, Xu, Gu, Gupta, Lafferty and Wasserman (2011). Forest density estimation.
       JMLR 12:907-951.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.graphical import ForestDensityEstimator
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(400, 4))
    >>> X[:, 1] = X[:, 0] ** 2 + 0.3 * X[:, 1]  # dependent, and not correlated
    >>> model = ForestDensityEstimator(random_state=0).fit(X)
    >>> model.edges_.tolist(), round(model.score(X), 2)
    ([[0, 1]], -4.97)
    >>> model.score_samples([[2.0, 4.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]]).round(1)
    array([ -8.1, -18. ])
    """

    _parameter_constraints = {
        "method": [StrOptions({"train-prune", "heldout", "t-restricted"})],
        "holdout": [Interval(Real, 0, 1, closed="neither"), "array-like"],
        "t_max": [None, Interval(Integral, 0, None, closed="left")],
        "grid": [Interval(Integral, 2, LARGEST_GRID, closed="both")],
        "mi": [StrOptions(MI)],
        "bandwidth": [
            StrOptions({"plugin"}),
            "array-like",
            Interval(Real, 0, None, closed="neither"),
        ],
        "marginals": [StrOptions({"consistent", "paper"})],
        "refit": ["boolean"],
        "device": [StrOptions({"cpu", "cuda", "auto"})],
        "batch_size": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        method="train-prune",
        holdout=0.5,
        t_max=None,
        grid=128,
        mi="medium",
        bandwidth="plugin",
        marginals="consistent",
        refit=False,
        device="cpu",
        batch_size=None,
        random_state=None,
    ):
        self.method = method
        self.holdout = holdout
        self.t_max = t_max
        self.grid = grid
        self.mi = mi
        self.bandwidth = bandwidth
        self.marginals = marginals
        self.refit = refit
        self.device = device
        self.batch_size = batch_size
        self.random_state = random_state

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Choose the forest and its densities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers. Columns of a data frame that hold text, booleans or categories are
            categories.
        y : None
            Not used.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        Z = self._table(X, reset=True)
        random = check_random_state(self.random_state)
        names = getattr(self, "feature_names_in_", None)
        sizes = sizes_of(self.categories_)
        first, self.heldout_rows_ = split_rows(Z.shape, self.holdout, random)
        sample = kernel_sample(Z[first], sizes, self.bandwidth, names=names)
        backend = backend_of(self.device)
        with FitProgress(self, None, X, step_name="block of pairs") as progress:
            self.mutual_info_ = sample_information(
                sample, self.mi, self.grid, backend, self.batch_size, random, progress.step
            )
            self.cross_entropies_ = None
            if self.method != "train-prune":
                second = kernel_sample(Z[self.heldout_rows_], sizes, self.bandwidth, sample, names)
                self.cross_entropies_ = cross_entropies(
                    sample,
                    second,
                    self.grid,
                    self.marginals == "consistent",
                    backend,
                    self.batch_size,
                    progress.step,
                )
        edges = self._candidates()
        consistent = self.marginals == "consistent"
        terms = forest_terms(sample, edges, Z[self.heldout_rows_], consistent)
        gains = np.concatenate([[terms.columns.sum(axis=1).mean()], terms.edges.mean(axis=0)])
        self.heldout_curve_ = gains.cumsum()
        if self.method == "train-prune":
            edges = edges[: self.heldout_curve_.argmax()]
        self._set_forest(edges)
        if self.refit:
            sample = kernel_sample(Z, sizes, self.bandwidth, names=names)
        self.bandwidths_ = sample.h * sample.span
        self._sample = sample
        return self

    def _candidates(self):
        """Return the edges in the order in which the second part judges them."""
        M, crossed = self.mutual_info_, self.cross_entropies_
        self.t_ = self.t_scores_ = None
        if crossed is None:
            return maximum_forest(M)
        if self.method == "heldout":
            return maximum_forest(crossed, 0.0)
        largest = max(len(M) - 1, 0)
        sizes = tried_sizes(largest if self.t_max is None else min(self.t_max, largest))
        forests = list(restricted_forests(M, crossed, sizes))
        gains = [crossed[edges[:, 0], edges[:, 1]].sum() for edges in forests]
        best = int(np.argmax(gains))
        self.t_, self.t_scores_ = sizes[best], np.column_stack([sizes, gains])
        return forests[best]

    def _set_forest(self, edges):
        d = len(self.mutual_info_)
        self.edges_, self.n_edges_ = edges, len(edges)
        self.adjacency_ = np.zeros((d, d), dtype=bool)
        self.adjacency_[edges[:, 0], edges[:, 1]] = self.adjacency_[edges[:, 1], edges[:, 0]] = True
        self.graph_ = as_graph(d, edges, self.mutual_info_)
        self._parent, self._order = rooted_forest(d, edges)
        tree = np.arange(d)
        for k in self._order:
            if self._parent[k] >= 0:
                tree[k] = tree[self._parent[k]]
        self.tree_sizes_ = np.sort(np.unique(tree, return_counts=True)[1])[::-1]

    def _table(self, X, *, reset=False, missing=False):
        """Return rows as doubles, categories as their numbers."""
        discrete = self.mi == "discrete"
        if is_frame(X):
            validate_data(self, X, skip_check_array=True, reset=reset)
            if not len(X):
                raise ValueError("Found a table with 0 sample(s) while a minimum of 1 is required.")
        else:
            finite = "allow-nan" if missing else True
            X = validate_data(self, X, dtype=np.float64, ensure_all_finite=finite, reset=reset)
        if reset:
            self.categories_ = find_categories(X, discrete)
        return encode_columns(X, self.categories_, missing=missing)

    def score_samples(self, X):
        """Return the log-density of each row, in the units of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Log-densities; categories count by their probability.
        """
        check_is_fitted(self)
        Z = self._table(X)
        terms = forest_terms(self._sample, self.edges_, Z, self.marginals == "consistent")
        return terms.columns.sum(axis=1) + terms.edges.sum(axis=1)

    def score(self, X, y=None):
        """Return the mean log-density of the rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : None
            Not used.

        Returns
        -------
        float
            Mean of `score_samples`.
        """
        return float(self.score_samples(X).mean())

    def sample(self, n, random_state=None):
        """Draw rows from the density that ``marginals="consistent"`` has.

        Parameters
        ----------
        n : int
            Rows.
        random_state : int, RandomState instance or None, default=None
            Of the draws.

        Returns
        -------
        ndarray of shape (n, n_features) or pandas.DataFrame
            Rows in the units of the data; a frame where the fit saw one with categories.
        """
        check_is_fitted(self)
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n must be an integer of at least 1, got {n!r}.")
        random = check_random_state(random_state)
        drawn = draw_rows(self._sample, self._parent, self._order, int(n), random)
        return self._decoded(drawn)

    def sample_conditional(self, X, random_state=None):
        """Draw the missing entries of rows, given those that are there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN (None in categories) where an entry is to be drawn.
        random_state : int, RandomState instance or None, default=None
            Of the draws.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or pandas.DataFrame
            The rows, with one draw of what was missing; the rest as it came.
        """
        return self._completed(X, check_random_state(random_state))

    def impute(self, X):
        """Fill the missing entries of rows by their mean given those that are there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN (None in categories) where an entry is to be filled.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or pandas.DataFrame
            The rows; a missing category becomes the most probable one.
        """
        return self._completed(X, None)

    def _completed(self, X, random):
        check_is_fitted(self)
        Z = self._table(X, missing=True)
        filled = complete_rows(self._sample, self._parent, self._order, Z, self.grid, random)
        return self._decoded(filled)

    def _decoded(self, Z):
        return decode_columns(Z, self.categories_, getattr(self, "feature_names_in_", None))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags
