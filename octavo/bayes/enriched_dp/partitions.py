"""The law of nested partitions, draws from it, and point estimates of a posterior over partitions.

References: S. Wade, D. B. Dunson, S. Petrone and L. Trippa (2014), Proposition 1; S. Wade, S.
Mongelluzzo and S. Petrone (2011), "An enriched conjugate prior for Bayesian nonparametric
inference", Bayesian Analysis 6, Proposition 4 (square breaking); S. Wade and Z. Ghahramani (2018),
"Bayesian cluster analysis: point estimation and credible balls", Bayesian Analysis 13.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.special import gammaln
from sklearn.utils import check_random_state

from octavo.engine.discrete.set_partitions import set_partitions
from octavo.engine.estimators.arrays import Floats, Ints
from octavo.engine.estimators.checked import checked

__all__ = [
    "edp_log_partition_prob",
    "nested_crp_sample",
    "partition_estimate",
    "square_breaking_sample",
]

ENUMERATED = 6  # elements up to which all partitions are tried
MOST_DRAWS = 500  # draws among which a point estimate of many rows is sought


def as_labels(labels: Any, name: str) -> Ints:
    """Return labels as numbers from 0 in order of appearance."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(f"{name} must be a list of labels, one for each row; got {labels.shape}.")
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)


def check_concentration(value: float, name: str) -> float:
    """Return a concentration; refuse one that is not positive."""
    if not value > 0 or not np.isfinite(value):
        raise ValueError(f"{name} must be positive and finite; got {value!r}.")
    return float(value)


@checked
def edp_log_partition_prob(
    y_labels: Any, x_labels: Any, alpha_theta: float, alpha_psi: float
) -> float:
    """Return the log probability of a nested partition under an enriched Dirichlet process.

    Parameters
    ----------
    y_labels : array-like of shape (n,)
        y-cluster of each row.
    x_labels : array-like of shape (n,)
        x-cluster of each row; equal labels in different y-clusters are different x-clusters.
    alpha_theta : float
        Concentration of y-clusters.
    alpha_psi : float
        Concentration of x-clusters within each y-cluster.

    Returns
    -------
    log_prob : float
        Proposition 1 with a constant α_ψ; probabilities of all nested partitions sum to one.

    Examples
    --------
    >>> import math
    >>> from octavo.bayes import edp_log_partition_prob
    >>> states = [([0, 0], [0, 0]), ([0, 0], [0, 1]), ([0, 1], [0, 0])]
    >>> logs = [edp_log_partition_prob(y, x, 1.0, 1.0) for y, x in states]
    >>> [round(math.exp(value), 4) for value in logs]
    [0.25, 0.25, 0.5]
    """
    alpha_theta = check_concentration(alpha_theta, "alpha_theta")
    alpha_psi = check_concentration(alpha_psi, "alpha_psi")
    y = as_labels(y_labels, "y_labels")
    x = as_labels(x_labels, "x_labels")
    if x.size != y.size:
        raise ValueError(
            f"y_labels and x_labels must label the same rows; got {y.size} and {x.size}."
        )
    pairs, sizes = np.unique(np.column_stack([y, x]), axis=0, return_counts=True)
    n_y, k_x = np.bincount(y), np.bincount(pairs[:, 0])
    # Proposition 1: the outer factor
    value = gammaln(alpha_theta) - gammaln(alpha_theta + y.size) + n_y.size * np.log(alpha_theta)
    # Proposition 1: the factors of y-clusters
    value += (k_x * np.log(alpha_psi) + gammaln(alpha_psi) + gammaln(n_y)).sum()
    value -= gammaln(alpha_psi + n_y).sum()
    return float(value + gammaln(sizes).sum())  # Proposition 1: Γ(n_{l|j})


def restaurant(n: int, alpha: float, rng: Any) -> Ints:
    """Return labels of a Chinese restaurant process."""
    labels = np.empty(n, dtype=np.int64)
    counts: list[int] = []
    for i in range(n):
        u = rng.uniform() * (i + alpha)  # a new table with chance α / (i + α)
        label = int((np.cumsum(counts) <= u).sum()) if counts else 0
        if label == len(counts):
            counts.append(0)
        counts[label] += 1
        labels[i] = label
    return labels


