"""HybridDecoder beside hmmlearn."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Contest
from octavo.data import protein_structure_hmm
from octavo.sequence import HybridDecoder, simulate_hmm

ALPHAS = np.linspace(0.0, 1.0, 20)


def hmmlearn_model(model, implementation="log"):
    from hmmlearn.hmm import CategoricalHMM

    theirs = CategoricalHMM(model.startprob.size, implementation=implementation)
    theirs.startprob_, theirs.transmat_ = model.startprob, model.transmat
    theirs.emissionprob_, theirs.n_features = model.emissionprob, model.emissionprob.shape[1]
    return theirs


def proteins(n_sequences=1_000, length=200):
    model = protein_structure_hmm()
    lengths = np.full(n_sequences, length)
    X, _ = simulate_hmm(model, lengths, rng=0)
    return model, X[:, None], lengths


def one_long():
    return proteins(1, 200_000)


def octavo_viterbi(data):
    model, X, lengths = data
    return HybridDecoder(hmmlearn_model(model), "viterbi").predict(X, lengths)


def hmmlearn_viterbi(data):
    model, X, lengths = data
    return hmmlearn_model(model).decode(X, lengths, algorithm="viterbi")[1]


def octavo_posterior(data):
    model, X, lengths = data
    return HybridDecoder(hmmlearn_model(model)).predict_proba(X, lengths)


def hmmlearn_posterior(implementation):
    def solve(data):
        model, X, lengths = data
        return hmmlearn_model(model, implementation).predict_proba(X, lengths)

    return solve


def octavo_grid(data):
    model, X, lengths = data
    return HybridDecoder(hmmlearn_model(model)).decode_family(X, ALPHAS, lengths)


def hmmlearn_grid(data):
    """Blend hmmlearn's posteriors with its emissions by hand: one of its Viterbi passes an alpha.

    Its compiled pass takes probabilities of start and transition, so that weights are powers.
    """
    from hmmlearn import _hmmc

    model, X, lengths = data
    theirs = hmmlearn_model(model, "scaling")
    ends = np.cumsum(lengths)
    with np.errstate(divide="ignore"):
        posterior = np.log(theirs.predict_proba(X, lengths))
        emission = theirs._compute_log_likelihood(X)
    paths = np.empty((len(ALPHAS), len(X)), dtype=np.int64)
    for path, a in zip(paths, ALPHAS):
        if a in (0.0, 1.0):  # a term of weight zero counts nothing, even where it is -inf
            nodes = emission if a else posterior
        else:
            nodes = (1.0 - a) * posterior + a * emission
        start, trans = model.startprob**a, model.transmat**a
        for first, last in zip(ends - lengths, ends):
            path[first:last] = _hmmc.viterbi(start, trans, nodes[first:last])[1]
    return paths


def octavo_calls(data):
    model, X, lengths = data
    theirs = hmmlearn_model(model)
    return np.stack([HybridDecoder(theirs, alpha=a).predict(X, lengths) for a in ALPHAS])


def same_paths(_, answers):
    ours, *others = answers.values()
    share = min(np.mean(ours == other) for other in others)
    assert share == 1.0
    return "All paths are equal."


def same_posteriors(_, answers):
    ours, *others = answers.values()
    gap = max(np.abs(ours - other).max() for other in others)
    assert gap < 1e-9
    return f"Posteriors differ by {gap:.1e} at most."


CONTESTS = [
    Contest(
        name="viterbi",
        problem="Viterbi, 6 states, 1,000 sequences of 200 positions of the protein model",
        setup=proteins,
        solvers={"octavo": octavo_viterbi, "hmmlearn": hmmlearn_viterbi},
        agree=same_paths,
        work={"octavo": 200_000, "hmmlearn": 200_000},
        unit="position",
        target="Aim: at most 1.2 times hmmlearn's time.",
        limit="arithmetic: 36 sums and comparisons a position, in order",
        flops=2 * 36 * 200_000,
    ),
    Contest(
        name="viterbi, one sequence",
        problem="Viterbi, 6 states, one sequence of 200,000 positions",
        setup=one_long,
        solvers={"octavo": octavo_viterbi, "hmmlearn": hmmlearn_viterbi},
        agree=same_paths,
        work={"octavo": 200_000, "hmmlearn": 200_000},
        unit="position",
        target="Aim: at most 1.2 times hmmlearn's time.",
        limit="latency: 36 sums and comparisons a position, in order",
        flops=2 * 36 * 200_000,
    ),
    Contest(
        name="posterior",
        problem="Posterior marginals, 6 states, 1,000 sequences of 200 positions",
        setup=proteins,
        solvers={
            "octavo": octavo_posterior,
            "hmmlearn, scaling": hmmlearn_posterior("scaling"),
            "hmmlearn, log (its default)": hmmlearn_posterior("log"),
        },
        agree=same_posteriors,
        work=dict.fromkeys(["octavo", "hmmlearn, scaling", "hmmlearn, log (its default)"], 200_000),
        unit="position",
        target="Aim: at most 1.2 times hmmlearn's time.",
        limit="arithmetic: 72 products and sums a position, in order",
        flops=4 * 36 * 200_000,
    ),
    Contest(
        name="alpha grid",
        problem="20 values of alpha, 6 states, 1,000 sequences of 200 positions",
        setup=proteins,
        solvers={
            "octavo decode_family()": octavo_grid,
            "octavo, 20 calls": octavo_calls,
            "hmmlearn, blended by hand": hmmlearn_grid,
        },
        agree=same_paths,
        work=dict.fromkeys(
            ["octavo decode_family()", "octavo, 20 calls", "hmmlearn, blended by hand"], 4_000_000
        ),
        unit="position and alpha",
        repeats=3,
        target="Aim: ten times hmmlearn's passes, which is out of reach: the posteriors alone, of "
        "which both need one, take nearly a tenth of its time. No package has these decoders.",
        limit="arithmetic: 36 sums and comparisons a position and alpha",
        flops=2 * 36 * 200_000 * 20,
    ),
]
