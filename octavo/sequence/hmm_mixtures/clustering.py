"""Cluster hidden Markov models by the distributions they define, with a new HMM for each cluster.

Given many HMMs, one a patient, a song, a machine, a gesture, finds groups that define similar
distributions over sequences and learns for each group a novel HMM that represents it. Only models
are needed, not the sequences they were learnt from; states need not correspond.

Reference: E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014), "Clustering Hidden Markov Models
with Variational HEM", Journal of Machine Learning Research 15: Sections 3 and 5. The algorithm is
in `octavo.sequence.hmm_mixtures.vhem`, its variational bound in
`octavo.sequence.hmm_mixtures.divergence`.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.probability.mixtures import log_sum, responsibilities, safe_log
from octavo.engine.smooth.em import Climb, Restarts, warn_unless_converged
from octavo.sequence.hmm.bank import HMMBank, pack_hmms, require_positive, unpack_hmms
from octavo.sequence.hmm.emissions import COVARIANCE_TYPES
from octavo.sequence.hmm.params import HMMParams, join_hmms
from octavo.sequence.hmm.sequence_sets import Mixture
from octavo.sequence.hmm.starts import Shape
from octavo.sequence.hmm_mixtures.base import warn_of_noise
from octavo.sequence.hmm_mixtures.divergence import check_pair, expected_logliks
from octavo.sequence.hmm_mixtures.vhem import (
    ANNEALING,
    FIRST_ITERATIONS,
    HARD,
    Collection,
    fit_vhem,
)

__all__ = ["HMMClustering"]


# --- what is asked for ---------------------------------------------------------------------------


def check_weights(sample_weight: Any, n: int) -> Floats:
    """Return the weights ω_i of n HMMs, adding up to one."""
    if sample_weight is None:
        return np.full(n, 1.0 / n)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one entry an HMM ({n}), got {weights.shape}.")
    for i in np.flatnonzero(~(weights >= 0) | ~np.isfinite(weights))[:1]:
        raise ValueError(
            f"sample_weight must be finite and not negative, got {weights[i]} for HMM {i}."
        )
    if weights.sum() == 0:
        raise ValueError("sample_weight adds up to zero.")
    return weights / weights.sum()


def raise_variances(bank: HMMBank, least: float) -> HMMBank:
    """Return models none of whose variances, in any direction, is below a floor."""
    if bank.covars is None or least == 0.0:
        return bank
    if bank.kind != "full":
        return bank._replace(covars=np.maximum(bank.covars, least))
    values, vectors = np.linalg.eigh(bank.covars)
    scaled = vectors * np.maximum(values, least)[..., None, :]
    return bank._replace(covars=scaled @ vectors.swapaxes(-1, -2))


def warn_of_absorption(bank: HMMBank, tau: int) -> None:
    """Warn where virtual sequences are longer than a left-to-right model lasts."""
    below = np.tril(np.ones(bank.trans.shape[1:]), -1)
    forward = ~np.any(bank.trans * below > 0, axis=(1, 2))
    moves = np.any(bank.trans * below.T > 0, axis=(1, 2))
    for i in np.flatnonzero(forward & moves & (tau > bank.n_states))[:1]:
        warnings.warn(
            f"HMM {i} runs from left to right through {bank.n_states[i]} states, fewer than "
            f"tau={tau}: its virtual sequences dwell in the last state. Choose tau no longer than "
            "the sequences usually are.",
            UserWarning,
            stacklevel=4,
        )


def spread_of(bank: HMMBank) -> Floats:
    """Return what observations of all models may vary by, axis by axis; 0 for symbols."""
    if bank.means is None:
        return np.zeros(1)
    means, covars = bank.gaussians()
    own = covars if covars.ndim == 2 else np.einsum("ndd->nd", covars)
    return own.max(axis=0) + means.var(axis=0)


def reduced_shape(bank: HMMBank, n_states: int | None, n_mix: int | None, kind: str) -> Shape:
    """Return the shape of the reduced models; None means that of the largest base model."""
    states = int(bank.n_states.max()) if n_states is None else int(n_states)
    if bank.means is None:
        return Shape(states, bank.weights.shape[2], "discrete")
    return Shape(states, int(bank.n_mix.max()) if n_mix is None else int(n_mix), kind)


def check_init(init: Any, n_clusters: int, shape: Shape, base: HMMBank) -> Mixture:
    """Return the user's first models with equal weights."""
    bank = pack_hmms(init, name="init: HMM")
    check_pair(base, bank, "init does not go with the HMMs")
    require_positive(bank, name="init: HMM")
    wanted = (n_clusters, shape.n_states, shape.n_mix)
    if bank.weights.shape != wanted or bank.kind != shape.kind:
        raise ValueError(
            f"init must be {wanted[0]} HMMs of {wanted[1]} states with {wanted[2]} "
            f"{'symbols' if bank.means is None else f'{shape.kind} Gaussians'}, got "
            f"{bank.weights.shape[0]} of {bank.weights.shape[1]} with {bank.weights.shape[2]} "
            f"({bank.kind})."
        )
    return Mixture(np.full(n_clusters, 1.0 / n_clusters), bank)


