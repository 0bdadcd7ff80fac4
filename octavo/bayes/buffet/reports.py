"""What hidden features change and which go together: Figures 5 and 8, Tables 1 to 5."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from octavo.engine.estimators.arrays import Floats, Ints

__all__ = ["ComorbidityReport", "comorbidity_report"]


class ComorbidityReport(NamedTuple):
    """Features of rows in numbers.

    Attributes
    ----------
    feature_probs : ndarray of shape (n_features,)
        Share of rows with each feature (Table 1a, Table 2).
    single_probs : ndarray of shape (n_features,)
        Share of rows with this feature alone.
    empirical : ndarray of shape (n_features, n_features)
        Share of rows with both features (Table 3, above the diagonal).
    product : ndarray of shape (n_features, n_features)
        What it would be if features were independent (Table 3, below the diagonal).
    z_scores : ndarray of shape (n_features, n_features)
        The difference in standard deviations of independent rows; zero on the diagonal.
    conditional : ndarray of shape (n_features, n_features)
        P(k2 | k1), k1 down and k2 across (Table 4).
    patterns : ndarray of int of shape (n_patterns, n_features)
        Combinations of features, the most common first (Table 5).
    pattern_counts : ndarray of int of shape (n_patterns,)
        How many rows have each.
    profiles : list of ndarray of shape (1 + n_features, n_levels)
        By column, the probabilities of levels with no feature and with each alone (Figure 5).
    baseline : list of ndarray of shape (n_levels,)
        By column, the shares of levels in the table.
    ratios : list of ndarray of shape (1 + n_features, n_levels)
        Profiles over baseline (Figure 8).
    """

    feature_probs: Floats
    single_probs: Floats
    empirical: Floats
    product: Floats
    z_scores: Floats
    conditional: Floats
    patterns: Ints
    pattern_counts: Ints
    profiles: list[Floats]
    baseline: list[Floats]
    ratios: list[Floats]


def _pairs(Z: Any) -> tuple[Floats, Floats, Floats, Floats]:
    """Return empirical and product probabilities of pairs, z-scores and conditionals."""
    n = len(Z)
    share = Z.mean(axis=0)
    both = Z.T @ Z / n
    product = np.outer(share, share)
    np.fill_diagonal(product, share)
    # standard error of a share if features were independent
    spread = np.sqrt(product * (1.0 - product) / n)
    z = np.divide(both - product, spread, out=np.zeros_like(both), where=spread > 0.0)
    down = share[:, None]
    return both, product, z, np.divide(both, down, out=np.zeros_like(both), where=down > 0.0)


def comorbidity_report(model: Any) -> ComorbidityReport:
    """Return what the features of a fitted model change, and which go together.

    Parameters
    ----------
    model : IBPCategorical
        Fitted.

    Returns
    -------
    report : ComorbidityReport
        Numbers of the paper's tables and figures.

    Examples
    --------
    >>> from octavo.bayes import IBPCategorical, comorbidity_report
    >>> from octavo.data import make_hidden_causes
    >>> X, Z = make_hidden_causes(300, n_columns=12, n_features=2, random_state=0)
    >>> model = IBPCategorical(n_iter=60, burn_in=30, random_state=0).fit(X)
    >>> comorbidity_report(model).pattern_counts.sum()
    np.int64(300)
    """
    if not hasattr(model, "pattern_proba"):
        raise TypeError(f"model must be a fitted IBPCategorical; got {type(model).__name__}.")
    check_is_fitted(model)
    Z = model.Z_.astype(np.float64)
    K = Z.shape[1]
    empirical, product, z_scores, conditional = _pairs(Z)
    patterns, counts = np.unique(model.Z_, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    profiles = model.pattern_proba(np.r_[np.zeros((1, K)), np.eye(K)])
    baseline = [np.asarray(one, dtype=np.float64) for one in model.baseline_]
    ratios = [
        np.divide(p, b, out=np.full_like(p, np.inf), where=np.broadcast_to(b, p.shape) != 0.0)
        for p, b in zip(profiles, baseline, strict=True)
    ]
    return ComorbidityReport(
        Z.mean(axis=0),
        ((Z.sum(axis=1) == 1)[:, None] * Z).mean(axis=0),
        empirical,
        product,
        z_scores,
        conditional,
        patterns[order],
        counts[order],
        profiles,
        baseline,
        ratios,
    )
