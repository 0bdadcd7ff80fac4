"""Mixtures of hidden Markov models fitted to sequences by EM.

A mixture of K HMMs clusters sequences by how they evolve: each belongs, with some probability, to
one of K models that are learnt together with the assignment. Sets of sequences that must stay
together share one assignment.

References: P. Smyth (1997), "Clustering Sequences with Hidden Markov Models", NIPS. The form with
one assignment a set is Section 5.1 of E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014),
"Clustering Hidden Markov Models with Variational HEM", Journal of Machine Learning Research 15.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state

from octavo.engine.chains.inference import chain_marginals
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.progress import FitProgress
from octavo.engine.estimators.sklearn_door import Interval, StrOptions, fit_context
from octavo.engine.estimators.sound import SoundEstimator
from octavo.engine.probability.gaussians import SingularCovarianceError, weighted_moments
from octavo.engine.probability.mixtures import log_sum, responsibilities, safe_log
from octavo.engine.smooth.em import (
    Climb,
    Restarts,
    Steps,
    best_of,
    climb,
    surviving,
    warn_unless_converged,
)
from octavo.sequence.hmm.bank import HMMBank, check_rows, component_scores, unpack_hmms
from octavo.sequence.hmm.emissions import COVARIANCE_TYPES
from octavo.sequence.hmm.m_step import BankStatistics, updated_bank
from octavo.sequence.hmm.sequence_sets import Mixture, SequenceSets, gather_sets, parts_of_sets
from octavo.sequence.hmm.starts import Shape, start_mixture
from octavo.sequence.hmm_mixtures.base import SequenceMixtureMixin, warn_of_noise

__all__ = ["HMMMixture"]


# --- EM ------------------------------------------------------------------------------------------


class Expectations(NamedTuple):
    """What an E-step leaves for the M-step: responsibilities (n_sets, K), and statistics."""

    share: Floats
    statistics: BankStatistics


def expect(mixture: Mixture, data: SequenceSets, noise: float) -> tuple[float, Expectations]:
    """Return the log-likelihood and the expected statistics of a mixture.

    Parameters
    ----------
    mixture : Mixture
        Present parameters.
    data : SequenceSets
        The sequences.
    noise : float
        A variance that every observation has; see `HMMMixture`.

    Returns
    -------
    objective : float
        Σ over sets of log Σ_k ω_k p(set | k), observations blurred by the noise.
    expectations : Expectations
        Of the hidden states and assignments.
    """
    bank = mixture.bank
    objective, shares, total = 0.0, [], None
    for part in parts_of_sets(data, bank.weights.size):
        scores, parts = _emissions(bank, part.rows, noise)
        chain = chain_marginals(
            safe_log(bank.start),
            safe_log(bank.trans),
            scores.transpose(1, 0, 2),
            part.lengths,
            pairs="sequence",
        )
        assert chain.pairs is not None
        logliks = np.add.reduceat(chain.log_partition, np.cumsum(part.sets) - part.sets, axis=1)
        # Eq. (19) with the log-likelihood of a whole set (Section 5.1) in the place of N_i L_ij.
        share, sums = responsibilities(mixture.weights, logliks.T)
        each = np.repeat(share, part.sets, axis=0)  # (n_sequences, K)
        # ν̂_1 of Eq. (25): posteriors of first states
        statistics = BankStatistics(
            np.einsum("qk,kqs->ks", each, chain.nodes[:, np.cumsum(part.lengths) - part.lengths]),
            np.einsum("qk,kqst->kst", each, chain.pairs),  # ξ̂ of Eq. (25): pairs of states
            _emission_statistics(bank, part, each, chain.nodes, parts),
        )
        total = statistics if total is None else total.plus(statistics)
        objective += float(sums.sum())  # the log of Eq. (4)
        shares.append(share)
    assert total is not None
    return objective, Expectations(np.concatenate(shares), total)


def _emissions(bank: HMMBank, rows: NDArray[Any], noise: float) -> tuple[Floats, Floats | None]:
    """Return log densities (n, K, S) of rows, and the shares (n, K, S, M) of the Gaussians."""
    if bank.means is None:
        return safe_log(bank.weights)[:, :, rows].transpose(2, 0, 1), None
    joint = component_scores(bank, rows, None, noise) + safe_log(bank.weights)
    if bank.weights.shape[2] == 1:
        return joint[..., 0], None
    scores = log_sum(joint)
    return scores, np.exp(joint - scores[..., None])  # η: which Gaussian of a state a row came from


def _emission_statistics(
    bank: HMMBank, part: SequenceSets, each: Floats, nodes: Floats, parts: Floats | None
) -> Any:
    """Return the moments of the Gaussians, or the counts of the symbols."""
    # ẑ γ_t(s), the weights of Eq. (26)
    stay = nodes.transpose(1, 0, 2) * np.repeat(each, part.lengths, axis=0)[..., None]
    if bank.means is None:
        K, S, V = bank.weights.shape
        counts = np.zeros((V, K * S))
        np.add.at(counts, part.rows, stay.reshape(-1, K * S))
        return counts.T.reshape(K, S, V)
    weights = stay[..., None] if parts is None else stay[..., None] * parts
    flat = np.ascontiguousarray(weights.reshape(part.rows.shape[0], -1))
    shift = bank.gaussians()[0]
    return weighted_moments(flat, part.rows, None, shift, full=bank.kind == "full")


def maximize(mixture: Mixture, found: Expectations, noise: float) -> Mixture:
    """Return the mixture that the expectations call for."""
    weights = found.share.mean(axis=0)  # Eq. (24)
    return Mixture(weights, updated_bank(mixture.bank, found.statistics, noise=noise))


def fit_mixture(
    data: SequenceSets,
    n_components: int,
    shape: Shape,
    restarts: Restarts,
    *,
    noise: float,
    rng: np.random.RandomState,
    progress: Steps | None = None,
) -> Climb:
    """Return the best of several climbs of EM from random starts."""

    def one() -> Climb:
        return climb(
            lambda mixture: expect(mixture, data, noise),
            lambda mixture, found: maximize(mixture, found, noise),
            start_mixture(data, n_components, shape, noise, rng),
            max_iter=restarts.max_iter,
            tol=restarts.tol,
            progress=progress,
        )

    return best_of(surviving(one, restarts.n_init, SingularCovarianceError))


# --- the estimator -------------------------------------------------------------------------------


def shape_of(model: Any, rows: NDArray[Any]) -> Shape:
    """Return the shape that an estimator's parameters ask for."""
    if model.emissions == "discrete":
        return Shape(model.n_states, int(rows.max()) + 1, "discrete")
    return Shape(model.n_states, model.n_mix, model.covariance_type)