# --- estimators ----------------------------------------------------------------------------------


class HMMCentersMixin:
    """What every clustering with an HMM as the centre of each cluster can say about other HMMs."""

    cluster_hmms_: list[HMMParams]
    weights_: Floats
    tau: int
    _virtual_each: float

    def _centres(self) -> HMMBank:
        check_is_fitted(self, "cluster_hmms_")
        return pack_hmms(self.cluster_hmms_)

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
        """Return the expected log-likelihood of each HMM under each cluster's centre.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            HMMs of the family that was clustered.

        Returns
        -------
        logliks : ndarray of shape (n_hmms, n_clusters)
            The variational bounds L_HMM.
        """
        centres = self._centres()
        bank = pack_hmms(hmms)
        check_pair(bank, centres, "the HMMs differ from those that were clustered")
        return expected_logliks(bank, centres, self.tau)

    def predict_proba(self, hmms: Any) -> Floats:
        """Return the probability of each cluster for each HMM.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            HMMs of the family that was clustered.

        Returns
        -------
        probability : ndarray of shape (n_hmms, n_clusters)
            Eq. (19), each HMM standing for as many virtual sequences as one did in fit, on average.
        """
        logliks = self.transform(hmms)
        return responsibilities(self.weights_, self._virtual_each * logliks)[0]  # Eq. (19)

    def predict(self, hmms: Any) -> NDArray[np.intp]:
        """Return the cluster of each HMM.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            HMMs of the family that was clustered.

        Returns
        -------
        labels : ndarray of int of shape (n_hmms,)
            The most probable clusters.
        """
        logliks = self.transform(hmms)
        return np.argmax(safe_log(self.weights_) + self._virtual_each * logliks, axis=1)

    def score(self, hmms: Any, y: Any = None) -> float:
        """Return the mean bound on the log-likelihood of a virtual sequence; higher is better.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            HMMs of the family that was clustered.
        y : None
            Ignored.

        Returns
        -------
        score : float
            The objective per virtual sequence, HMMs weighted alike.
        """
        joint = safe_log(self.weights_) + self._virtual_each * self.transform(hmms)
        return float(log_sum(joint).mean() / self._virtual_each)  # Eq. (20), by sequence

    def _criterion(self, hmms: Any, n_sequences: float | None) -> tuple[float, int, float]:
        """Return twice the negative bound, the number of parameters, and of sequences."""
        logliks = self.transform(hmms)
        n = float(len(logliks)) if n_sequences is None else float(n_sequences)
        # log Σ_j ω_j exp(N_i L_ij), N_i observed sequences a model
        bound = log_sum(safe_log(self.weights_) + n / len(logliks) * logliks).sum()
        centres = self._centres()
        return -2.0 * float(bound), self.weights_.size - 1 + centres.n_parameters, n

    def bic(self, hmms: Any, n_sequences: float | None = None) -> float:
        """Return the Bayesian information criterion, to choose the number of clusters.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            The HMMs that were clustered.
        n_sequences : float, optional
            How many sequences of length ``tau`` the HMMs stand for: the amount of data they were
            learnt from. As many as HMMs by default. The number of virtual sequences of a hard
            clustering is no such amount, and would favour ever more clusters.

        Returns
        -------
        bic : float
            -2 bound + parameters · log(n_sequences); lower is better.
        """
        minus, parameters, n = self._criterion(hmms, n_sequences)
        return minus + parameters * float(np.log(n))

    def aic(self, hmms: Any, n_sequences: float | None = None) -> float:
        """Return the Akaike information criterion, to choose the number of clusters.

        Parameters
        ----------
        hmms : list of HMMParams, or of other forms that `as_hmm` takes
            The HMMs that were clustered.
        n_sequences : float, optional
            As in `bic`.

        Returns
        -------
        aic : float
            -2 bound + 2 · parameters; lower is better.
        """
        minus, parameters, _ = self._criterion(hmms, n_sequences)
        return minus + 2.0 * parameters


