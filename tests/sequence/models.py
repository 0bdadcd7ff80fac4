"""Random hidden Markov models for the tests of this room."""

import numpy as np

from octavo.sequence import HMMParams


def random_hmm(rng, S=2, M=1, d=2, kind="diag", spread=2.0):
    """Return a random HMM; kind "discrete" emits d symbols."""
    start, trans = rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), S)
    if kind == "discrete":
        return HMMParams(start, trans, rng.dirichlet(np.ones(d), S))
    weights, means = rng.dirichlet(np.ones(M), S), spread * rng.normal(size=(S, M, d))
    if kind == "full":
        root = rng.normal(size=(S, M, d, d))
        covars = root @ root.swapaxes(2, 3) + 0.3 * np.eye(d)
    else:
        covars = rng.gamma(2.0, 0.5, size=(S, M, d) if kind == "diag" else (S, M)) + 0.2
    return HMMParams(start, trans, weights, means, covars, kind)


def chain_of(sequence, kind="diag"):
    """Return a sequence as the HMM that emits nothing else: one state a position, no variance."""
    T, d = sequence.shape
    trans = np.eye(T, k=1)
    trans[-1, -1] = 1.0
    tail = {"diag": (d,), "full": (d, d), "spherical": ()}[kind]
    means = sequence[:, None]
    return HMMParams(np.eye(T)[0], trans, np.ones((T, 1)), means, np.zeros((T, 1, *tail)), kind)


def permuted(hmm, order):
    """Return the same HMM with its states in another order."""
    return HMMParams(
        hmm.startprob[order],
        hmm.transmat[np.ix_(order, order)],
        hmm.weights[order],
        None if hmm.means is None else hmm.means[order],
        None if hmm.covars is None else hmm.covars[order],
        hmm.covariance_type,
    )


def same_hmm(a, b):
    """Assert that two HMMs have the same parameters."""
    for name in ("startprob", "transmat", "weights", "means", "covars"):
        one, other = getattr(a, name), getattr(b, name)
        assert (one is None) == (other is None), name
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-12, err_msg=name)
    assert a.covariance_type == b.covariance_type
