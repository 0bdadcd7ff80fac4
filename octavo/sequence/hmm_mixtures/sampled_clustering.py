"""Cluster hidden Markov models by sampling from them: the baseline of variational hierarchical EM.

Draws sequences from every HMM and clusters those by EM, all sequences of an HMM together. Unbiased
where the variational bound is not, at the price of many sequences and of their variance.

Reference: SHEM-H3M in Section 5.1 of E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014),
"Clustering Hidden Markov Models with Variational HEM", Journal of Machine Learning Research 15.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.smooth.em import Climb, Restarts, Steps, warn_unless_converged
from octavo.sequence.hmm.bank import pack_hmms, unpack_hmms
from octavo.sequence.hmm.emissions import COVARIANCE_TYPES
from octavo.sequence.hmm.sequence_sets import SequenceSets
from octavo.sequence.hmm.starts import Shape
from octavo.sequence.hmm_mixtures.base import warn_of_noise
from octavo.sequence.hmm_mixtures.clustering import (
    HMMCentersMixin,
    check_weights,
    reduced_shape,
    spread_of,
)
from octavo.sequence.hmm_mixtures.mixture import fit_mixture
from octavo.sequence.hmm_mixtures.vhem import Collection

__all__ = ["SampledHMMClustering"]

SAMPLES = 10  # sequences an HMM, by default


def sample_sets(base: Collection, rng: np.random.RandomState) -> SequenceSets:
    """Return sequences drawn from each HMM, those of one HMM in one set.

    Parameters
    ----------
    base : Collection
        The HMMs; HMM i gives N_i = N ω_i sequences of length τ, and at least one.
    rng : RandomState
        Source of randomness.

    Returns
    -------
    sets : SequenceSets
        One set an HMM.
    """
    # N_i sequences of length τ, at least one
    counts = np.maximum(np.rint(base.virtual).astype(np.int64), 1)
    hmms = unpack_hmms(base.bank)
    drawn = [hmm.sample(int(n), base.tau, rng) for hmm, n in zip(hmms, counts)]
    rows = np.concatenate([sequence for some in drawn for sequence in some])
    return SequenceSets(rows, np.full(counts.sum(), base.tau), counts, np.arange(base.bank.size))


def fit_sampled(
    base: Collection,
    n_clusters: int,
    shape: Shape,
    restarts: Restarts,
    *,
    noise: float,
    rng: np.random.RandomState,
    progress: Steps | None = None,
) -> Climb:
    """Return EM's best climb on sequences drawn from HMMs, with one assignment an HMM."""
    noise = 0.0 if shape.kind == "discrete" else noise
    data = sample_sets(base, rng)  # Section 5.1, SHEM-H3M
    return fit_mixture(data, n_clusters, shape, restarts, noise=noise, rng=rng, progress=progress)


class SampledHMMClustering(HMMCentersMixin, ClusterMixin, CallbackSupportMixin, SoundEstimator):
    """Cluster HMMs by EM on sequences that are drawn from them.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    n_states : int, optional
        Number of hidden states of the centres; that of the largest HMM by default.
    n_mix : int, optional
        Number of Gaussians in a centre's state; that of the largest HMM by default.
    covariance_type : {"diag", "full", "spherical"}, default="diag"
        Form of the centres' covariances.
    n_samples : int, optional
        Number of sequences in all; ten an HMM by default.
    tau : int, default=10
        Length of the sequences.
    n_init : int, default=10
        Number of random starts, of which the best is kept.
    max_iter : int, default=100
        Largest number of iterations from one start.
    tol : float, default=1e-5
        Stop when the log-likelihood rises by less than this, relative to its size.
    reg_covar : float, default=1e-6
        As in `HMMMixture`.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw and the starts.

    Attributes
    ----------
    cluster_hmms_ : list of HMMParams
        The centres.
    weights_ : ndarray of shape (n_clusters,)
        Share of the HMMs in each cluster.
    labels_ : ndarray of int of shape (n_hmms,)
        The cluster of each HMM.
    responsibilities_ : ndarray of shape (n_hmms, n_clusters)
        Probabilities of the clusters.
    lower_bound_ : float
        Log-likelihood of the sequences that were drawn.
    lower_bounds_ : ndarray of shape (`n_iter_` + 1,)
        Its value at the start and after each iteration; it never falls.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether the best start met ``tol``.

    See Also
    --------
    HMMClustering : The same without sampling, usually better and far faster.

    Notes
    -----
    Do not use it but to check the variational bound where states overlap much. scikit-learn has
    nothing of the kind.

    References
    ----------
    .. [1] E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014). "Clustering Hidden Markov Models
       with Variational HEM". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.sequence import HMMParams, SampledHMMClustering
    >>> means = (0.0, 0.3, 5.0, 5.3)
    >>> hmms = [HMMParams([1], [[1]], [[1]], [[[m]]], [[[1.0]]]) for m in means]
    >>> labels = SampledHMMClustering(2, random_state=0).fit_predict(hmms)
    >>> labels[0] == labels[1] != labels[2] == labels[3]
    np.True_
    """

    _parameter_constraints: dict[str, Any] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_states": [Interval(Integral, 1, None, closed="left"), None],
        "n_mix": [Interval(Integral, 1, None, closed="left"), None],
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "n_samples": [Interval(Integral, 1, None, closed="left"), None],
        "tau": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        n_states: int | None = None,
        n_mix: int | None = None,
        covariance_type: str = "diag",
        n_samples: int | None = None,
        tau: int = 10,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_states = n_states
        self.n_mix = n_mix
        self.covariance_type = covariance_type
        self.n_samples = n_samples
        self.tau = tau
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
    def fit(self, hmms: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Cluster HMMs.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            HMMs of one family.
        sample_weight : array-like of shape (n_hmms,), optional
            Weights of the HMMs, on any scale: the share of the sequences that each gives.

        Returns
        -------
        self : SampledHMMClustering
            The fitted clustering.
        """
        bank = pack_hmms(hmms)
        if self.n_clusters > bank.size:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the {bank.size} HMMs.")
        weights = check_weights(sample_weight, bank.size)
        warn_of_noise(self.reg_covar, spread_of(bank))
        total = SAMPLES * bank.size if self.n_samples is None else self.n_samples
        with FitProgress(self, self.n_init * self.max_iter, hmms) as progress:
            run = fit_sampled(
                Collection(bank, weights, total * weights, int(self.tau)),
                self.n_clusters,
                reduced_shape(bank, self.n_states, self.n_mix, self.covariance_type),
                Restarts(self.n_init, self.max_iter, self.tol),
                noise=float(self.reg_covar),
                rng=check_random_state(self.random_state),
                progress=progress,
            )
        warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
        self.weights_, self.cluster_hmms_ = run.params.weights, unpack_hmms(run.params.bank)
        self.responsibilities_ = run.expectations.share
        self.labels_ = self.responsibilities_.argmax(axis=1)
        self.lower_bound_, self.lower_bounds_ = run.objective, run.trace
        self.n_iter_, self.converged_ = run.n_iter, run.converged
        self._virtual_each = total / bank.size
        return self