class HMMClustering(HMMCentersMixin, ClusterMixin, CallbackSupportMixin, SoundEstimator):
    """Cluster HMMs with variational hierarchical EM.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    n_states : int, optional
        Number of hidden states of the centres; that of the largest HMM by default.
    n_mix : int, optional
        Number of Gaussians in a centre's state; that of the largest HMM by default.
    covariance_type : {"diag", "full", "spherical"}, default="diag"
        Form of the centres' covariances, whatever that of the HMMs.
    n_virtual : "hard" or float, default="hard"
        Number N of virtual sequences in all, of which an HMM stands for its share; "hard" is 10⁴
        an HMM, for assignments that are nearly hard. Fewer, 10 to 1000 an HMM, are right for
        density estimation.
    tau : int, default=10
        Length of the virtual sequences.
    n_init : int, default=10
        Number of random starts, of which the best is kept.
    max_iter : int, default=100
        Largest number of iterations from one start.
    tol : float, default=1e-5
        Stop when the bound rises by less than this, relative to its size.
    reg_covar : float, default=1e-6
        Variance added to those of the HMMs that are clustered. The centres' variances are no
        smaller, and the bound that is maximised is of the HMMs so widened: it never falls.
    anneal : bool, default=True
        Whether each start makes a few iterations with a hundredth, then a tenth of N.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts.
    init : list of HMMParams, optional
        First centres, in place of random starts.
    min_covar : float, default=0
        Smaller variances of the HMMs that are clustered are raised to this: an HMM that shrank
        around a few points would dominate all divergences.

    Attributes
    ----------
    cluster_hmms_ : list of HMMParams
        The centres.
    weights_ : ndarray of shape (n_clusters,)
        Share of the HMMs in each cluster (each HMM counts as one, Eq. 24).
    labels_ : ndarray of int of shape (n_hmms,)
        The cluster of each HMM.
    responsibilities_ : ndarray of shape (n_hmms, n_clusters)
        Probabilities of the clusters.
    lower_bound_ : float
        Bound on the expected log-likelihood of all virtual sequences.
    lower_bounds_ : ndarray
        Its value at the start (after annealing) and after each iteration; it never falls.
    n_iter_ : int
        Number of iterations of the best start, after annealing.
    converged_ : bool
        Whether the best start met ``tol``.

    See Also
    --------
    fit_hmms : Fits one HMM to each sequence, so that sequences can be clustered.
    HierarchicalHMMClustering : A tree of clusters.
    PPKSpectralClustering : Clusters by a kernel, without centres of its own.

    Notes
    -----
    Do not use it where you have few sequences and time: `HMMMixture` clusters them directly, and
    on short sequences, whose own HMMs are poorly known, usually better. Where states overlap much
    the variational bound is loose. scikit-learn clusters vectors; for HMMs it offers
    `sklearn.cluster.AgglomerativeClustering` or `sklearn.cluster.SpectralClustering` on
    `hmm_distance_matrix` or `hmm_ppk`, without centres.

    References
    ----------
    .. [1] E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014). "Clustering Hidden Markov Models
       with Variational HEM". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.sequence import HMMClustering, HMMParams
    >>> def hmm(mean, stay):
    ...     trans, means = [[stay, 1 - stay], [1 - stay, stay]], [[[mean]], [[mean + 4]]]
    ...     return HMMParams([0.5, 0.5], trans, [[1], [1]], means, [[[1]], [[1]]])
    >>> hmms = [hmm(0.0, 0.9), hmm(0.1, 0.9), hmm(0.0, 0.2), hmm(0.1, 0.2)]
    >>> model = HMMClustering(2, random_state=0).fit(hmms)
    >>> model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    np.True_
    >>> model.cluster_hmms_[model.labels_[0]].transmat[0].round(2)
    array([0.9, 0.1])
    """

    _parameter_constraints: dict[str, Any] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_states": [Interval(Integral, 1, None, closed="left"), None],
        "n_mix": [Interval(Integral, 1, None, closed="left"), None],
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "n_virtual": [StrOptions({"hard"}), Interval(Real, 0, None, closed="neither")],
        "tau": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "anneal": ["boolean"],
        "random_state": ["random_state"],
        "init": [None, "array-like"],
        "min_covar": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        n_states: int | None = None,
        n_mix: int | None = None,
        covariance_type: str = "diag",
        n_virtual: str | float = "hard",
        tau: int = 10,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        anneal: bool = True,
        random_state: Any = None,
        *,
        init: Any = None,
        min_covar: float = 0.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_states = n_states
        self.n_mix = n_mix
        self.covariance_type = covariance_type
        self.n_virtual = n_virtual
        self.tau = tau
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.anneal = anneal
        self.random_state = random_state
        self.init = init
        self.min_covar = min_covar

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
            HMMs of one family: the same number of features, form of covariances and kind of
            emissions. Numbers of states and of Gaussians may differ.
        sample_weight : array-like of shape (n_hmms,), optional
            Weights ω_i of the HMMs, on any scale: the share of the virtual sequences that each
            stands for. Equal by default.

        Returns
        -------
        self : HMMClustering
            The fitted clustering.
        """
        bank = pack_hmms(hmms)
        with FitProgress(self, self._n_steps(), hmms) as progress:
            run = reduce_bank(
                self, bank, self.n_clusters, check_weights(sample_weight, bank.size), progress
            )
        warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
        self.weights_, self.cluster_hmms_ = run.params.weights, unpack_hmms(run.params.bank)
        self.responsibilities_ = run.expectations.share
        self.labels_ = self.responsibilities_.argmax(axis=1)
        self.lower_bound_, self.lower_bounds_ = run.objective, run.trace
        self.n_iter_, self.converged_ = run.n_iter, run.converged
        self._virtual_each = virtual_sequences(self.n_virtual, bank.size) / bank.size
        return self

    def _n_steps(self) -> int:
        annealing = FIRST_ITERATIONS * len(ANNEALING) if self.anneal else 0
        return self.n_init * (self.max_iter + annealing)


def virtual_sequences(n_virtual: str | float, n_hmms: int) -> float:
    """Return the number N of virtual sequences of all HMMs together."""
    return HARD * n_hmms if isinstance(n_virtual, str) else float(n_virtual)


def reduce_bank(
    estimator: Any,
    bank: HMMBank,
    n_clusters: int,
    weights: Floats,
    progress: Any = None,
    rng: np.random.RandomState | None = None,
) -> Climb:
    """Cluster a bank of HMMs as an estimator's parameters say.

    Parameters
    ----------
    estimator : HMMClustering, or another with its parameters
        What is asked for.
    bank : HMMBank
        The HMMs.
    n_clusters : int
        Number of clusters.
    weights : ndarray of shape (n,)
        Weights of the HMMs.
    progress : FitProgress, optional
        Stepped once an iteration.
    rng : RandomState, optional
        Source of randomness; the estimator's by default.

    Returns
    -------
    run : Climb
        The best climb.
    """
    if n_clusters > bank.size:
        raise ValueError(f"n_clusters={n_clusters} is more than the {bank.size} HMMs.")
    tau = int(estimator.tau)
    shape = reduced_shape(bank, estimator.n_states, estimator.n_mix, estimator.covariance_type)
    if tau == 1 and shape.n_states > 1:
        warnings.warn(
            "tau=1: virtual sequences have no transitions, and those of the centres are left as "
            "they start.",
            UserWarning,
            stacklevel=4,
        )
    warn_of_absorption(bank, tau)
    ready = raise_variances(bank, float(getattr(estimator, "min_covar", 0.0)))
    warn_of_noise(estimator.reg_covar, spread_of(ready))
    ready = ready.widened(float(estimator.reg_covar))
    virtual = virtual_sequences(estimator.n_virtual, bank.size) * weights  # N_i = N ω_i
    init = getattr(estimator, "init", None)
    return fit_vhem(
        Collection(ready, weights, virtual, tau),
        n_clusters,
        shape,
        Restarts(estimator.n_init, estimator.max_iter, estimator.tol),
        annealing=ANNEALING if estimator.anneal else (),
        rng=rng or check_random_state(estimator.random_state),
        init=None if init is None else check_init(init, n_clusters, shape, bank),
        progress=progress,
    )