@checked
def nested_crp_sample(
    n: int, alpha_theta: float = 1.0, alpha_psi: float = 1.0, random_state: Any = None
) -> tuple[Ints, Ints]:
    """Return a nested partition drawn from the prior.

    Parameters
    ----------
    n : int
        Number of rows.
    alpha_theta : float, default=1.0
        Concentration of y-clusters.
    alpha_psi : float, default=1.0
        Concentration of x-clusters within each y-cluster.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    y_labels, x_labels : ndarray of shape (n,)
        In order of appearance; x-clusters are counted within their y-cluster.

    Examples
    --------
    >>> from octavo.bayes import nested_crp_sample
    >>> y, x = nested_crp_sample(6, 1.0, 1.0, random_state=0)
    >>> len(y), int(y[0]), int(x[0])
    (6, 0, 0)
    """
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n}.")
    alpha_theta = check_concentration(alpha_theta, "alpha_theta")
    alpha_psi = check_concentration(alpha_psi, "alpha_psi")
    rng = check_random_state(random_state)
    y = restaurant(int(n), alpha_theta, rng)  # y-clusters: a Chinese restaurant of rate α_θ
    x = np.zeros(int(n), dtype=np.int64)
    for j in range(y.max() + 1):
        # inside each table of it, another of rate α_ψ
        x[y == j] = restaurant(int((y == j).sum()), alpha_psi, rng)
    return y, x


def sticks(alpha: float, n: int, rng: Any) -> Floats:
    """Return stick-breaking weights, the rest in the last."""
    cuts = np.r_[rng.beta(1.0, alpha, n - 1), 1.0] if n > 1 else np.ones(1)
    return cuts * np.r_[1.0, np.cumprod(1.0 - cuts[:-1])]  # Sethuraman's weights, v_j Π (1 - v_l)


