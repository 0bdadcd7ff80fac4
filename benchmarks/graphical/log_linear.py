"""Log-linear networks beside pgmpy's hill climbing and scikit-learn's Boltzmann machine."""

from __future__ import annotations

import numpy as np
from sklearn.neural_network import BernoulliRBM

from benchmarks.harness import Contest
from octavo.graphical import DependencyNetwork, DTSLMarkovNetwork, LogLinearMarkovNetwork


def coupled(n_columns, n_rows=2000):
    """Rows of a chain of pairs and triples, drawn by Gibbs sampling."""

    def make():
        rng = np.random.default_rng(0)
        features = []
        for k in range(n_columns - 2):
            features += [
                [(k, "==", 1), (k + 1, "==", 1)],
                [(k, "==", 0), (k + 1, "==", 1), (k + 2, "==", 1)],
            ]
        weights = rng.normal(0, 1.2, len(features))
        network = LogLinearMarkovNetwork(features, weights, [2] * n_columns)
        return network.sample(n_rows, random_state=0)

    return make


def trees(X):
    """The trees of all columns at one κ: DTSL's structure."""
    return DependencyNetwork(kappa=0.01).fit(X)


def hill_climbing(X):
    """pgmpy's search for a Bayesian network by BIC."""
    import pandas as pd
    from pgmpy.estimators import HillClimbSearch

    table = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])]).astype("category")
    return HillClimbSearch(table).estimate(scoring_method="bic-d", show_progress=False)


def both_found_edges(X, answers):
    """Say how many pairs each joins; both must find most links of the chain."""
    ours = answers["octavo, all trees"].graph_
    theirs = answers["pgmpy HillClimbSearch"]
    links = [(k, k + 1) for k in range(X.shape[1] - 1)]
    found = sum(ours.has_edge(*link) for link in links)
    pairs = {frozenset(edge) for edge in theirs.edges}
    peer = sum(frozenset((f"c{a}", f"c{b}")) in pairs for a, b in links)
    assert min(found, peer) > len(links) / 3
    return f"Of {len(links)} links of the chain the trees use {found}, hill climbing {peer}."


def network(X):
    return DTSLMarkovNetwork(kappa=0.01, features="prune-5", weight_sd=1.0).fit(X)


def boltzmann(X):
    return BernoulliRBM(64, learning_rate=0.05, n_iter=30, random_state=0).fit(X)


def densities(X, answers):
    """Compare pseudo-log-likelihoods: scikit-learn's flips one column a row, drawn at random."""
    held_out = coupled(40, 3000)()[2000:]
    ours = answers["octavo DTSLMarkovNetwork"].pseudo_log_likelihood(held_out).mean()
    theirs = answers["scikit-learn BernoulliRBM"].score_samples(held_out).mean()
    assert ours > theirs
    return f"Held-out pseudo-log-likelihood a row: {ours:.2f}, the machine {theirs:.2f}."


CONTESTS = [
    Contest(
        name="structure",
        problem="40 binary columns, 2,000 rows: a tree for each column, or a Bayesian network",
        setup=coupled(40),
        solvers={"octavo, all trees": trees, "pgmpy HillClimbSearch": hill_climbing},
        agree=both_found_edges,
        repeats=1,
        target="Aim: 20 times the speed of hill climbing.",
        limit="counts of columns by bits: a pass over 2,000 rows a candidate split",
    ),
    Contest(
        name="density",
        problem="40 binary columns, 2,000 rows: features and weights, or 64 hidden units",
        setup=coupled(40),
        solvers={"octavo DTSLMarkovNetwork": network, "scikit-learn BernoulliRBM": boltzmann},
        agree=densities,
        repeats=1,
        target="Aim: a better density in no more time.",
        limit="counts of columns by bits: a pass over 2,000 rows a candidate split",
    ),
]
