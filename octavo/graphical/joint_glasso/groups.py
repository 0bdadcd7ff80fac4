"""Samples of several networks: groups of rows, their covariances, and when a fit is bounded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)


class NetworkSamples(NamedTuple):
    """What a joint estimate needs of the data, group by group.

    Attributes
    ----------
    labels : ndarray of shape (n_groups,)
        The groups, sorted.
    S : ndarray of shape (n_groups, n_features, n_features)
        Covariances with divisor n, of standardised variables where that was asked for.
    n : ndarray of shape (n_groups,)
        Sample sizes.
    locations, scales : ndarray of shape (n_groups, n_features)
        What was subtracted from the rows, and what they were divided by.
    """

    labels: np.ndarray
    S: np.ndarray
    n: np.ndarray
    locations: np.ndarray
    scales: np.ndarray


def _is_list_of_tables(X) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(np.ndim(part) == 2 for part in X)


def _stacked(tables):
    """Return the rows of all tables, as a frame if they are frames with the same columns."""
    if all(hasattr(part, "columns") for part in tables):
        import pandas as pd

        return pd.concat(tables, ignore_index=True)
    return np.vstack([check_array(part, dtype=np.float64) for part in tables])


def rows_and_groups(estimator, X, groups, *, reset):
    """Return validated rows and the group of each, from a table or from a list of tables."""
    if _is_list_of_tables(X):
        if groups is not None:
            raise ValueError("Give groups with one table of rows, or a list of tables; not both.")
        widths = [np.shape(part)[1] for part in X]
        if len(set(widths)) > 1:
            raise ValueError(
                f"All groups must have the same variables: their tables have {widths} columns."
            )
        groups = np.repeat(np.arange(len(X)), [len(part) for part in X])
        X = _stacked(X)
    X = validate_data(estimator, X, dtype=np.float64, reset=reset, ensure_min_samples=1 + reset)
    if groups is None:
        return X, np.zeros(len(X), dtype=np.intp)
    groups = column_or_1d(np.asarray(groups), warn=True)
    check_consistent_length(X, groups)
    if groups.dtype.kind == "f" and np.isnan(groups).any():
        raise ValueError("groups contains NaN; every row needs the label of its group.")
    return X, groups


def by_group(X, groups, *, assume_centered, standardize) -> NetworkSamples:
    """Return the covariances of the groups; every group needs two rows."""
    labels, code, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    few = sizes < 2
    if few.any():
        raise ValueError(
            f"Every group needs at least 2 samples: group {labels[few].tolist()[0]!r} has "
            f"{sizes[few][0]} sample."
        )
    K, p = len(labels), X.shape[1]
    S, locations, scales = np.empty((K, p, p)), np.zeros((K, p)), np.ones((K, p))
    for k in range(K):
        rows = X[code == k]
        if not assume_centered:
            locations[k] = rows.mean(axis=0)
            rows = rows - locations[k]
        if standardize:
            scales[k] = np.sqrt((rows**2).mean(axis=0))
            flat = np.flatnonzero(scales[k] == 0)
            if len(flat):
                raise ValueError(
                    f"standardize=True needs variables that vary: variable {flat[0]} is constant "
                    f"in group {labels.tolist()[k]!r}."
                )
            rows = rows / scales[k]
        with np.errstate(over="ignore", invalid="ignore"):  # check_finite says it
            S[k] = rows.T @ rows / len(rows)
    check_finite(S)
    return NetworkSamples(labels, S, sizes.astype(np.float64), locations, scales)


def check_finite(S) -> None:
    """Raise where a variance is beyond what a double can hold."""
    variances = np.diagonal(S, axis1=1, axis2=2)
    far = ~np.isfinite(variances) | ((variances > 0.0) & (variances < np.finfo(float).tiny))
    if far.any():
        k, j = np.argwhere(far)[0]
        raise ValueError(
            f"The variance of variable {j} is {variances[k, j]:.3g}, beyond what a double can hold "
            "with all its digits. Use another unit for it."
        )


def given_covariances(covariances, n_samples) -> NetworkSamples:
    """Check covariances that were computed elsewhere."""
    shapes = {np.shape(part) for part in covariances}
    if len(shapes) != 1:
        raise ValueError(f"All covariances must have one shape, got {sorted(shapes)}.")
    S = check_array(np.asarray(covariances), dtype=np.float64, allow_nd=True, ensure_2d=False)
    if S.ndim != 3 or S.shape[1] != S.shape[2]:
        raise ValueError(
            f"covariances must have shape (n_groups, n_features, n_features), got {S.shape}."
        )
    if not np.allclose(S, S.swapaxes(1, 2), rtol=1e-8, atol=1e-12 * np.abs(S).max()):
        raise ValueError("covariances must be symmetric.")
    n = check_array(n_samples, dtype=np.float64, ensure_2d=False)
    if n.shape != (len(S),) or (n <= 0).any():
        raise ValueError(
            f"n_samples must hold one positive number for each of the {len(S)} covariances, "
            f"got {n_samples!r}."
        )
    S = (S + S.swapaxes(1, 2)) / 2
    check_finite(S)
    zero, one = np.zeros(S.shape[:2]), np.ones(S.shape[:2])
    return NetworkSamples(np.arange(len(S)), S, n, zero, one)


def _is_singular(A) -> bool:
    units = np.sqrt(np.diagonal(A))  # a variable in another unit does not make it singular
    if not units.all():
        return True
    values = np.linalg.eigvalsh(A / units[:, None] / units)
    return bool(values[0] <= values[-1] * len(A) * np.finfo(float).eps)


def check_bounded(S, n, alpha_l1, alpha_joint, penalty, penalize_diagonal) -> None:
    """Raise where the likelihood has no maximum: penalties too weak for the data's rank.

    A direction that no penalty sees and in which the data do not vary leads to infinity.
    """
    if alpha_l1 > 0 and penalize_diagonal:
        return
    variances = np.diagonal(S, axis1=1, axis2=2)
    if (
        penalty == "perturbed" and alpha_joint > 0
    ):  # diagonals are tied: one network that varies is enough
        variances = variances.sum(axis=0, keepdims=True)
    k, j = np.nonzero(variances <= 0)
    if len(j):
        raise ValueError(
            f"Variable {j[0]} does not vary and its diagonal is not penalised: the likelihood is "
            f"unbounded. Remove it, or use alpha_l1 > 0 with penalize_diagonal=True."
        )
    if alpha_l1 > 0 or (penalty in ("cohub", "group") and alpha_joint > 0):
        return
    tied = penalty in ("perturbed", "fused") and alpha_joint > 0
    pooled = np.tensordot(n, S, 1)[None] if tied else S
    if any(_is_singular(A) for A in pooled):
        what = "the pooled covariance of the groups" if tied else "the covariance of a group"
        raise ValueError(
            f"With alpha_l1=0 the likelihood is unbounded, because {what} is singular (are there "
            "fewer samples than variables?). Use alpha_l1 > 0."
        )
