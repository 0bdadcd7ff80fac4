"""All nested partitions of few rows, with their exact posterior: the oracle of the chains."""

import itertools

import numpy as np
from scipy.special import gammaln, roots_genlaguerre

from octavo.bayes import edp_log_partition_prob
from octavo.engine.conjugate.normal_inverse_gamma import NormalInverseGamma, nig_log_marginal
from octavo.engine.discrete.set_partitions import set_partitions

PRIOR = {
    "beta0": [0.1, 0.2, -0.1],
    "C": [0.5, 1.0, 2.0],
    "a_y": 2.0,
    "b_y": 0.5,
    "mu0": [0.1, -0.2],
    "c_x": 0.5,
    "a_x": 2.0,
    "b_x": 0.6,
}
NODES, WEIGHTS = roots_genlaguerre(40, 0.0)  # of a Gamma(1, 1) law


def nested_partitions(n):
    for y in set_partitions(n):
        groups = [np.flatnonzero(y == j) for j in range(y.max() + 1)]
        for inner in itertools.product(*[set_partitions(len(group)) for group in groups]):
            x = np.zeros(n, dtype=int)
            for group, labels in zip(groups, inner, strict=True):
                x[group] = labels
            yield y, x


def rows(n=5, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] * np.where(np.arange(n) < 3, 1.0, -1.0) + 0.3 * rng.normal(size=n)


def log_prior(y, x, alpha_theta, alpha_psi):
    """Return Proposition 1; alpha_psi None has the law Gamma(1, 1), of each y-cluster its own."""
    if alpha_psi is not None:
        return edp_log_partition_prob(y, x, alpha_theta, alpha_psi)
    n, k = len(y), y.max() + 1
    value = gammaln(alpha_theta) - gammaln(alpha_theta + n) + k * np.log(alpha_theta)
    for j in range(k):
        sizes = np.bincount(x[y == j])
        sizes = sizes[sizes > 0]
        n_j = sizes.sum()
        inner = NODES ** len(sizes) * np.exp(gammaln(NODES) + gammaln(n_j) - gammaln(NODES + n_j))
        value += np.log(WEIGHTS @ inner) + gammaln(sizes).sum()
    return value


def co_clustering(X, y, alpha_theta, alpha_psi, *, plain=False, y_marginal=None):
    """Return exact co-clustering by y- and by x-clusters."""
    line = NormalInverseGamma(np.array(PRIOR["beta0"]), np.diag(PRIOR["C"]), 2.0, 0.5)
    design, ones = np.column_stack([np.ones(len(X)), X]), np.ones((len(X), 1))
    logs, pairs = [], []
    for labels, nested in nested_partitions(len(X)):
        if plain and nested.any():
            continue
        both = labels * len(X) + nested
        if plain:
            sizes = np.bincount(labels)
            value = sizes.size * np.log(alpha_theta) + gammaln(sizes).sum()
        else:
            value = log_prior(labels, nested, alpha_theta, alpha_psi)
        for j in set(labels):
            own = labels == j
            if y_marginal is None:
                value += nig_log_marginal(line, design[own], y[own])
            else:
                value += y_marginal(design[own], y[own])
        for code in set(both):
            for h in range(X.shape[1]):
                point = NormalInverseGamma(
                    np.array([PRIOR["mu0"][h]]), np.array([[PRIOR["c_x"]]]), 2.0, PRIOR["b_x"]
                )
                value += nig_log_marginal(point, ones[both == code], X[both == code, h])
        logs.append(value)
        pairs.append([labels[:, None] == labels, both[:, None] == both])
    law = np.exp(np.array(logs) - max(logs))
    return np.tensordot(law / law.sum(), np.array(pairs), 1)
