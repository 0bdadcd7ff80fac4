"""Answers that hidden causes switch on: planted tables, composite images, a survey of disorders."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_composite_images", "make_disorder_survey", "make_hidden_causes"]

BASES = (  # four 6 x 6 images, as in Griffiths and Ghahramani (2011)
    ("010000", "111000", "010000", "000000", "000000", "000000"),
    ("000111", "000101", "000111", "000000", "000000", "000000"),
    ("000000", "000000", "000000", "100000", "110000", "111000"),
    ("000000", "000000", "000000", "000111", "000010", "000010"),
)
SHARES = (0.0748, 0.0330, 0.0227)  # of the three features of Table 1


@checked
def make_hidden_causes(
    n_samples: int = 500,
    *,
    n_columns: int = 20,
    n_features: int = 4,
    n_levels: int = 3,
    share: float = 0.3,
    strength: float = 2.0,
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Return categorical answers that depend on binary features of rows.

    Parameters
    ----------
    n_samples : int, default=500
        Number of rows.
    n_columns : int, default=20
        Number of answers of a row.
    n_features : int, default=4
        Number of hidden features.
    n_levels : int, default=3
        Number of levels of each answer.
    share : float, default=0.3
        Probability of each feature.
    strength : float, default=2.0
        Standard deviation of the weights; those of the bias have half of it.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.

    Returns
    -------
    X : ndarray of int of shape (n_samples, n_columns)
        Levels from 0.
    Z : ndarray of int of shape (n_samples, n_features)
        The features.

    Examples
    --------
    >>> from octavo.data import make_hidden_causes
    >>> X, Z = make_hidden_causes(10, random_state=0)
    >>> X.shape, Z.shape
    ((10, 20), (10, 4))
    """
    for name, value, least in (
        ("n_samples", n_samples, 1),
        ("n_columns", n_columns, 1),
        ("n_features", n_features, 0),
        ("n_levels", n_levels, 2),
    ):
        if value < least:
            raise ValueError(f"{name} must be at least {least}; got {value}.")
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share must be between 0 and 1; got {share}.")
    rng = check_random_state(random_state)
    Z = (rng.random_sample((n_samples, n_features)) < share).astype(np.int64)
    B = rng.normal(0.0, strength, (n_columns, n_features, n_levels))
    bias = rng.normal(0.0, 0.5 * strength, (n_columns, 1, n_levels))
    noise = rng.gumbel(size=(n_columns, n_samples, n_levels))
    return (Z @ B + bias + noise).argmax(axis=2).T.copy(), Z


@checked
def make_composite_images(
    n_samples: int = 200, *, share: float = 0.3, random_state: Any = None
) -> tuple[Any, Any, Any]:
    """Return noisy black and white images, each the union of some of four base images (Figure 4).

    Parameters
    ----------
    n_samples : int, default=200
        Number of images.
    share : float, default=0.3
        Probability of each base image.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.

    Returns
    -------
    X : ndarray of int of shape (n_samples, 36)
        Pixels; a white one (1) is turned black half of the time.
    Z : ndarray of int of shape (n_samples, 4)
        Which base images are there.
    bases : ndarray of int of shape (4, 36)
        The base images.

    Examples
    --------
    >>> from octavo.data import make_composite_images
    >>> X, Z, bases = make_composite_images(10, random_state=0)
    >>> X.shape, bases.sum(axis=1).tolist()
    ((10, 36), [5, 8, 6, 5])
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1; got {n_samples}.")
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share must be between 0 and 1; got {share}.")
    rng = check_random_state(random_state)
    bases = np.array([[int(c) for c in "".join(rows)] for rows in BASES])
    Z = (rng.random_sample((n_samples, 4)) < share).astype(np.int64)
    kept = rng.random_sample((n_samples, 36)) < 0.5
    return ((Z @ bases > 0) & kept).astype(np.int64), Z, bases


@checked
def make_disorder_survey(n_samples: int = 3500, *, random_state: Any = None) -> tuple[Any, Any]:
    """Return a table like the survey of Section 5.2: 20 disorders and three hidden features.

    Parameters
    ----------
    n_samples : int, default=3500
        Number of people.
    random_state : int, RandomState instance or None, default=None
        Seeds the draws.

    Returns
    -------
    X : ndarray of int of shape (n_samples, 20)
        Who has which disorder.
    Z : ndarray of int of shape (n_samples, 3)
        General, externalizing and internalizing features, with the shares of Table 1; each raises
        the log-odds of all disorders, of the first seven, or of the next seven.

    Examples
    --------
    >>> from octavo.data import make_disorder_survey
    >>> X, Z = make_disorder_survey(1000, random_state=0)
    >>> X.shape, int(Z.sum()) > 50
    ((1000, 20), True)
    """
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1; got {n_samples}.")
    rng = check_random_state(random_state)
    Z = (rng.random_sample((n_samples, 3)) < SHARES).astype(np.int64)
    rise = np.zeros((3, 20))
    rise[0], rise[1, :7], rise[2, 7:14] = 2.0, 4.0, 4.0
    odds = np.linspace(-4.5, -3.0, 20) + Z @ rise
    return (rng.random_sample((n_samples, 20)) < 1.0 / (1.0 + np.exp(-odds))).astype(np.int64), Z