class HMMMixture(SequenceMixtureMixin, CallbackSupportMixin, SoundEstimator):
    """Cluster sequences with a mixture of hidden Markov models, fitted by EM.

    Parameters
    ----------
    n_components : int, default=2
        Number of HMMs in the mixture.
    n_states : int, default=3
        Number of hidden states of each.
    n_mix : int, default=1
        Number of Gaussians in the mixture that a state emits.
    covariance_type : {"diag", "full", "spherical"}, default="diag"
        Form of the covariances.
    n_init : int, default=5
        Number of random starts, of which the best is kept.
    max_iter : int, default=100
        Largest number of iterations from one start.
    tol : float, default=1e-5
        Stop when the log-likelihood rises by less than this, relative to its size.
    reg_covar : float, default=1e-6
        Variance of a noise that every observation is taken to carry. Covariances are no smaller,
        and what is maximised is the expected log-likelihood under that noise, which never falls.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts.
    emissions : {"gaussian", "discrete"}, default="gaussian"
        Whether sequences hold rows of numbers, or symbols 0, 1, 2, ...

    Attributes
    ----------
    cluster_hmms_ : list of HMMParams
        The HMMs.
    weights_ : ndarray of shape (n_components,)
        Their mixture weights.
    labels_ : ndarray of int
        The most probable component of each sequence; of each group when groups are given.
    responsibilities_ : ndarray of shape (n_sequences or n_groups, n_components)
        Probabilities of the components.
    groups_ : ndarray
        The groups in the order of ``labels_``; the numbers of the sequences without groups.
    lower_bound_ : float
        The log-likelihood that was reached.
    lower_bounds_ : ndarray of shape (`n_iter_` + 1,)
        Its value at the start and after each iteration; it never falls.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether the best start met ``tol``.

    See Also
    --------
    HMMClustering : Clusters HMMs instead of sequences.
    HierarchicalHMMMixture : The same mixture from far more sequences.

    Notes
    -----
    Do not use it where sequences differ by their values and not by how they evolve:
    `sklearn.mixture.GaussianMixture` on summary statistics is simpler and has fewer optima.
    scikit-learn has nothing for sequences. With thousands of sequences every iteration runs over
    all of them; fit `HierarchicalHMMMixture` instead.

    References
    ----------
    .. [1] P. Smyth (1997). "Clustering Sequences with Hidden Markov Models". Advances in Neural
       Information Processing Systems 9.
    .. [2] E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014). "Clustering Hidden Markov Models
       with Variational HEM". Journal of Machine Learning Research 15.

    Examples
    --------
    >>> from octavo.data import make_hmm_sequences
    >>> from octavo.sequence import HMMMixture
    >>> X, y = make_hmm_sequences("means", n_per_class=5, random_state=0)
    >>> model = HMMMixture(4, n_states=3, n_init=2, random_state=0).fit(X)
    >>> model.predict(X).shape
    (20,)
    """

    _parameter_constraints: dict[str, Any] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "n_states": [Interval(Integral, 1, None, closed="left")],
        "n_mix": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions(set(COVARIANCE_TYPES))],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "emissions": [StrOptions({"gaussian", "discrete"})],
    }

    def __init__(
        self,
        n_components: int = 2,
        n_states: int = 3,
        n_mix: int = 1,
        covariance_type: str = "diag",
        n_init: int = 5,
        max_iter: int = 100,
        tol: float = 1e-5,
        reg_covar: float = 1e-6,
        random_state: Any = None,
        *,
        emissions: str = "gaussian",
    ) -> None:
        self.n_components = n_components
        self.n_states = n_states
        self.n_mix = n_mix
        self.covariance_type = covariance_type
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.reg_covar = reg_covar
        self.random_state = random_state
        self.emissions = emissions

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    @with_callbacks
    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, lengths: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the mixture to sequences.

        Parameters
        ----------
        X : list of arrays, or array of shape (n_rows, n_features)
            Sequences, as a list or stacked.
        lengths : array-like of int, optional
            Lengths of stacked sequences.
        groups : array-like of shape (n_sequences,), optional
            Sequences with equal entries belong together and get one component.

        Returns
        -------
        self : HMMMixture
            The fitted mixture.
        """
        discrete = self.emissions == "discrete"
        data = gather_sets(*check_rows(X, lengths, discrete=discrete), groups)
        if self.n_components > data.sets.size:
            what = "sequences" if groups is None else "groups"
            raise ValueError(
                f"n_components={self.n_components} is more than the {data.sets.size} {what}."
            )
        shape = shape_of(self, data.rows)
        if not discrete:
            warn_of_noise(self.reg_covar, data.rows.var(axis=0))
        with FitProgress(self, self.n_init * self.max_iter, X) as progress:
            run = fit_mixture(
                data,
                self.n_components,
                shape,
                Restarts(self.n_init, self.max_iter, self.tol),
                noise=0.0 if discrete else float(self.reg_covar),
                rng=check_random_state(self.random_state),
                progress=progress,
            )
        warn_unless_converged(run, self, max_iter=self.max_iter, tol=self.tol)
        self.weights_, self.cluster_hmms_ = run.params.weights, unpack_hmms(run.params.bank)
        self.responsibilities_ = run.expectations.share
        self.labels_ = self.responsibilities_.argmax(axis=1)
        self.groups_ = data.names
        self.lower_bound_, self.lower_bounds_ = run.objective, run.trace
        self.n_iter_, self.converged_ = run.n_iter, run.converged
        return self
