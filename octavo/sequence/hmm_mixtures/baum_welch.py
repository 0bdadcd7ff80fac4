"""One hidden Markov model for each sequence, or set of sequences: many Baum-Welch fits at once.

The first stage of clustering sequences by their models, and of learning from more sequences than
fit in memory. All models take their EM steps together, in the same compiled passes over the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from octavo.engine.chains.inference import chain_marginals
from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked
from octavo.engine.probability.gaussians import owned_log_density, owned_moments
from octavo.engine.probability.mixtures import log_sum, safe_log
from octavo.engine.smooth.em import Restarts, climb
from octavo.sequence.hmm.bank import HMMBank, check_rows, unpack_hmms
from octavo.sequence.hmm.m_step import BankStatistics, updated_bank
from octavo.sequence.hmm.params import HMMParams
from octavo.sequence.hmm.sequence_sets import SequenceSets, gather_sets, parts_of_sets, take_sets
from octavo.sequence.hmm.starts import Shape, join_banks, start_bank
from octavo.sequence.hmm_mixtures.mixture import HMMMixture, shape_of

__all__ = ["fit_hmms"]


def expect_own(bank: HMMBank, data: SequenceSets, noise: float) -> tuple[Floats, BankStatistics]:
    """Return log-likelihood and statistics of each set of sequences under its own model.

    Parameters
    ----------
    bank : HMMBank
        One model a set.
    data : SequenceSets
        The sets.
    noise : float
        As in `HMMMixture`.

    Returns
    -------
    logliks : ndarray of shape (n_sets,)
        Log-likelihoods.
    statistics : BankStatistics
        For `updated_bank`.
    """
    model = np.repeat(np.arange(bank.size), data.sets)  # of each sequence
    owner = np.repeat(model, data.lengths)  # of each row
    scores, parts = _own_emissions(bank, data.rows, owner, noise)
    firsts = np.cumsum(data.lengths) - data.lengths
    scores[firsts] += safe_log(bank.start)[model]  # each sequence has a start of its own
    steps = np.repeat(model, data.lengths - 1)
    zero = np.zeros(bank.start.shape[1])
    chain = chain_marginals(
        zero, safe_log(bank.trans)[steps], scores, data.lengths, pairs="sequence"
    )
    assert chain.pairs is not None
    begin = np.cumsum(data.sets) - data.sets
    weights = chain.nodes[..., None] if parts is None else chain.nodes[..., None] * parts
    # Eq. (25) with ẑ = 1: a model learns from its own set alone
    statistics = BankStatistics(
        np.add.reduceat(chain.nodes[firsts], begin),
        np.add.reduceat(chain.pairs, begin),
        _own_statistics(bank, data.rows, owner, weights),
    )
    return np.add.reduceat(chain.log_partition, begin), statistics


def _own_emissions(
    bank: HMMBank, rows: NDArray[Any], owner: NDArray[np.int64], noise: float
) -> tuple[Floats, Floats | None]:
    """Return log densities (n, S) of rows in their own models, and shares of the Gaussians."""
    K, S, M = bank.weights.shape
    if bank.means is None or bank.covars is None:
        return safe_log(bank.weights)[owner, :, rows], None
    joint = owned_log_density(
        rows,
        owner,
        bank.means.reshape(K, S * M, -1),
        bank.covars.reshape(K, S * M, *bank.covars.shape[3:]),
        noise=noise,
    ).reshape(-1, S, M)
    if M == 1:
        return joint[..., 0], None
    joint += safe_log(bank.weights)[owner]
    scores = log_sum(joint)
    return scores, np.exp(joint - scores[..., None])


def _own_statistics(
    bank: HMMBank, rows: NDArray[Any], owner: NDArray[np.int64], weights: Floats
) -> Any:
    K, S, M = bank.weights.shape
    if bank.means is None:
        counts = np.zeros((K, M, S))
        np.add.at(counts, (owner, rows), weights[..., 0])
        return counts.transpose(0, 2, 1)
    flat = np.ascontiguousarray(weights.reshape(len(rows), -1))
    shift = bank.means.reshape(K, S * M, -1)
    return owned_moments(flat, rows, owner, shift, full=bank.kind == "full")


def fit_own(
    data: SequenceSets,
    shape: Shape,
    restarts: Restarts,
    *,
    noise: float,
    rng: np.random.RandomState,
) -> HMMBank:
    """Return one model a set, each the best of several starts."""
    best: HMMBank | None = None
    reached = np.full(data.sets.size, -np.inf)
    for _ in range(restarts.n_init):
        start = join_banks(
            [
                start_bank(take_sets(data, g, g + 1), shape, rng, data.rows, noise)
                for g in range(data.sets.size)
            ]
        )

        def expect(bank: HMMBank) -> tuple[float, Any]:
            logliks, statistics = expect_own(bank, data, noise)
            return float(logliks.sum()), (logliks, statistics)

        run = climb(
            expect,
            lambda bank, found: updated_bank(bank, found[1], noise=noise),
            start,
            max_iter=restarts.max_iter,
            tol=restarts.tol,
        )
        better = run.expectations[0] > reached
        reached = np.where(better, run.expectations[0], reached)
        best = run.params if best is None else _better_of(better, run.params, best)
    assert best is not None
    return best


def _better_of(better: NDArray[np.bool_], one: HMMBank, other: HMMBank) -> HMMBank:
    """Return the models of one bank where it is better, else those of the other."""

    def mix(a: Any, b: Any) -> Any:
        return None if a is None else np.where(better.reshape(-1, *[1] * (a.ndim - 1)), a, b)

    names = ("start", "trans", "weights", "means", "covars")
    return one._replace(**{name: mix(getattr(one, name), getattr(other, name)) for name in names})


@checked
def fit_hmms(
    X: Any,
    lengths: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    *,
    n_states: int = 3,
    n_mix: int = 1,
    covariance_type: str = "diag",
    emissions: str = "gaussian",
    n_init: int = 3,
    max_iter: int = 100,
    tol: float = 1e-5,
    reg_covar: float = 1e-3,
    stationary_start: bool = False,
    random_state: Any = None,
) -> list[HMMParams]:
    """Fit one HMM to each sequence, or to each set of sequences, by Baum-Welch.

    Parameters
    ----------
    X : list of arrays, or array of shape (n_rows, n_features)
        Sequences, as a list or stacked.
    lengths : array-like of int, optional
        Lengths of stacked sequences.
    groups : array-like of shape (n_sequences,), optional
        Sequences with equal entries share an HMM.
    n_states, n_mix : int
        Numbers of hidden states, and of Gaussians in a state's mixture.
    covariance_type : {"diag", "full", "spherical"}, default="diag"
        Form of the covariances.
    emissions : {"gaussian", "discrete"}, default="gaussian"
        Whether sequences hold rows of numbers, or symbols 0, 1, 2, ...
    n_init : int, default=3
        Number of random starts; each model keeps its best.
    max_iter : int, default=100
        Largest number of iterations from one start.
    tol : float, default=1e-5
        Stop when the log-likelihood of all models together rises by less than this, relative to
        its size.
    reg_covar : float, default=1e-3
        As in `HMMMixture`, but relative to the variance of all the data: an HMM of a single
        sequence easily shrinks around a few points, and then dominates what is made of it.
    stationary_start : bool, default=False
        Whether to replace the first state's probabilities in the end by those that the
        transitions keep. A single sequence says nothing of them but its own first state, which
        then sets apart HMMs that are alike in all else.
    random_state : int, RandomState instance or None, default=None
        Seeds the starts.

    Returns
    -------
    hmms : list of HMMParams
        One a sequence; with groups one a group, in the order of `numpy.unique`.

    Examples
    --------
    >>> from octavo.data import make_hmm_sequences
    >>> from octavo.sequence import fit_hmms
    >>> X, y = make_hmm_sequences("means", n_per_class=2, random_state=0)
    >>> hmms = fit_hmms(X, n_states=3, random_state=0)
    >>> len(hmms), hmms[0]
    (8, HMMParams(n_states=3, n_mix=1, n_features=1, covariance_type='diag'))
    """
    model = HMMMixture(1, n_states, n_mix, covariance_type, n_init, max_iter, tol, reg_covar)
    model.set_params(emissions=emissions, random_state=random_state)._validate_params()
    discrete = emissions == "discrete"
    rows, counts = check_rows(X, lengths, discrete=discrete)
    data = gather_sets(rows, counts, groups)
    shape = shape_of(model, rows)
    noise = 0.0 if discrete else float(reg_covar * rows.var(axis=0).mean())
    rng = check_random_state(random_state)
    hmms: list[HMMParams] = []
    for part in parts_of_sets(data, n_states * max(n_states, shape.n_mix)):
        bank = fit_own(part, shape, Restarts(n_init, max_iter, tol), noise=noise, rng=rng)
        if stationary_start:
            bank = bank._replace(start=np.array([stationary(trans) for trans in bank.trans]))
        hmms += unpack_hmms(bank)
    return hmms


def stationary(trans: Floats) -> Floats:
    """Return a distribution over states that the transitions keep."""
    S = len(trans)
    system = np.vstack([trans.T - np.eye(S), np.ones(S)])  # π P = π and Σ π = 1 by least squares
    found = np.linalg.lstsq(system, np.eye(S + 1)[S], rcond=None)[0]
    found = np.maximum(found, 0.0)
    return found / found.sum()
