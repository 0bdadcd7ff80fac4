"""What a distributed linear fit costs: messages, passes, and the time on other clusters.

Agarwal, Chapelle, Dudík and Langford (2014), "A Reliable Effective Terascale Linear Learning
System": communication per node (Table 5 and Section 4.2), passes saved by the warm start
(Section 4.1), and times as in Tables 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from scipy.special import ndtri

from octavo.engine.distributed.timing import PhaseTiming
from octavo.engine.estimators.checked import checked

__all__ = ["ClusterModel", "ClusterTime", "PassCounts", "communication_cost", "warm_start_passes"]

METHODS = (
    "hybrid",
    "bundle",
    "online_averaging",
    "feature_sharded",
    "overcomplete",
    "minibatch_dense",
    "minibatch_sparse",
)


@checked
def communication_cost(
    method: str, n: float, s: float, d: float, m: int, T: float, b: float | None = None
) -> float:
    """Return how many numbers a node sends or receives in a fit, up to a constant (Table 5).

    Parameters
    ----------
    method : {"hybrid", "bundle", "online_averaging", "feature_sharded", "overcomplete", \
            "minibatch_dense", "minibatch_sparse"}
        The algorithm.
    n, s, d : float
        Examples, nonzeros of an example, dimension of the weights.
    m : int
        Nodes.
    T : float
        Passes over the data.
    b : float, optional
        Examples of a mini-batch, over all nodes; √n by default.

    Returns
    -------
    cost : float
        Numbers per node.

    Examples
    --------
    >>> from octavo.linear import communication_cost
    >>> ads = dict(n=2.3e9, s=125, d=2**24, m=100, T=15)
    >>> hybrid = communication_cost("hybrid", **ads)
    >>> round(communication_cost("minibatch_dense", **ads) / hybrid)
    47958
    """
    numbers = {"n": n, "s": s, "d": d, "m": m, "T": T, "b": math.sqrt(n) if b is None else b}
    wrong = [name for name, value in numbers.items() if not value > 0]
    if wrong:
        raise ValueError(f"{wrong[0]} must be positive, got {numbers[wrong[0]]}.")
    batch = numbers["b"]
    # Table 5, with the T of each method; b = √n is what mini-batches afford.
    costs = {
        "hybrid": d * T,
        "bundle": d * T,
        "online_averaging": d * T,
        "feature_sharded": n * s / m + n * T,
        "overcomplete": n * s + d,
        "minibatch_dense": d * T * n / batch,
        "minibatch_sparse": n * s * T,  # b s T n/b
    }
    if method not in costs:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    return float(costs[method])


class PassCounts(NamedTuple):
    """Passes of the hybrid method and of batch learning alone, and how many the first saves."""

    hybrid: float
    batch: float
    saved: float


@checked
def warm_start_passes(
    n: float,
    m: int,
    kappa: float,
    *,
    epsilon: float | None = None,
    epsilon0: float | None = None,
) -> PassCounts:
    """Return how many passes reach a given accuracy with and without the online pass.

    Parameters
    ----------
    n : float
        Examples.
    m : int
        Nodes.
    kappa : float
        Passes in which the batch phase gains a factor e.
    epsilon : float, optional
        Accuracy wanted, in the mean loss; 1/n by default, beyond which nothing generalises.
    epsilon0 : float, optional
        Accuracy after the online pass; √(m/n) by default.

    Returns
    -------
    passes : PassCounts
        Named tuple (hybrid, batch, saved): 1 + κ log(ε₀/ε), κ log(1/ε) and their difference.

    Examples
    --------
    >>> from octavo.linear import warm_start_passes
    >>> passes = warm_start_passes(2.3e9, 100, kappa=1.5)
    >>> round(passes.hybrid), round(passes.batch)
    (21, 32)
    """
    epsilon = 1 / n if epsilon is None else epsilon  # the noisy case of Section 4.1
    epsilon0 = math.sqrt(m / n) if epsilon0 is None else epsilon0
    for name, value in {"kappa": kappa, "epsilon": epsilon, "epsilon0": epsilon0}.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}.")
    # One online pass, then Section 4.1's κ log(ε₀/ε)
    hybrid = 1 + kappa * max(0.0, math.log(epsilon0 / epsilon))
    batch = kappa * math.log(1 / epsilon)
    return PassCounts(hybrid, batch, batch - hybrid)  # κ log(1/ε₀) - 1


class ClusterTime(NamedTuple):
    """Predicted seconds of a pass (median node, slowest node, communication) and of the fit."""

    median: float
    slowest: float
    communication: float
    total: float


class ClusterModel(NamedTuple):
    """A model of a cluster from the phases of a fit: ``from_timing``, then ``predict``.

    Fields: nonzeros that a node reads a second; the standard deviation of the logarithm of node
    times; seconds that a round of the tree takes for a number and for each further byte.
    """

    nonzeros_per_second: float
    spread: float
    latency: float
    seconds_per_byte: float

    @classmethod
    def from_timing(cls, timing: Any) -> ClusterModel:
        """Fit the model to the ``timing_`` of an estimator.

        Parameters
        ----------
        timing : FitTiming
            What a fit measured.

        Returns
        -------
        model : ClusterModel
            The fitted model.
        """
        sweeps = [phase for phase in timing.phases if (phase.shares > 0).any()]
        if not sweeps:
            raise ValueError("The timing holds no pass over the data.")
        seconds = np.concatenate([phase.busy[phase.shares > 0] for phase in sweeps])
        read = np.concatenate([phase.shares[phase.shares > 0] for phase in sweeps])
        latency, per_byte = _tree_costs(timing.phases)
        return cls(float(read.sum() / seconds.sum()), _unevenness(sweeps), latency, per_byte)

    def predict(
        self,
        nnz: float,
        n_features: float,
        n_machines: int,
        n_epochs: float = 15,
        *,
        pipelined: bool = False,
    ) -> ClusterTime:
        """Return what a fit would take on some number of such machines.

        Parameters
        ----------
        nnz : float
            Nonzeros of the whole data set.
        n_features : float
            Dimension of the weights.
        n_machines : int
            Machines, one shard each.
        n_epochs : float, default=15
            Passes over the data.
        pipelined : bool, default=False
            Whether a vector flows through the tree in small pieces, as in the paper, so that its
            size is paid once and not in every round.

        Returns
        -------
        time : ClusterTime
            Seconds.
        """
        if n_machines < 1:
            raise ValueError(f"n_machines must be at least 1, got {n_machines}.")
        median = nnz / n_machines / self.nonzeros_per_second
        # The expected largest of m lognormal times, by Blom's approximation of order statistics.
        extreme = float(ndtri((n_machines - 0.375) / (n_machines + 0.25)))
        slowest = median * math.exp(self.spread * max(0.0, extreme))
        rounds = math.ceil(math.log2(n_machines)) if n_machines > 1 else 0
        vector = 8.0 * n_features * self.seconds_per_byte
        weight = min(rounds, 1) if pipelined else rounds
        communication = 2 * (rounds * self.latency + weight * vector)  # up the tree and down again
        return ClusterTime(median, slowest, communication, n_epochs * (slowest + communication))


def _unevenness(sweeps: Sequence[PhaseTiming]) -> float:
    """Return how much nodes differ: the standard deviation of log times, robust to hiccups.

    A phase of m nodes has m - 1 degrees of freedom, whence the factor on its deviations.
    """
    deviations = []
    for phase in sweeps:
        own = np.log(phase.busy[phase.shares > 0] / phase.shares[phase.shares > 0])
        if own.size > 1:
            deviations.append((own - own.mean()) * math.sqrt(own.size / (own.size - 1)))
    if not deviations:
        return 0.0
    # 1.4826: the deviation of a normal law by its median
    return float(1.4826 * np.median(np.abs(np.concatenate(deviations))))


def _tree_costs(phases: Sequence[PhaseTiming]) -> tuple[float, float]:
    """Fit seconds = 2·rounds·(latency + bytes·rate) to the communication of phases."""
    rounds = np.array([max(1, math.ceil(math.log2(max(1, len(p.nodes))))) for p in phases])
    size = np.array([p.vector_bytes for p in phases], dtype=float)
    unit = max(float(size.max()), 1.0)  # scaled, so that both columns are of one magnitude
    design = 2.0 * rounds[:, None] * np.stack([np.ones(size.size), size / unit], axis=1)
    (latency, rate), _ = nnls(design, np.array([p.communication for p in phases]))
    return float(latency), float(rate / unit)
