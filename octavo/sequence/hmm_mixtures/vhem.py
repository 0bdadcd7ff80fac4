"""Variational hierarchical EM: reduce a weighted collection of HMMs to a small mixture of them.

The E-step averages over all sequences that the base HMMs could emit, by the variational bound of
`octavo.sequence.hmm_mixtures.divergence`; the M-step is that of EM. Nothing is sampled, and states
of different HMMs need not correspond.

Reference: E. Coviello, A. B. Chan and G. R. G. Lanckriet (2014), "Clustering Hidden Markov Models
with Variational HEM", Journal of Machine Learning Research 15: Algorithm 1 and Eq. (11)-(28). The
paper leaves the start open; here each restart picks base HMMs that explain each other badly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.probability.gaussians import SingularCovarianceError, weighted_moments
from octavo.engine.probability.mixtures import responsibilities
from octavo.engine.smooth.em import Climb, Restarts, Steps, best_of, climb, spread_seeds, surviving
from octavo.sequence.hmm.bank import HMMBank, unpack_hmms
from octavo.sequence.hmm.m_step import BankStatistics, updated_bank
from octavo.sequence.hmm.sequence_sets import Mixture, gather_sets
from octavo.sequence.hmm.starts import Shape, join_banks, start_bank
from octavo.sequence.hmm_mixtures.divergence import (
    blocks,
    expected_logliks,
    own_logliks,
    pair_statistics,
)
from octavo.sequence.hmm_mixtures.mixture import expect as expect_sequences
from octavo.sequence.hmm_mixtures.mixture import maximize as maximize_sequences

HARD = 1e4  # virtual sequences a base HMM, for assignments that are nearly hard
_NEGLIGIBLE = 1e-16  # responsibilities below it cannot change a sum
_EMPTY = 1e-6  # a cluster with less than this many HMMs has none
_SMOOTH = 0.1  # share of the uniform distribution in the first transitions
_FLOOR = 1e-3  # added to first variances, as a share of that of all the data
_SAMPLES = 10  # sequences that tell a first model of another shape
FIRST_ITERATIONS = 10  # of EM on those, and of each stage of annealing
ANNEALING = (0.01, 0.1)


class Collection(NamedTuple):
    """What is to be reduced: base models, their weights ω_i, virtual sequences N_i, and τ."""

    bank: HMMBank
    weights: Floats
    virtual: Floats
    tau: int


class PairExpectations(NamedTuple):
    """ẑ (n, K), the bounds L_HMM (n, K), and each base model's share of the objective (n,)."""

    share: Floats
    logliks: Floats
    bounds: Floats


# --- one iteration -------------------------------------------------------------------------------


def expect(mixture: Mixture, base: Collection) -> tuple[float, PairExpectations]:
    """Return the objective Σ_i log Σ_j ω_j exp(N_i L_ij), and the responsibilities.

    Parameters
    ----------
    mixture : Mixture
        The reduced models.
    base : Collection
        The base models.

    Returns
    -------
    objective : float
        The bound (11), tight in all variational distributions.
    expectations : PairExpectations
        Named tuple (share, logliks, bounds).
    """
    logliks = expected_logliks(base.bank, mixture.bank, base.tau)
    share, bounds = responsibilities(mixture.weights, base.virtual[:, None] * logliks)  # Eq. (19)
    return float(bounds.sum()), PairExpectations(share, logliks, bounds)  # Eq. (11), (20)


def maximize(mixture: Mixture, found: PairExpectations, base: Collection) -> Mixture:
    """Return the reduced models that maximise the bound, Eq. (24)-(28).

    Parameters
    ----------
    mixture : Mixture
        The reduced models before.
    found : PairExpectations
        From `expect`.
    base : Collection
        The base models.

    Returns
    -------
    mixture : Mixture
        The reduced models after.
    """
    # ẑ_ij ω_i, the weights of all sums of Eq. (25) and (28).
    share = np.where(found.share > _NEGLIGIBLE, found.share, 0.0) * base.weights[:, None]
    total: BankStatistics | None = None
    for part in blocks(base.bank, mixture.bank):
        statistics = _block_statistics(base.bank.take(part), mixture.bank, base.tau, share[part])
        total = statistics if total is None else total.plus(statistics)
    assert total is not None
    return Mixture(found.share.mean(axis=0), updated_bank(mixture.bank, total))  # Eq. (24)


