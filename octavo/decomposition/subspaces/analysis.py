"""Independent subspace analysis: linear mixtures of independent vectors, taken apart.

Independent component analysis supposes that sources are independent numbers. Here they are
independent vectors, whose own coordinates may depend on each other. By the separation principle
the task splits: whiten, find independent components as if there were no vectors, and group the
components so that the groups are independent.

References: Cardoso (1998), "Multidimensional independent component analysis", ICASSP; Szabó,
Póczos and Lőrincz (2012), "Separation theorem for independent subspace analysis and its
consequences", Pattern Recognition 45:1782-1791; Szabó (2014), "Information theoretical estimators
toolbox", JMLR 15:283-287.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.decomposition import FastICA
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from octavo.decomposition.subspaces.objectives import OBJECTIVES
from octavo.decomposition.subspaces.partitions import OPTIMIZERS, SubspacePartition, find_subspaces
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import HasMethods, Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator

__all__ = ["IndependentSubspaceAnalysis", "amari_index"]


@checked
def amari_index(
    unmixing: ArrayLike,
    mixing: ArrayLike,
    subspaces: Sequence[Any] | None = None,
    true_subspaces: Sequence[Any] | None = None,
) -> float:
    """Return how far an unmixing is from taking a mixture apart: 0 is perfect, 1 the worst.

    The product G of the two matrices is cut into blocks, of estimated subspaces by true ones;
    g_ij is the Frobenius norm of a block. One large block in each row and column is perfect:
    r = [Σ_i (Σ_j g_ij / max_j g_ij − 1) + Σ_j (Σ_i g_ij / max_i g_ij − 1)] / (2M(M−1)).

    Parameters
    ----------
    unmixing : array-like of shape (n_components, n_features)
        The estimate W.
    mixing : array-like of shape (n_features, n_components)
        The true mixing matrix A, of sources with unit covariance.
    subspaces : sequence of sequence of int, default=None
        The rows of `unmixing` in each estimated subspace; single ones by default.
    true_subspaces : sequence of sequence of int, default=None
        The columns of `mixing` in each true subspace; as `subspaces` by default.

    Returns
    -------
    index : float
        Between 0 and 1; it does not change with the order of subspaces.

    References
    ----------
    .. [1] Szabó, Póczos and Lőrincz (2012). Separation theorem for independent subspace analysis
       and its consequences. Pattern Recognition 45:1782-1791.

    Examples
    --------
    >>> import numpy as np
    >>> from octavo.decomposition import amari_index
    >>> amari_index(np.eye(4)[[2, 3, 1, 0]], np.eye(4), [[0, 1], [2, 3]])
    0.0
    >>> amari_index(np.ones((2, 2)), np.eye(2))
    1.0
    """
    G = np.asarray(unmixing) @ np.asarray(mixing)
    rows = [[i] for i in range(G.shape[0])] if subspaces is None else subspaces
    columns = rows if true_subspaces is None else true_subspaces
    m = len(rows)
    if m != len(columns):
        raise ValueError(
            f"There are {m} estimated and {len(columns)} true subspaces; the index compares "
            "equally many."
        )
    if m < 2:
        return 0.0
    g = np.array([[np.linalg.norm(G[np.ix_(i, j)]) for j in columns] for i in rows])
    if not ((g.max(axis=0) > 0).all() and (g.max(axis=1) > 0).all()):
        raise ValueError("unmixing @ mixing has a subspace that is all zero.")
    by_row = (g / g.max(axis=1, keepdims=True)).sum() - m
    by_column = (g / g.max(axis=0, keepdims=True)).sum() - m
    # Amari's index, with norms of blocks for numbers
    return float((by_row + by_column) / (2 * m * (m - 1)))


def whitening(X: Floats, n_components: int | None) -> Floats:
    """Return the matrix (n_components, n_features) that gives centred X unit covariance.

    Directions in which the data do not vary, but for rounding, are left out.
    """
    n, p = X.shape
    _, sizes, directions = np.linalg.svd(X, full_matrices=False)
    floor = max(n, p) * np.finfo(np.float64).eps * (sizes[0] if sizes.size else 0.0)
    rank = int((sizes > floor).sum()) if sizes.size and sizes[0] > 0.0 else 0
    if rank == 0:
        raise ValueError("X does not vary: all of its rows are equal.")
    if n_components is not None and n_components > rank:
        raise ValueError(
            f"n_components={n_components} is more than the {rank} independent directions in "
            f"which the {n} samples of {p} features vary."
        )
    k = rank if n_components is None else n_components
    # the separation principle: unit covariance first, then ICA, then groups
    return np.sqrt(n) * directions[:k] / sizes[:k, None]


def ica_rotation(Z: Floats, ica: Any, rng: np.random.RandomState) -> Floats:
    """Return the matrix that takes white data to independent components of unit variance."""
    if Z.shape[1] == 1:
        return np.ones((1, 1))
    if ica is None:
        model = FastICA(whiten=False, max_iter=1000, random_state=rng)
    else:
        model = clone(ica)
        if "random_state" in model.get_params() and model.random_state is None:
            model.set_params(random_state=rng)
    model.fit(Z)
    components = np.asarray(getattr(model, "components_", None), dtype=np.float64)
    if components.shape != (Z.shape[1], Z.shape[1]) or not np.isfinite(components).all():
        raise ValueError(
            f"ica must leave a finite matrix components_ of shape {(Z.shape[1], Z.shape[1])} "
            f"after fit, {type(model).__name__} left one of shape {components.shape}."
        )
    deviation = np.sqrt(np.einsum("ij,ij->i", components, components))  # of unit covariance
    return components / deviation[:, None]


class SubspaceModel(
    ClassNamePrefixFeaturesOutMixin, CallbackSupportMixin, TransformerMixin, SoundEstimator
):
    """Whitening, components and groups, of whatever a subclass makes of its data.

    Parameters
    ----------
    estimator : object, default=None
        What estimates it; nearest neighbours by default.
    ica : estimator, default=None
        Independent component analysis of white data; ``FastICA(whiten=False)`` by default.
    n_components : int, default=None
        Number of coordinates of all sources together; the rank of the data by default.
    n_subspaces : int, default=None
        Number of sources where `subspace_dims` is "auto".
    objective : str, default="sum_entropy"
        What the partition minimises; see `subspace_objective`.
    optimizer : {"greedy", "ce", "exhaustive", "spectral"}, default="greedy"
        How the partition is searched for.
    random_state : int, RandomState instance or None, default=None
        Seed of the component analysis and of the search.
    subspace_dims : "auto" or list of int, default="auto"
        Dimensions of the sources; "auto" finds them by spectral clustering.

    Attributes
    ----------
    dependence_ : ndarray of shape (n_components, n_components)
        Pairwise dependence of the coordinates that were grouped.
    mean_ : ndarray of shape (`n_features_in_`,)
        Mean of the data.
    mixing_ : ndarray of shape (`n_features_in_`, n_components)
        Its pseudo-inverse.
    n_iter_ : int
        Rounds of the search.
    objective_ : float
        The objective at the partition found.
    subspace_dims_ : ndarray of int
        Their dimensions.
    subspaces_ : list of ndarray of int
        The columns of ``transform(X)`` that belong to each source.
    unmixing_ : ndarray of shape (n_components, `n_features_in_`)
        Rows give the coordinates of the sources, subspace after subspace.
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "subspace_dims": [StrOptions({"auto"}), "array-like"],
        "n_subspaces": [Interval(Integral, 1, None, closed="left"), None],
        "objective": [StrOptions(set(OBJECTIVES))],
        "estimator": [HasMethods(["estimate"]), None],
        "ica": [HasMethods(["fit", "get_params"]), None],
        "optimizer": [StrOptions(set(OPTIMIZERS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components=None,
        subspace_dims="auto",
        objective="sum_entropy",
        estimator=None,
        ica=None,
        optimizer="greedy",
        n_subspaces=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.subspace_dims = subspace_dims
        self.objective = objective
        self.estimator = estimator
        self.ica = ica
        self.optimizer = optimizer
        self.n_subspaces = n_subspaces
        self.random_state = random_state

    def _wanted_components(self) -> int | None:
        """Return `n_components`, or what the sizes of subspaces add up to."""
        if isinstance(self.subspace_dims, str):
            return self.n_components
        total = int(np.sum(self.subspace_dims))
        if self.n_components not in (None, total):
            raise ValueError(
                f"subspace_dims {list(self.subspace_dims)} add up to {total}, but n_components "
                f"is {self.n_components}."
            )
        return total

    def _separate(self, X: Floats, progress: FitProgress) -> None:
        """Fit the unmixing of centred X and group its rows, subspace after subspace."""
        rng = check_random_state(self.random_state)
        white = whitening(X, self._wanted_components())
        Z = X @ white.T
        unmixing = ica_rotation(Z, self.ica, rng) @ white
        progress.step()
        found = self._group(X @ unmixing.T, unmixing, rng, progress)
        order = np.concatenate(found.subspaces)
        self.unmixing_ = unmixing[order]
        self.mixing_ = np.linalg.pinv(self.unmixing_)
        self.subspace_dims_ = np.array([len(group) for group in found.subspaces])
        ends = np.cumsum(self.subspace_dims_)
        self.subspaces_ = [np.arange(e - d, e) for e, d in zip(ends, self.subspace_dims_)]
        self.dependence_ = found.dependence[np.ix_(order, order)]
        self.objective_, self.n_iter_ = found.objective, found.n_iter
        self._n_features_out = len(order)

    def _group(self, S, unmixing, rng, progress) -> SubspacePartition:
        return find_subspaces(
            S,
            self.subspace_dims,
            self.objective,
            self.estimator,
            self.optimizer,
            n_subspaces=self.n_subspaces,
            random_state=rng,
            after_round=progress.step,
        )

    def transform(self, X):
        """Return the sources, subspace after subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Mixtures.

        Returns
        -------
        S : ndarray of shape (n_samples, n_components)
            Coordinates of the sources; those of subspace m are ``S[:, subspaces_[m]]``.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (X - self.mean_) @ self.unmixing_.T

    def inverse_transform(self, X):
        """Mix sources again.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Coordinates of the sources.

        Returns
        -------
        X_original : ndarray of shape (n_samples, n_features)
            Their mixture.
        """
        return self._as_sources(X) @ self.mixing_.T + self.mean_

    def _as_sources(self, S) -> Floats:
        """Return what is to be mixed again, checked."""
        check_is_fitted(self)
        S = check_array(S, dtype=np.float64)
        if S.shape[1] != len(self.unmixing_):
            raise ValueError(
                f"X must have the {len(self.unmixing_)} columns of a transform, got {S.shape[1]}."
            )
        return S


class IndependentSubspaceAnalysis(SubspaceModel):
    """Linear mixtures of independent vectors: unmixing matrix and subspaces.

    x = As, where s consists of independent vectors s^1, ..., s^M of known or unknown dimensions.
    Found are components by independent component analysis, and their partition into subspaces
    that minimises an information theoretical objective. Each subspace is only determined up to an
    invertible map of itself, and their order is arbitrary.

    Parameters
    ----------
    subspace_dims : "auto" or list of int, default="auto"
        Dimensions of the sources. "auto" finds them by spectral clustering of the pairwise
        dependence of components.
    objective : {"information", "recursive_information", "sum_entropy", "sum_information", \
            "pairwise_information", "pairwise_information_1d"}, default="sum_entropy"
        What the partition minimises; see `subspace_objective`.
    estimator : object, default=None
        What estimates it: an entropy of `octavo.info` for "sum_entropy", a mutual information
        for the others; nearest neighbours by default. See `subspace_objective`.
    ica : estimator, default=None
        Independent component analysis of white data: ``fit`` must leave a square
        ``components_``. ``FastICA(whiten=False)`` by default.
    optimizer : {"greedy", "ce", "exhaustive", "spectral"}, default="greedy"
        Exchanges of two coordinates, started from spectral clustering; the cross-entropy
        method; all partitions; or spectral clustering alone.
    n_subspaces : int, default=None
        Number of sources where `subspace_dims` is "auto"; by default found at the largest
        gap of the eigenvalues of the Laplacian.

    Attributes
    ----------
    unmixing_ : ndarray of shape (n_components, `n_features_in_`)
        Rows give the coordinates of the sources, subspace after subspace, with unit variance.
    dependence_ : ndarray of shape (n_components, n_components)
        Pairwise dependence of the coordinates.
    n_iter_ : int
        Rounds of the search; partitions tried if "exhaustive".
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit.

    See Also
    --------
    ARIndependentSubspaceAnalysis : Sources with a memory.
    PostNonlinearISA : Mixtures that are bent, feature by feature.
    ComplexISA : Complex mixtures.
    find_subspaces : The partition of components that one has already.

    Notes
    -----
    Use `sklearn.decomposition.FastICA` where sources are single numbers: it is the first step
    here. Nothing is found in normal data, all of whose rotations look alike; at most one source
    may be normal. The time is quadratic in the number of components.

    The component analysis may warn that it did not converge where a source looks the same from
    all sides (a disc, a sphere): its coordinates are then not determined, its subspace is.

    References
    ----------
    .. [1] Cardoso (1998). Multidimensional independent component analysis. ICASSP.
    .. [2] Szabó, Póczos and Lőrincz (2012). Separation theorem for independent subspace analysis
       and its consequences. Pattern Recognition 45:1782-1791.
    .. [3] Szabó (2014). Information theoretical estimators toolbox. JMLR 15:283-287.

    Examples
    --------
    >>> from octavo.data import make_subspace_mixture
    >>> from octavo.decomposition import IndependentSubspaceAnalysis, amari_index
    >>> sample = make_subspace_mixture("letters", n_samples=1000, random_state=0)
    >>> model = IndependentSubspaceAnalysis(random_state=0).fit(sample.X)
    >>> model.subspace_dims_.tolist()
    [2, 2, 2]
    >>> index = amari_index(model.unmixing_, sample.mixing, model.subspaces_, sample.subspaces)
    >>> print(f"{index:.2f}")
    0.02
    """

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Find the unmixing matrix and the subspaces.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Mixtures.
        y : None
            Ignored.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.mean_ = X.mean(axis=0)
        with FitProgress(self, None, X, step_name="round") as progress:
            self._separate(X - self.mean_, progress)
        return self
