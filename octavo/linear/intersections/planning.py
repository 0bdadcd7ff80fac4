"""How many trees, how deep and how wide: Theorem 1 and its corollaries as a calculator."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = ["RITPlan", "plan_rit", "rit_recovery"]


class RITPlan(NamedTuple):
    """Settings of intersection trees that find a pattern with a wanted probability.

    Attributes
    ----------
    n_trees, depth : int
        M and D.
    branching : float
        E(B): between two integers, for `RandomIntersectionTrees`.
    expected_cost : float
        Bound on the expected number of comparisons, the first line of (17).
    expected_candidates : float
        Bound on the expected number of sets at the last level, M E(B)^D.
    exponent : float
        κ: the cost grows more slowly than any larger power of the number of columns
        (Corollary 2 with γ = 1).
    exponent_independent : float
        The same where columns outside the pattern are independent of it (Corollary 3).
    miss : float
        The largest probability, in the proof, that a tree whose root holds the pattern loses it
        (q).
    """

    n_trees: int
    depth: int
    branching: float
    expected_cost: float
    expected_candidates: float
    exponent: float
    exponent_independent: float
    miss: float


def _inside(name: str, value: Any, low: float, high: float, ends: str = "neither") -> float:
    number = float(value)
    fits = low < number < high or (ends in ("high", "both") and number == high)
    fits = fits or (ends in ("low", "both") and number == low)
    if not fits:
        opening = "[" if ends in ("low", "both") else "("
        closing = "]" if ends in ("high", "both") else ")"
        raise ValueError(f"{name} must lie in {opening}{low:g}, {high:g}{closing}; got {value!r}.")
    return number


def _branching(theta1: float, q: float) -> float:
    """Return b + α with G(q) = q, Step 1 of the proof of Theorem 1."""
    share = theta1 * (1.0 - q)
    b = math.floor(math.log(q) / math.log1p(-share))  # the largest b with (1 - θ₁(1 - q))^b >= q
    alpha = (1.0 - q / (1.0 - share) ** b) / share  # [1 - αθ₁(1 - q)] (1 - θ₁(1 - q))^b = q
    return b + min(max(alpha, 0.0), 1.0)


def _powers(base: Floats, depth: int) -> Floats:
    """Return base + base² + ... + base^depth."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        total = base * (base**depth - 1.0) / (base - 1.0)
    return np.where(np.abs(base - 1.0) < 1e-9, depth * base, total)