def _block_statistics(base: HMMBank, reduced: HMMBank, tau: int, share: Floats) -> BankStatistics:
    """Return Eq. (23) and the sums Ω of Eq. (28) over a block of base models."""
    found = pair_statistics(base, reduced, tau, np.ascontiguousarray(share))
    if base.means is None:
        # Ω of Eq. (28) with c the symbols' probabilities
        counts = np.einsum("ibks,ibv->ksv", found.emission, base.weights)
        return BankStatistics(found.start, found.trans, counts)
    means, covars = base.gaussians()
    moments = weighted_moments(  # Ω of 1, μ and Σ + μμᵀ, Eq. (28)
        np.ascontiguousarray(found.emission.reshape(len(means), -1)),
        means,
        covars,
        reduced.gaussians()[0],
        full=reduced.kind == "full",
    )
    return BankStatistics(found.start, found.trans, moments)


# --- starts --------------------------------------------------------------------------------------


class Seeds(NamedTuple):
    """What starts need: L_HMM of each base model under itself, the overall variance, the shape."""

    own: Floats
    variance: Floats
    shape: Shape


def prepare_seeds(base: Collection, shape: Shape) -> Seeds:
    """Return what all starts of a collection share.

    Parameters
    ----------
    base : Collection
        The base models.
    shape : Shape
        What the reduced models look like.

    Returns
    -------
    seeds : Seeds
        Named tuple (own, variance, shape).
    """
    if base.bank.means is None or base.bank.covars is None:
        smooth = _smoothed(base.bank, np.zeros(0))
        return Seeds(own_logliks(base.bank, base.tau, smooth), np.zeros(0), shape)
    mass = (base.weights[:, None, None] * base.bank.weights).ravel()
    means, covars = base.bank.gaussians()
    middle = mass @ means / mass.sum()
    moments = weighted_moments(mass[:, None], means, covars, middle[None], full=False)
    # total variance of the collection: within and between Gaussians
    variance = moments.second[0] / mass.sum()
    variance = np.where(variance > 0, variance, 1.0)
    smooth = _smoothed(base.bank, variance)
    return Seeds(own_logliks(base.bank, base.tau, smooth), variance, shape)


def _smoothed(bank: HMMBank, variance: Floats) -> HMMBank:
    """Return models without zero transitions or variances; padding stays what it is."""
    real = (np.arange(bank.start.shape[1]) < bank.n_states[:, None]).astype(float)
    uniform = real / bank.n_states[:, None]
    start = (1 - _SMOOTH) * bank.start + _SMOOTH * uniform
    # a transition of chance zero would stay zero in Eq. (25)
    trans = (1 - _SMOOTH) * bank.trans + _SMOOTH * uniform[:, None] * real[:, :, None]
    if bank.covars is None:
        V = bank.weights.shape[2]
        weights = (1 - _SMOOTH) * bank.weights + _SMOOTH / V * real[..., None]
        return bank._replace(start=start, trans=trans, weights=weights)
    more = _FLOOR * variance
    covars = bank.covars + (np.diag(more) if bank.kind == "full" else more)
    return bank._replace(start=start, trans=trans, covars=covars)


def first_model(base: Collection, i: int, seeds: Seeds, rng: np.random.RandomState) -> HMMBank:
    """Return base model i as a first reduced model: smoothed, in the shape that is wanted."""
    shape = seeds.shape
    own = base.bank.take([i])
    same = own.n_states[0] == shape.n_states and own.n_mix[0] == shape.n_mix
    if same or (shape.kind == "discrete" and own.n_states[0] == shape.n_states):
        trimmed = join_banks([own])  # without the padding of larger models
        return _as_kind(_smoothed(trimmed, seeds.variance), shape.kind)
    sampled = unpack_hmms(own)[0].sample(_SAMPLES, max(base.tau, 2 * shape.n_states), rng)
    lengths = np.full(_SAMPLES, len(sampled[0]))
    data = gather_sets(np.concatenate(sampled), lengths, np.zeros(_SAMPLES, dtype=int))
    noise = float(_FLOOR * seeds.variance.mean()) if shape.kind != "discrete" else 0.0
    run = climb(
        lambda mixture: expect_sequences(mixture, data, noise),
        lambda mixture, found: maximize_sequences(mixture, found, noise),
        Mixture(np.ones(1), start_bank(data, shape, rng, data.rows, noise)),
        max_iter=FIRST_ITERATIONS,
        tol=0.0,
    )
    return _smoothed(run.params.bank, seeds.variance)


