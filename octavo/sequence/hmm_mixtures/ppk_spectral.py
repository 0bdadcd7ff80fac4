"""Spectral clustering of hidden Markov models by their probability product kernel.

The kernel of two HMMs is the integral of the product of powers of their densities over sequences of
a given length, a forward recursion over pairs of states. It is the established alternative to
variational hierarchical EM: quick for few HMMs, quadratic in their number, and without cluster
centres of its own.

References: T. Jebara, Y. Song and K. Thadani (2007), "Spectral Clustering and Embedding with Hidden
Markov Models", ECML; Gaussian mixture emissions, hierarchies and the hybrid with variational
hierarchical EM as in Sections 4.2 and 5.1 of E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014),
"Clustering Hidden Markov Models with Variational HEM", Journal of Machine Learning Research 15.
"""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from sklearn.base import ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.probability.gaussians import log_product_kernel
from octavo.engine.probability.mixtures import safe_log
from octavo.engine.smooth.em import Restarts
from octavo.sequence.hmm.bank import HMMBank, pack_hmms, require_positive, unpack_hmms
from octavo.sequence.hmm.params import HMMParams, join_hmms
from octavo.sequence.hmm.starts import Shape, k_means
from octavo.sequence.hmm_mixtures.divergence import check_pair, check_tau
from octavo.sequence.hmm_mixtures.vhem import Collection, fit_vhem

__all__ = ["PPKLevel", "PPKSpectralClustering", "hmm_ppk", "ppk_compactness"]

_ROOM = 1 << 21


# --- the kernel ----------------------------------------------------------------------------------