@checked
def plan_rit(
    theta1: float,
    nu: float,
    deltas: ArrayLike,
    p: int,
    eta: float = 0.05,
    eps: float = 0.5,
) -> RITPlan:
    """Return trees, depth and branching that find a pattern with probability 1 - eta.

    Parameters
    ----------
    theta1 : float
        Prevalence of the pattern in the target class.
    nu : float
        Largest prevalence of another column among the rows of that class that hold the pattern.
    deltas : array-like of shape (p,) or float
        Prevalence of each column in the target class; a number stands for all.
    p : int
        Number of columns.
    eta : float, default=0.05
        Largest probability of missing the pattern.
    eps : float, default=0.5
        Spends branches (large) or trees (small): E(B) is at most (1 + eps) / theta1.

    Returns
    -------
    plan : RITPlan
        Settings for Algorithm 1 (``theta0=None``) and what they cost.

    Notes
    -----
    The number of trees is log(1/η) / ((1 − q) θ₁), q = 1 / (1 + 2 eps); the middle expression of
    (16) has a sign that is wrong. The proof takes the leaves of a tree for independent; they
    share their upper levels, and a tree may lose the pattern a little more often than q. The
    number of trees is rounded so generously that 1 - eta holds all the same: `rit_recovery` has
    the exact probability where columns are independent.

    Examples
    --------
    >>> from octavo.linear import plan_rit
    >>> plan = plan_rit(theta1=0.3, nu=0.2, deltas=0.1, p=100)
    >>> plan.n_trees, plan.depth, round(plan.branching, 2)
    (20, 3, 4.28)
    """
    theta1 = _inside("theta1", theta1, 0.0, 1.0, "high")
    nu = _inside("nu", nu, 0.0, 1.0, "low")
    eta = _inside("eta", eta, 0.0, 1.0, "high")
    eps = _inside("eps", eps, 0.0, 1.0, "high")
    if isinstance(p, bool) or p != int(p) or p < 1:
        raise ValueError(f"p must be a positive number of columns, got {p!r}.")
    shares = np.asarray(deltas, np.float64)
    if shares.shape not in ((), (int(p),)) or not np.all((shares >= 0) & (shares <= 1)):
        raise ValueError(f"deltas must be a number or {p} numbers between 0 and 1, got {deltas!r}.")
    q = 1.0 / (1.0 + 2.0 * eps)  # ε = (1 - q)/(2q), above Eq. (18)
    branching = _branching(theta1, q)
    spread = math.log(1.0 / nu) if nu > 0 else math.inf
    depth = max(1, math.ceil(math.log(p / q) / spread) - 1)  # Eq. (14)
    n_trees = max(1, math.ceil(-math.log(eta) / ((1.0 - q) * theta1)))  # Eq. (16)
    largest = float(shares.max())  # max δ_k
    rare = math.log(1.0 / theta1)
    common = math.log(1.0 / largest) if largest > 0 else math.inf
    apart = rare / common if common > 0 else (0.0 if rare == 0 else math.inf)
    with np.errstate(over="ignore"):
        columns = p if shares.ndim == 0 else 1  # a number stands for all of them
        powers = columns * float(_powers(branching * shares, depth).sum())  # Σ_k Σ_d (E(B) δ_k)^d
        cost = math.log(max(p, 2)) * n_trees * powers
        candidates = n_trees * float(np.float64(branching) ** depth)
    return RITPlan(
        n_trees,
        depth,
        branching,
        cost,  # Eq. (17)
        candidates,
        1.0 + max(0.0, rare - common) / spread,  # Corollary 2
        max(1.0, apart),  # Corollary 3, Eq. (4)
        q,
    )


@checked
def rit_recovery(
    theta1: float,
    nu: float,
    n_noise: int,
    branching: float,
    depth: int,
    n_trees: int = 1,
) -> float:
    """Return the probability that trees of Algorithm 1 end with a pattern itself.

    It is exact where the other columns are independent of the pattern and of one another, each
    with the same prevalence: a branching process whose nodes are typed by the number of columns
    beside the pattern that are still there.

    Parameters
    ----------
    theta1 : float
        Prevalence of the pattern in the target class.
    nu : float
        Prevalence of each other column there.
    n_noise : int
        Number of other columns.
    branching : float
        Mean number of children, of which there are the integer below or the one above.
    depth : int
        Depth of the trees.
    n_trees : int, default=1
        Number of trees.

    Returns
    -------
    probability : float
        That the pattern is among the sets at the last level.

    Examples
    --------
    >>> from octavo.linear import rit_recovery
    >>> round(rit_recovery(0.3, 0.2, 98, branching=4.28, depth=3, n_trees=20), 3)
    0.98
    """
    theta1 = _inside("theta1", theta1, 0.0, 1.0, "both")
    nu = _inside("nu", nu, 0.0, 1.0, "both")
    branching = _inside("branching", branching, 1.0, 1e9, "both")
    for name, value, low, high in (
        ("n_noise", n_noise, 0, 10_000),
        ("depth", depth, 0, 10_000),
        ("n_trees", n_trees, 1, math.inf),
    ):
        if isinstance(value, bool) or value != int(value) or not low <= value <= high:
            raise ValueError(f"{name} must be a whole number in [{low}, {high}], got {value!r}.")
    b = math.floor(branching)
    alpha = branching - b
    present = np.arange(n_noise + 1)
    stay = binom.pmf(present[None, :], present[:, None], nu)
    lost = (present > 0).astype(np.float64)  # at the last level: is anything left beside it?
    for _ in range(depth):
        # No child, or one without S, or one that loses S below
        branch = 1.0 - theta1 + theta1 * (stay @ lost)
        # The generating function of B, G of the proof of Theorem 1
        lost = (1.0 - alpha) * branch**b + alpha * branch ** (b + 1)
    found = theta1 * (1.0 - float(stay[n_noise] @ lost))  # θ₁: the root holds S
    return float(-np.expm1(n_trees * np.log1p(-found))) if found < 1.0 else 1.0