def _as_kind(bank: HMMBank, kind: str) -> HMMBank:
    """Return a bank with covariances of another form."""
    if bank.covars is None or bank.kind == kind:
        return bank
    covars = bank.covars
    if bank.kind == "full":
        covars = np.einsum("ksmdd->ksmd", covars).copy()
    if kind == "full":
        covars = covars[..., None] * np.eye(covars.shape[-1])
    elif kind == "spherical":
        covars = np.broadcast_to(covars.mean(axis=3, keepdims=True), covars.shape).copy()
    return bank._replace(covars=covars, kind=kind)


def start_mixture(
    base: Collection, n_clusters: int, seeds: Seeds, rng: np.random.RandomState
) -> Mixture:
    """Return first reduced models by greedy k-means++ on the divergences L_ii - L_ij."""

    def start(i: int) -> tuple[HMMBank, Floats]:
        model = first_model(base, i, seeds, rng)
        # L_ii - L_ij, the divergence of footnote 7
        lack = seeds.own - expected_logliks(base.bank, model, base.tau)[:, 0]
        return model, np.maximum(lack, 0.0)

    banks = spread_seeds(n_clusters, base.weights, start, rng)
    return Mixture(np.full(n_clusters, 1.0 / n_clusters), join_banks(banks))


def reseeded(
    run: Climb, base: Collection, seeds: Seeds, rng: np.random.RandomState
) -> Mixture | None:
    """Return the mixture with an empty cluster moved to the base model explained worst.

    None where no cluster is empty, or where the move would not raise the objective.
    """
    sizes = run.expectations.share.sum(axis=0)
    j = int(sizes.argmin())
    if sizes[j] > _EMPTY or sizes.size == 1:
        return None
    lack = seeds.own - run.expectations.logliks.max(axis=1)
    # what model i loses for want of a cluster, in virtual sequences
    i = int(np.argmax(base.virtual * lack))
    models = [run.params.bank.take([k]) for k in range(sizes.size)]
    models[j] = first_model(base, i, seeds, rng)
    weights = run.params.weights * (1.0 - 1.0 / base.bank.size)
    weights[j] += 1.0 - weights.sum()
    mixture = Mixture(weights, join_banks(models))
    return mixture if expect(mixture, base)[0] > run.objective else None


# --- fits ----------------------------------------------------------------------------------------


def fit_vhem(
    base: Collection,
    n_clusters: int,
    shape: Shape,
    restarts: Restarts,
    *,
    annealing: Sequence[float] = ANNEALING,
    rng: np.random.RandomState,
    init: Mixture | None = None,
    progress: Steps | None = None,
) -> Climb:
    """Return the best of several climbs of variational hierarchical EM.

    Parameters
    ----------
    base : Collection
        The base models.
    n_clusters : int
        Number of reduced models.
    shape : Shape
        What they look like.
    restarts : Restarts
        Number of starts, and the limits of each.
    annealing : sequence of float
        Shares of the virtual sequences with which a few first iterations are made.
    rng : RandomState
        Source of randomness.
    init : Mixture, optional
        Where to start instead, once.
    progress : FitProgress, optional
        Stepped once an iteration.

    Returns
    -------
    best : Climb
        With a `Mixture` as params and `PairExpectations` as expectations.
    """
    seeds = prepare_seeds(base, shape)
    max_iter = restarts.max_iter

    def up(mixture: Mixture, problem: Collection, most: int) -> Climb:
        return climb(
            lambda m: expect(m, problem),
            lambda m, found: maximize(m, found, problem),
            mixture,
            max_iter=most,
            tol=restarts.tol,
            progress=progress,
        )

    def one() -> Climb:
        mixture = init or start_mixture(base, n_clusters, seeds, rng)
        for share in () if init else annealing:
            # N annealed: soft assignments first
            softer = base._replace(virtual=share * base.virtual)
            mixture = up(mixture, softer, FIRST_ITERATIONS).params
        run = up(mixture, base, max_iter)
        for _ in range(n_clusters):
            again = None if init else reseeded(run, base, seeds, rng)
            if again is None or run.stopped or run.n_iter >= max_iter:
                break
            more = up(again, base, max_iter - run.n_iter)
            run = more._replace(
                trace=np.concatenate([run.trace, more.trace]), n_iter=run.n_iter + 1 + more.n_iter
            )
        return run

    return best_of(surviving(one, 1 if init else restarts.n_init, SingularCovarianceError))
