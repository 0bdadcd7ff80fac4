"""How many questions the theorems ask for, up to their constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.search.active_pairs.asking import as_count, is_real

__all__ = ["query_complexity"]

KINDS = ("ranking", "clustering", "linear", "disagreement")


def _number(value: Any, name: str, low: float, high: float, needed_by: str = "") -> float:
    if value is None:
        raise ValueError(f"{name} is needed for {needed_by}.")
    if not is_real(value):
        raise ValueError(f"{name} must be a number; got {value!r}.")
    if not low < value < high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}; got {value!r}.")
    return float(value)


@checked
def query_complexity(
    kind: str,
    n_items: int | None = None,
    eps: float = 0.1,
    *,
    n_clusters: int | None = None,
    n_features: int | None = None,
    delta: float = 0.05,
    theta: float | None = None,
    vc_dimension: int | None = None,
    mu: float | None = None,
    constant: float = 1.0,
) -> float:
    """Return the order of the number of questions for an error of (1 + O(ε)) ν.

    The theorems leave constants open, so that these numbers compare problems with one another;
    beside the number of pairs they say when theory helps: for ranking, far beyond a million items.

    Parameters
    ----------
    kind : {"ranking", "clustering", "linear", "disagreement"}
        Corollary 13, 18, 21 or 6 (the last for one round).
    n_items : int, optional
        Items; for all but "disagreement".
    eps : float, default=0.1
        The paper's ε, below 1/5.
    n_clusters : int, optional
        The paper's k, for "clustering".
    n_features : int, optional
        The paper's d, for "linear".
    delta : float, default=0.05
        Probability of failure, for "linear" and "disagreement".
    theta : float, optional
        Disagreement coefficient, for "disagreement".
    vc_dimension : int, optional
        For "disagreement".
    mu : float, optional
        The paper's μ, for "disagreement".
    constant : float, default=1.0
        What the bound is multiplied by.

    Returns
    -------
    questions : float
        The bound.

    Examples
    --------
    >>> from octavo.search import query_complexity
    >>> for n in (10**3, 10**6, 10**12):  # against all pairs
    ...     print(f"{query_complexity('ranking', n, 0.15) / (n * (n - 1) / 2):.2g}")
    9.3e+03
    3e+02
    0.0095
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}; got {kind!r}.")
    eps = _number(eps, "eps", 0.0, 0.2)
    delta = _number(delta, "delta", 0.0, 1.0)
    constant = _number(constant, "constant", 0.0, np.inf)
    if kind == "disagreement":
        theta = _number(theta, "theta", 0.0, np.inf, "the bound by disagreement")
        mu = _number(mu, "mu", 0.0, 1.0, "the bound by disagreement")
        d = as_count(vc_dimension, "vc_dimension")
        shells = np.log(1.0 / mu)
        inner = d * np.log(max(theta, 1.0)) + np.log(max(shells, 1.0) / delta)
        return float(constant * theta * eps**-2 * shells * inner)  # Corollary 6
    n = as_count(n_items, "n_items", least=2)
    log = np.log(n)
    if kind == "ranking":
        return float(constant * eps**-3 * n * log**5)  # Corollary 13
    if kind == "clustering":
        k = as_count(n_clusters, "n_clusters")
        return float(constant * n * max(eps**-2 * k**3, eps**-3 * k**2) * log**2)  # Corollary 18
    d = as_count(n_features, "n_features")
    second = n * eps**-2 * log**2 * np.log(max(log, 1.0) / delta)
    return float(constant * (eps**-2 * n * d * log**3 + second))  # Equation (34)