def log_ppk(one: HMMBank, other: HMMBank, lam: float, tau: int) -> Floats:
    """Return the logarithm of the probability product kernel of all pairs of two banks.

    Parameters
    ----------
    one, other : HMMBank
        n and m models of the same family, with densities.
    lam : float
        The power λ that densities are raised to.
    tau : int
        Length of the sequences.

    Returns
    -------
    log_kernel : ndarray of shape (n, m)
        -inf where no sequence is possible under both.
    """
    out = np.empty((one.size, other.size))
    width = one.weights[0].size * other.weights.size
    step = max(1, _ROOM // width)
    back = other.trans[None] ** lam
    for first in range(0, one.size, step):
        mine = one.take(slice(first, first + step))
        scores = _log_states(mine, other, lam)  # ψ, (n, m, S, S')
        top = scores.max(axis=(2, 3), keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        emit = np.exp(scores - top)
        forth = mine.trans[:, None].swapaxes(2, 3) ** lam
        # Eq. (29) as footnote 4 computes it: λ is a power of every path's probability, and the
        # integral of all paths' products is a forward recursion over pairs of states.
        flow = (mine.start[:, None, :, None] * other.start[None, :, None]) ** lam * emit
        total = np.zeros(scores.shape[:2])
        for t in range(tau):
            if t:
                # Φ_t(β, ρ) = Σ Φ_{t-1} (a a')^λ ψ, as one product from both sides
                flow = (forth @ flow @ back) * emit
            scale = flow.sum(axis=(2, 3))
            total += safe_log(scale)  # scaled at each step: the logs of the scales add up
            flow /= np.where(scale > 0, scale, 1.0)[..., None, None]
        out[first : first + step] = total + tau * top[..., 0, 0]
    return out


def _log_states(one: HMMBank, other: HMMBank, lam: float) -> Floats:
    """Return log Σ_{m,ℓ} (c_m c'_ℓ)^λ k_{mℓ} for all pairs of states, of shape (n, m, S, S')."""
    n, S, M = one.weights.shape
    m, R, L = other.weights.shape
    if one.means is None:
        both = np.tensordot(one.weights**lam, other.weights**lam, axes=(2, 2))
        return safe_log(both).transpose(0, 2, 1, 3)
    logs = log_product_kernel(*one.gaussians(), *other.gaussians(), lam)
    # λ (log c_m + log c'_ℓ)
    logs += lam * (safe_log(one.weights).reshape(-1, 1) + safe_log(other.weights).reshape(1, -1))
    logs = logs.reshape(n, S, M, m, R, L).transpose(0, 3, 1, 4, 2, 5)
    top = logs.max(axis=(4, 5))
    top = np.where(np.isfinite(top), top, 0.0)
    return safe_log(np.exp(logs - top[..., None, None]).sum(axis=(4, 5))) + top


def _checked_bank(hmms: Any) -> HMMBank:
    bank = pack_hmms(hmms)
    require_positive(bank)
    return bank


def _check_power(lam: Any) -> float:
    if not isinstance(lam, Real) or not 0 < float(lam) < np.inf:
        raise ValueError(f"lam must be a positive number, got {lam!r}.")
    return float(lam)


@checked
def hmm_ppk(hmms: Any, lam: float = 0.5, tau: int = 10, *, normalize: bool = True) -> Floats:
    """Return the matrix of probability product kernels between HMMs.

    Parameters
    ----------
    hmms : list of HMMParams, or of other forms that `as_hmm` takes
        n models of the same family.
    lam : float, default=0.5
        The power λ: one half gives the Bhattacharyya affinity, one the expected likelihood.
    tau : int, default=10
        Length of the sequences.
    normalize : bool, default=True
        Whether to divide by the norms, so that the diagonal is one. The numbers themselves easily
        fall out of floating point range.

    Returns
    -------
    kernel : ndarray of shape (n, n)
        Symmetric and positive semidefinite. Where λ is not one the power is taken of every path's
        probability before summing, so that the value depends on how states are laid out
        (footnote 4 of the paper).

    Examples
    --------
    >>> from octavo.sequence import HMMParams, hmm_ppk
    >>> hmms = [HMMParams([1], [[1]], [[1]], [[[m]]], [[[1.0]]]) for m in (0.0, 1.0)]
    >>> hmm_ppk(hmms, tau=2).round(4)
    array([[1.    , 0.7788],
           [0.7788, 1.    ]])
    """
    bank = _checked_bank(hmms)
    logs = log_ppk(bank, bank, _check_power(lam), check_tau(tau))
    if normalize:
        norm = np.diagonal(logs)
        logs = logs - 0.5 * (norm[:, None] + norm)  # k(a, b) / √(k(a, a) k(b, b))
    kernel = np.exp(logs)
    return 0.5 * (kernel + kernel.T)


@checked
def ppk_compactness(kernel: ArrayLike, labels: ArrayLike) -> float:
    """Return the sum over clusters of the mean similarity within them.

    Parameters
    ----------
    kernel : array-like of shape (n, n)
        Similarities, as from `hmm_ppk`.
    labels : array-like of shape (n,)
        The cluster of each HMM.

    Returns
    -------
    compactness : float
        The paper's PPK cluster-compactness (Section 5.1); pairs of an HMM with itself count.

    Examples
    --------
    >>> from octavo.sequence import ppk_compactness
    >>> ppk_compactness([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]], [0, 0, 1])
    1.75
    """
    matrix, which = np.asarray(kernel, dtype=np.float64), np.asarray(labels)
    if matrix.shape != (which.size, which.size):
        raise ValueError(f"kernel must be {which.size} x {which.size}, got shape {matrix.shape}.")
    # Section 5.1: mean similarity within clusters
    return float(sum(matrix[np.ix_(which == c, which == c)].mean() for c in np.unique(which)))


# --- the embedding -------------------------------------------------------------------------------


def spectral_embedding(kernel: Floats, dimension: int) -> tuple[Floats, Floats, Floats]:
    """Return the leading eigenvectors of the degree-normalised kernel.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Similarities.
    dimension : int
        Number of eigenvectors.

    Returns
    -------
    vectors : ndarray of shape (n, dimension)
        Eigenvectors of D^-½ K D^-½.
    values : ndarray of shape (dimension,)
        Their eigenvalues.
    degrees : ndarray of shape (n,)
        Row sums D of the kernel.
    """
    degrees = kernel.sum(axis=1)
    scaled = kernel / np.sqrt(degrees[:, None] * degrees)  # D^-½ K D^-½
    n = len(kernel)
    values, vectors = eigh(scaled, subset_by_index=[n - dimension, n - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    # Signs that do not depend on the library: the largest entry of each vector is positive.
    top = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[top, np.arange(dimension)]), values, degrees


def unit_rows(vectors: Floats) -> Floats:
    """Return rows scaled to length one; zero rows stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1.0)


def best_k_means(
    points: Floats, k: int, n_init: int, rng: np.random.RandomState
) -> tuple[NDArray[np.int64], Floats]:
    """Return labels and centres of the best of several runs of k-means."""
    best: tuple[float, NDArray[np.int64], Floats] | None = None
    for _ in range(n_init):
        labels, centers = k_means(points, k, rng)
        cost = float(((points - centers[labels]) ** 2).sum())
        if best is None or cost < best[0]:
            best = cost, labels, centers
    assert best is not None
    return best[1], best[2]


class PPKLevel(NamedTuple):
    """One level of a hierarchy: ``labels`` of the HMMs, ``parents`` of the clusters below, centres.

    ``parents[c]`` is the cluster of this level that cluster c of the level below belongs to (at the
    first level, that of HMM c); ``points`` are the clusters' places in the embedding.
    """

    labels: NDArray[np.int64]
    parents: NDArray[np.int64]
    points: Floats


class PPKSpectralClustering(ClusterMixin, CallbackSupportMixin, SoundEstimator):
    """Cluster HMMs spectrally by their probability product kernel.

    Parameters
    ----------
    n_clusters : int or tuple of int, default=2
        Number of clusters; a falling tuple asks for a hierarchy, each level grouping the clusters
        of the one before by k-means on their points in the embedding.
    lam : float, default=0.5
        The power λ of the kernel.
    tau : int, default=10
        Length of the sequences that the kernel integrates over.
    centers : {"medoid", "hybrid"}, default="medoid"
        What represents a cluster: the HMM nearest to its centre in the embedding, or a new HMM
        that variational hierarchical EM learns from the HMMs of the cluster.
    n_init : int, default=10
        Number of runs of k-means.
    max_iter : int, default=100
        Largest number of iterations for a hybrid centre.
    tol : float, default=1e-5
        Tolerance of those.
    reg_covar : float, default=1e-6
        As in `HMMClustering`, for hybrid centres.
    random_state : int, RandomState instance or None, default=None
        Seeds k-means.

    Attributes
    ----------
    labels_ : ndarray of int of shape (n_hmms,)
        The cluster of each HMM, at the first level.
    cluster_hmms_ : list of HMMParams
        The centres of the first level.
    weights_ : ndarray of shape (n_clusters,)
        Share of the HMMs in each cluster.
    levels_ : list of PPKLevel
        Labels at each level.
    kernel_ : ndarray of shape (n_hmms, n_hmms)
        The normalised kernel.
    embedding_ : ndarray of shape (n_hmms, n_clusters)
        Places of the HMMs on the unit sphere.

    See Also
    --------
    HMMClustering : Learns clusters and centres together, in time linear in the number of HMMs.

    Notes
    -----
    Do not use it for thousands of HMMs, or where the centres matter: it needs the kernel of all
    pairs, and its clusters and centres serve different objectives. With a kernel of your own,
    `sklearn.cluster.SpectralClustering` with ``affinity="precomputed"`` does the rest.

    References
    ----------
    .. [1] T. Jebara, Y. Song and K. Thadani (2007). "Spectral Clustering and Embedding with Hidden
       Markov Models". European Conference on Machine Learning.
    .. [2] E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014). "Clustering Hidden Markov Models
       with Variational HEM". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.sequence import HMMParams, PPKSpectralClustering
    >>> means = (0.0, 0.3, 5.0, 5.3)
    >>> hmms = [HMMParams([1], [[1]], [[1]], [[[m]]], [[[1.0]]]) for m in means]
    >>> labels = PPKSpectralClustering(2, random_state=0).fit_predict(hmms)
    >>> labels[0] == labels[1] != labels[2] == labels[3]
    np.True_
    """

    _parameter_constraints: dict[str, Any] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), tuple, list],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "tau": [Interval(Integral, 1, None, closed="left")],
        "centers": [StrOptions({"medoid", "hybrid"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int | tuple[int, ...] = 2,
        lam: float = 0.5,
        tau: int = 10,
        centers: str = "medoid",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.lam = lam
        self.tau = tau
        self.centers = centers
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, hmms: Any, y: Any = None) -> Self:
        """Cluster HMMs.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            HMMs of one family, with densities.
        y : None
            Ignored.

        Returns
        -------
        self : PPKSpectralClustering
            The fitted clustering.
        """
        bank = _checked_bank(hmms)
        sizes = check_levels(self.n_clusters, bank.size)
        rng = check_random_state(self.random_state)
        logs = log_ppk(bank, bank, float(self.lam), int(self.tau))
        self._norms = np.diagonal(logs).copy()
        kernel = np.exp(logs - 0.5 * (self._norms[:, None] + self._norms))
        self.kernel_ = 0.5 * (kernel + kernel.T)
        self._vectors, self._values, self._degrees = spectral_embedding(self.kernel_, sizes[0])
        self.embedding_ = unit_rows(self._vectors)
        self._bank = bank
        points, labels = self.embedding_, np.arange(bank.size)
        self.levels_ = []
        n_steps = len(sizes) + sizes[0] * (self.max_iter if self.centers == "hybrid" else 1)
        with FitProgress(self, n_steps, hmms) as progress:
            for size in sizes:
                parents, points = best_k_means(points, size, self.n_init, rng)
                labels = parents[labels]
                self.levels_.append(PPKLevel(labels, parents, points))
                progress.step()
            self.labels_ = self.levels_[0].labels
            self.weights_ = np.bincount(self.labels_, minlength=sizes[0]) / bank.size
            self.cluster_hmms_ = self._centres(rng, progress)
        return self

    def _centres(self, rng: np.random.RandomState, progress: FitProgress) -> list[HMMParams]:
        """Return the HMM that represents each cluster of the first level."""
        models = unpack_hmms(self._bank)
        gaps = np.linalg.norm(self.embedding_[:, None] - self.levels_[0].points, axis=2)
        found = []
        for c in range(len(self.weights_)):
            members = np.flatnonzero(self.labels_ == c)
            near = members if members.size else np.arange(len(models))
            medoid = int(near[gaps[near, c].argmin()])
            if self.centers == "medoid" or members.size < 2:
                found.append(models[medoid])
                progress.step()
                continue
            own = self._bank.take(members)
            weights = np.full(members.size, 1.0 / members.size)
            shape = Shape(int(own.n_states.max()), int(own.n_mix.max()), own.kind)
            run = fit_vhem(
                Collection(own.widened(float(self.reg_covar)), weights, weights, int(self.tau)),
                1,
                shape,
                Restarts(1, self.max_iter, self.tol),
                annealing=(),
                rng=rng,
                progress=progress,
            )
            found += unpack_hmms(run.params.bank)
        return found

    def to_hmm(self) -> HMMParams:
        """Return the mixture of the centres as one HMM, to be decoded or drawn from.

        Returns
        -------
        hmm : HMMParams
            With the states of all centres, in their order; those of one never lead to those of
            another, and it starts in centre k with probability ``weights_[k]``.
        """
        check_is_fitted(self, "cluster_hmms_")
        return join_hmms(self.cluster_hmms_, self.weights_)

    def transform(self, hmms: Any) -> Floats:
        """Return the places of HMMs in the embedding, also of new ones.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            HMMs of the family that was clustered.

        Returns
        -------
        points : ndarray of shape (n_hmms, n_clusters)
            The extension of Bengio et al. (2004), which leaves the fitted HMMs where they are.
        """
        check_is_fitted(self, "embedding_")
        bank = _checked_bank(hmms)
        check_pair(bank, self._bank, "the HMMs differ from those that were clustered")
        logs = log_ppk(bank, self._bank, float(self.lam), int(self.tau))
        alone = (bank.take([i]) for i in range(bank.size))
        own = np.array([log_ppk(one, one, float(self.lam), int(self.tau))[0, 0] for one in alone])
        kernel = np.exp(logs - 0.5 * (own[:, None] + self._norms))
        degrees = kernel.sum(axis=1)
        scaled = kernel / np.sqrt(np.where(degrees > 0, degrees, 1.0)[:, None] * self._degrees)
        return unit_rows(scaled @ self._vectors / self._values)

    def predict(self, hmms: Any, level: int = 0) -> NDArray[np.intp]:
        """Return the cluster of each HMM: that of the nearest centre in the embedding.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            HMMs of the family that was clustered.
        level : int, default=0
            The level of the hierarchy.

        Returns
        -------
        labels : ndarray of int of shape (n_hmms,)
            Clusters of that level.
        """
        points = self.transform(hmms)
        gaps = ((points[:, None] - self.levels_[0].points) ** 2).sum(axis=2)
        labels = gaps.argmin(axis=1)
        for one in self.levels_[1 : range(len(self.levels_))[level] + 1]:
            labels = one.parents[labels]
        return labels


def check_levels(n_clusters: Any, n_hmms: int) -> list[int]:
    """Return the numbers of clusters level by level, after checking that they fall."""
    given = [n_clusters] if isinstance(n_clusters, Integral) else list(n_clusters)
    if not given or not all(isinstance(k, Integral) and int(k) >= 1 for k in given):
        raise ValueError(f"n_clusters must be positive integers, got {n_clusters!r}.")
    sizes = [int(k) for k in given]
    if any(later >= before for before, later in pairwise(sizes)):
        raise ValueError(f"n_clusters must fall from level to level, got {n_clusters!r}.")
    if sizes[0] > n_hmms:
        raise ValueError(f"n_clusters={sizes[0]} is more than the {n_hmms} HMMs.")
    return sizes
