"""HMMClustering beside EM on the raw sequences, sampling, and DTW k-means."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.metrics import rand_score

from benchmarks.harness import Contest
from octavo.sequence import (
    HMMClustering,
    HMMMixture,
    HMMParams,
    PPKSpectralClustering,
    SampledHMMClustering,
    fit_hmms,
    hmm_expected_loglik,
)
from octavo.sequence.hmm.bank import pack_hmms
from octavo.sequence.hmm.sequence_sets import Mixture
from octavo.sequence.hmm_mixtures.mixture import expect as expect_sequences
from octavo.sequence.hmm_mixtures.mixture import maximize as maximize_sequences
from octavo.sequence.hmm_mixtures.sampled_clustering import sample_sets
from octavo.sequence.hmm_mixtures.vhem import Collection, expect, maximize


def random_hmm(rng, S=4, d=6, spread=1.0):
    trans = 0.7 * np.eye(S) + 0.3 * rng.dirichlet(np.ones(S), S)
    means, covars = spread * rng.normal(size=(S, 1, d)), rng.gamma(4.0, 0.25, (S, 1, d)) + 0.2
    return HMMParams(np.full(S, 1 / S), trans, np.ones((S, 1)), means, covars)


def around(rng, center, size=0.2):
    trans = center.transmat + size * rng.uniform(size=center.transmat.shape)
    return HMMParams(
        center.startprob,
        trans / trans.sum(axis=1, keepdims=True),
        center.weights,
        center.means + size * rng.normal(size=center.means.shape),
        center.covars,
    )


def thousand_hmms(n=1000, n_clusters=8):
    """HMMs around eight centres, with what a mixture of eight starts from."""
    rng = np.random.default_rng(0)
    centers = [random_hmm(rng) for _ in range(n_clusters)]
    hmms = [around(rng, centers[i % n_clusters]) for i in range(n)]
    base = Collection(pack_hmms(hmms), np.full(n, 1 / n), np.full(n, 1e4), 10)
    start = pack_hmms([around(rng, center, 0.5) for center in centers])
    drawn = sample_sets(base._replace(virtual=10 * n * base.weights), np.random.RandomState(0))
    return base, Mixture(np.full(n_clusters, 1 / n_clusters), start), drawn


def on_models(problem, n_iter=50):
    base, mixture, _ = problem
    for _ in range(n_iter):
        _, found = expect(mixture, base)
        mixture = maximize(mixture, found, base)
    return expect(mixture, base)[1].share.argmax(axis=1)


def on_samples(problem, n_iter=2):
    _, mixture, drawn = problem
    for _ in range(n_iter):
        _, found = expect_sequences(mixture, drawn, 0.0)
        mixture = maximize_sequences(mixture, found, 0.0)
    return found.share.argmax(axis=1)


def same_clusters(_, answers):
    score = rand_score(*answers.values())
    return f"Clusters agree with a Rand index of {score:.3f}."


def sequences(n_each=20, length=500, n_clusters=4):
    """Long sequences of four kinds of HMMs, and an HMM of each sequence."""
    rng = np.random.default_rng(1)
    X, y = [], []
    for c in range(n_clusters):
        center = random_hmm(rng, 3, 2, 1.5)
        for _ in range(n_each):
            X += around(rng, center, 0.1).sample(1, length, int(rng.integers(1 << 30)))
            y.append(c)
    return X, np.array(y), fit_hmms(X, n_states=3, n_init=1, random_state=0)


def quietly(solve):
    def run(data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return solve(data)

    return run


def dtw(data):
    from tslearn.clustering import TimeSeriesKMeans

    short = np.stack([x[::10] for x in data[0]])  # a tenth of the positions: DTW is quadratic
    return TimeSeriesKMeans(4, metric="dtw", max_iter=5, random_state=0).fit_predict(short)


def found_the_kinds(data, answers):
    scores = {name: rand_score(data[1], labels) for name, labels in answers.items()}
    assert scores["octavo HMMClustering"] > 0.9
    return "Rand index: " + ", ".join(f"{name} {score:.2f}" for name, score in scores.items()) + "."


def pair():
    rng = np.random.default_rng(2)
    return random_hmm(rng, 3, 2, 8.0), random_hmm(rng, 3, 2, 8.0)


def by_sampling(data):
    p, q = data
    return q.to_hmmlearn().score(np.concatenate(p.sample(1000, 10, 0)), [10] * 1000) / 1000


def near(_, answers):
    exact, sampled = answers.values()
    return f"Bound {exact:.1f}, sampled truth {sampled:.1f} (it is no lower)."


CONTESTS = [
    Contest(
        name="iterations",
        problem="An iteration on 1000 HMMs (4 states, 6 features), 8 clusters",
        setup=thousand_hmms,
        solvers={
            "octavo, variational hierarchical EM": on_models,
            "octavo, EM on ten sequences drawn from each HMM": on_samples,
        },
        agree=same_clusters,
        work={
            "octavo, variational hierarchical EM": 50,
            "octavo, EM on ten sequences drawn from each HMM": 2,
        },
        unit="iteration",
        repeats=3,
        target="Aim: fifty iterations in less than 5 s.",
        limit="exponentials: states by states a pair of models and position",
    ),
    Contest(
        name="sequences",
        problem="80 sequences of 500 positions in four kinds, or their HMMs (3 states, 2 features)",
        setup=sequences,
        solvers={
            "octavo HMMClustering": quietly(
                lambda data: HMMClustering(4, random_state=0).fit(data[2]).labels_
            ),
            "octavo HMMMixture (EM on the sequences)": quietly(
                lambda data: HMMMixture(4, 3, n_init=10, random_state=0).fit(data[0]).labels_
            ),
            "octavo SampledHMMClustering": quietly(
                lambda data: SampledHMMClustering(4, random_state=0).fit(data[2]).labels_
            ),
            "octavo PPKSpectralClustering": quietly(
                lambda data: PPKSpectralClustering(4, random_state=0).fit(data[2]).labels_
            ),
            "tslearn DTW k-means, every tenth position": quietly(dtw),
        },
        agree=found_the_kinds,
        repeats=3,
        target="Aim: ten times EM on the raw sequences, both with ten starts.",
        limit="exponentials: states by states a pair of models and position",
    ),
    Contest(
        name="divergence",
        problem="Expected log-likelihood of one HMM under another, length 10",
        setup=pair,
        solvers={
            "octavo hmm_expected_loglik": lambda data: hmm_expected_loglik(*data),
            "hmmlearn on 1000 sampled sequences": by_sampling,
        },
        agree=near,
        limit="exponentials: states by states a pair of models and position",
    ),
]
