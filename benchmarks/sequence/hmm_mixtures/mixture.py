"""HMMMixture and its kin beside hmmlearn."""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.harness import Contest
from octavo.data import make_hmm_sequences
from octavo.sequence import HierarchicalHMMMixture, HMMMixture, HMMParams, fit_hmms
from octavo.sequence.hmm.bank import pack_hmms
from octavo.sequence.hmm.sequence_sets import Mixture, gather_sets
from octavo.sequence.hmm_mixtures.mixture import expect, maximize

ITERATIONS = 10


def one_model(n=200, length=200, S=4, d=4):
    """Sequences, and an HMM to start Baum-Welch from."""
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(n * length, d))
        + np.repeat(rng.integers(0, 3, n * length // 20), 20)[:, None]
    )
    start = HMMParams(
        np.full(S, 1 / S),
        0.6 * np.eye(S) + 0.4 / S,
        np.ones((S, 1)),
        rng.normal(size=(S, 1, d)),
        np.ones((S, 1, d)),
    )
    return X, np.full(n, length), start


def octavo_baum_welch(problem):
    X, lengths, start = problem
    data = gather_sets(X, lengths, None)
    mixture = Mixture(np.ones(1), pack_hmms([start]))
    for _ in range(ITERATIONS):
        _, found = expect(mixture, data, 0.0)
        mixture = maximize(mixture, found, 0.0)
    return mixture.bank.means[0, :, 0]


def hmmlearn_baum_welch(problem):
    X, lengths, start = problem
    model = start.to_hmmlearn().set_params(
        init_params="",
        n_iter=ITERATIONS,
        tol=0.0,
        min_covar=0.0,
        covars_prior=0.0,
        covars_weight=0.0,
    )
    return model.fit(X, lengths).means_


def same_means(_, answers):
    ours, theirs = answers.values()
    gap = float(np.abs(ours - theirs).max())
    assert gap < 1e-8
    return f"Means differ by {gap:.1e} at most."


def many_short(n_per_class=25):
    return make_hmm_sequences("means", n_per_class=n_per_class, random_state=0)[0]


def octavo_each(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hmms = fit_hmms(X, n_states=3, n_init=1, max_iter=30, tol=0.0, random_state=0)
    return np.mean([h.score(x) for h, x in zip(hmms, X)])


def hmmlearn_each(X):
    from hmmlearn.hmm import GaussianHMM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.mean(
            [GaussianHMM(3, n_iter=30, tol=-np.inf, random_state=0).fit(x).score(x) for x in X]
        )


def likelihoods(_, answers):
    ours, theirs = answers.values()
    return f"Mean log-likelihood: octavo {ours:.1f}, hmmlearn {theirs:.1f}."


def long_sequences(n_each=30, length=300):
    rng = np.random.default_rng(3)
    X = []
    for _ in range(4):
        trans = 0.7 * np.eye(3) + 0.3 * rng.dirichlet(np.ones(3), 3)
        means = 2 * rng.normal(size=(3, 1, 2))
        hmm = HMMParams(np.full(3, 1 / 3), trans, np.ones((3, 1)), means, np.ones((3, 1, 2)))
        X += hmm.sample(n_each, length, int(rng.integers(1 << 30)))
    return X


def direct(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return HMMMixture(4, 3, n_init=5, random_state=0).fit(X).score(X)


def by_shards(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HierarchicalHMMMixture(5, n_components=4, n_states=3, n_init=5, random_state=0)
        return model.fit(X).score(X)


def both_likelihoods(_, answers):
    shards, everything = answers.values()
    return f"Mean log-likelihood: shards {shards:.1f}, EM on everything {everything:.1f}."


CONTESTS = [
    Contest(
        name="Baum-Welch",
        problem=f"{ITERATIONS} iterations on 200 sequences of 200 positions, 4 states, 4 features",
        setup=one_model,
        solvers={"octavo": octavo_baum_welch, "hmmlearn": hmmlearn_baum_welch},
        agree=same_means,
        limit="exponentials: densities of states by positions, an iteration",
    ),
    Contest(
        name="one HMM a sequence",
        problem="An HMM of 3 states for each of 100 sequences of 100 positions, 30 iterations",
        setup=many_short,
        solvers={"octavo fit_hmms": octavo_each, "hmmlearn": hmmlearn_each},
        agree=likelihoods,
        repeats=3,
        limit="exponentials: densities of states by positions, an iteration",
    ),
    Contest(
        name="shards",
        problem="A mixture of 4 HMMs of 120 sequences of 300 positions, 5 starts",
        setup=long_sequences,
        solvers={"octavo HierarchicalHMMMixture": by_shards, "octavo HMMMixture": direct},
        agree=both_likelihoods,
        repeats=3,
        limit="exponentials: densities of states by positions, an iteration",
    ),
]