@checked
def square_breaking_sample(
    alpha_theta: float = 1.0,
    alpha_psi: float = 1.0,
    n_theta: int = 20,
    n_psi: int = 20,
    random_state: Any = None,
) -> tuple[Floats, Floats]:
    """Return weights of an enriched Dirichlet process: sticks, each broken again.

    Parameters
    ----------
    alpha_theta : float, default=1.0
        Concentration of the first breaking.
    alpha_psi : float, default=1.0
        Concentration of the breaking of each stick.
    n_theta, n_psi : int, default=20
        Where both are truncated; the last stick has the rest.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    weights : ndarray of shape (n_theta,)
        w_j; they sum to one.
    nested : ndarray of shape (n_theta, n_psi)
        w_{l|j}; rows sum to one. The joint weights are their products.

    Examples
    --------
    >>> from octavo.bayes import square_breaking_sample
    >>> w, nested = square_breaking_sample(1.0, 1.0, random_state=0)
    >>> round(float((w[:, None] * nested).sum()), 10)
    1.0
    """
    alpha_theta = check_concentration(alpha_theta, "alpha_theta")
    alpha_psi = check_concentration(alpha_psi, "alpha_psi")
    for name, value in (("n_theta", n_theta), ("n_psi", n_psi)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1; got {value}.")
    rng = check_random_state(random_state)
    weights = sticks(alpha_theta, n_theta, rng)
    return weights, np.array([sticks(alpha_psi, n_psi, rng) for _ in range(n_theta)])


def co_clustering(draws: Ints) -> Floats:
    """Return how often two rows share a cluster, over draws x rows of labels."""
    n_draws, n = draws.shape
    total, width = np.zeros((n, n)), int(draws.max()) + 1
    step = max(1, 2_000_000 // max(n * width, 1))
    for start in range(0, n_draws, step):
        part = draws[start : start + step]
        members = (part[:, :, None] == np.arange(width)).astype(np.float32)
        # one-hot labels: their product counts common clusters
        flat = members.transpose(1, 0, 2).reshape(n, -1)
        total += flat @ flat.T
    return total / n_draws


def expected_binder(labels: Ints, pairs: Floats) -> float:
    """Return the expected number of pairs that are treated differently, given co-clustering."""
    same = labels[:, None] == labels[None, :]
    return 0.5 * float(np.abs(same - pairs).sum() - np.abs(1.0 - np.diag(pairs)).sum())


def expected_vi(labels: Ints, draws: Ints, counts: Ints) -> float:
    """Return the expected variation of information from draws with counts, in nats."""
    n, width = labels.size, int(draws.max()) + 1
    own, places = np.bincount(labels), np.arange(len(draws))[:, None]
    theirs = np.bincount((places * width + draws).ravel(), minlength=len(draws) * width)
    cells = own.size * width
    joint = np.bincount(
        (places * cells + labels * width + draws).ravel(), minlength=len(draws) * cells
    )
    logs = np.log(np.maximum(np.arange(n + 1), 1)) * np.arange(n + 1)  # n log n, 0 at 0
    each = logs[theirs].reshape(len(draws), -1).sum(axis=1)
    each = each - 2.0 * logs[joint].reshape(len(draws), -1).sum(axis=1)
    # H(c) + H(ĉ) - 2 I, in which n log n of the whole cancels
    return float(logs[own].sum() + each @ counts / counts.sum()) / n


def local_search(labels: Ints, loss: Any) -> tuple[Ints, float]:
    """Move single rows between clusters while the loss falls."""
    labels, best = labels.copy(), loss(labels)
    for _ in range(10):
        before = best
        for i in range(labels.size):
            home = labels[i]
            for target in range(labels.max() + 2):
                labels[i], old = target, labels[i]
                value = loss(as_labels(labels, "labels"))
                if value < best - 1e-12:
                    best = value
                else:
                    labels[i] = old
            if labels[i] != home:
                labels = as_labels(labels, "labels").copy()
        if best >= before - 1e-12:
            break
    return labels, best


def candidates(draws: Ints, pairs: Floats) -> list[Ints]:
    """Return partitions to start from: draws, and cuts of an average-linkage tree."""
    found = [as_labels(row, "draws") for row in np.unique(draws, axis=0)[:100]]
    tree = linkage(squareform(np.maximum(1.0 - pairs, 0.0), checks=False), method="average")
    most = min(len(pairs), 2 * int(draws.max()) + 4)
    return found + [
        as_labels(fcluster(tree, k, criterion="maxclust"), "draws") for k in range(1, most + 1)
    ]


@checked
def partition_estimate(draws: Any, loss: str = "vi") -> Ints:
    """Return the partition with the least expected loss over draws of partitions.

    Parameters
    ----------
    draws : array-like of shape (n_draws, n)
        Labels, one partition a row; names of labels do not matter.
    loss : {"vi", "binder"}, default="vi"
        Variation of information, or Binder's number of pairs that are treated differently, which
        tends to leave single rows as clusters.

    Returns
    -------
    labels : ndarray of shape (n,)
        In order of appearance. The best of all for up to 6 rows; for more the best of the draws
        and of cuts of a tree of them, improved by moving rows while they are at most 60.

    Examples
    --------
    >>> from octavo.bayes import partition_estimate
    >>> partition_estimate([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]).tolist()
    [0, 0, 1, 1]
    """
    draws = np.atleast_2d(np.asarray(draws))
    if draws.ndim != 2 or draws.size == 0:
        raise ValueError(f"draws must have the shape (n_draws, n); got {draws.shape}.")
    if loss not in ("vi", "binder"):
        raise ValueError(f"loss must be 'vi' or 'binder'; got {loss!r}.")
    if draws.dtype.kind == "f" and not np.isfinite(draws).all():
        raise ValueError("draws must hold labels; NaN or infinity is none.")
    draws = np.array([as_labels(row, "draws") for row in draws])
    n, pairs = draws.shape[1], co_clustering(draws)
    few = draws[np.linspace(0, len(draws) - 1, min(len(draws), MOST_DRAWS)).astype(int)]
    rows, counts = np.unique(draws if n <= ENUMERATED else few, axis=0, return_counts=True)

    def cost(labels: Ints) -> float:
        if loss == "binder":
            return expected_binder(labels, pairs)
        return expected_vi(labels, rows, counts)

    if n <= ENUMERATED:
        states = set_partitions(n)
        return states[int(np.argmin([cost(state) for state in states]))].astype(np.int64)
    found = candidates(few, pairs)
    best = found[int(np.argmin([cost(labels) for labels in found]))]
    if n <= 60:
        best, _ = local_search(best, cost)
    return as_labels(best, "draws")
