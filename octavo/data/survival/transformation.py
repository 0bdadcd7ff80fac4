"""The artificial examples of Van Belle and others (2011), Sections 3.5 and 6.1.

Reference: V. Van Belle, K. Pelckmans, J. A. K. Suykens and S. Van Huffel (2011), "Learning
Transformation Models for Ranking and Survival Analysis", JMLR 12:819-862.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.arrays import Floats
from octavo.engine.estimators.checked import checked

__all__ = [
    "make_cyclists",
    "make_relevant_features",
    "make_students",
    "make_two_arms",
]


@checked
def make_cyclists(
    n_samples: int = 150, *, n_races: int = 9, random_state: Any = None
) -> tuple[Floats, Floats]:
    """Draw cyclists with their places in past races, and their place in the next (Section 6.1.1).

    Parameters
    ----------
    n_samples : int, default=150
        Cyclists.
    n_races : int, default=9
        Past races; a place is an integer from 1 to 100.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_races + 3)
        Places, then age, weight and condition, standard normal.
    y : ndarray of shape (n_samples,)
        The rank of a weighted sum of all of them, weights uniform on the unit interval.

    Examples
    --------
    >>> from octavo.data import make_cyclists
    >>> X, y = make_cyclists(5, random_state=0)
    >>> X.shape, sorted(y.tolist())
    ((5, 12), [1.0, 2.0, 3.0, 4.0, 5.0])
    """
    if n_samples < 1 or n_races < 1:
        raise ValueError(
            f"n_samples and n_races must be at least 1; got {n_samples} and {n_races}."
        )
    rng = check_random_state(random_state)
    places = rng.randint(1, 101, size=(n_samples, n_races))
    X = np.hstack([places, rng.normal(size=(n_samples, 3))])
    total = X @ rng.uniform(size=n_races + 3)
    y = np.empty(n_samples)
    y[np.argsort(total, kind="stable")] = np.arange(1.0, n_samples + 1)
    return X, y


@checked
def make_students(
    n_samples: int = 150, *, n_courses: int = 10, random_state: Any = None
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw students with their grades, and whether they are bad, average or good (Section 6.1.2).

    Parameters
    ----------
    n_samples : int, default=150
        Students.
    n_courses : int, default=10
        Courses; grades are uniform between 20 and 100 per cent, which the text leaves open.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_courses)
        Grades in per cent.
    y : ndarray of int of shape (n_samples,)
        1, 2 or 3: a mean grade below 55, up to 65, above.

    Examples
    --------
    >>> from octavo.data import make_students
    >>> X, y = make_students(6, random_state=0)
    >>> y
    array([3, 2, 3, 2, 1, 1])
    """
    if n_samples < 1 or n_courses < 1:
        raise ValueError(
            f"n_samples and n_courses must be at least 1; got {n_samples} and {n_courses}."
        )
    rng = check_random_state(random_state)
    X = rng.uniform(20.0, 100.0, size=(n_samples, n_courses))
    return X, 1 + np.searchsorted([55.0, 65.0], X.mean(axis=1)).astype(np.int64)


@checked
def make_two_arms(n_samples: int = 150, *, random_state: Any = None) -> tuple[Floats, NDArray[Any]]:
    """Draw a trial of two treatments with crossing hazards (Section 6.1.3).

    Parameters
    ----------
    n_samples : int, default=150
        Patients.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Age, standard normal and irrelevant, and the arm, 0 or 1.
    y : ndarray of shape (n_samples,) of records
        ``event``, always true, and ``time``: Weibull of scale 1 and shape 0.5 in arm 0, of scale
        4 and shape 5 in arm 1. The best concordance that the arm allows is 0.673.

    Examples
    --------
    >>> from octavo.data import make_two_arms
    >>> X, y = make_two_arms(4, random_state=0)
    >>> X[:, 1], y["time"].round(2)
    (array([0., 1., 0., 1.]), array([0.3 , 4.03, 0.33, 4.69]))
    """
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2; got {n_samples}.")
    rng = check_random_state(random_state)
    arm = np.arange(n_samples) % 2
    X = np.column_stack([rng.normal(size=n_samples), arm]).astype(np.float64)
    y = np.empty(n_samples, [("event", bool), ("time", float)])
    y["event"] = True
    shape, scale = np.where(arm == 0, 0.5, 5.0), np.where(arm == 0, 1.0, 4.0)
    y["time"] = scale * rng.exponential(size=n_samples) ** (1.0 / shape)
    return X, y


@checked
def make_relevant_features(
    n_samples: int = 150,
    n_features: int = 200,
    n_relevant: int = 100,
    *,
    random_state: Any = None,
) -> tuple[Floats, Floats, Floats]:
    """Draw a noiseless linear outcome of which some features are no part (Figure 3).

    Parameters
    ----------
    n_samples, n_features : int
        Rows and columns, standard normal.
    n_relevant : int, default=100
        The first columns, which make up the outcome with standard normal weights.
    random_state : int, RandomState instance or None, default=None
        Seeds the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Outcomes.
    coef : ndarray of shape (n_features,)
        Weights.

    Examples
    --------
    >>> from octavo.data import make_relevant_features
    >>> X, y, coef = make_relevant_features(4, 6, 2, random_state=0)
    >>> X.shape, (coef != 0).tolist()
    ((4, 6), [True, True, False, False, False, False])
    """
    if not (n_samples >= 1 and 0 <= n_relevant <= n_features):
        raise ValueError(
            "At least one row is needed, and n_relevant between 0 and n_features; got "
            f"{n_samples}, {n_relevant} and {n_features}."
        )
    rng = check_random_state(random_state)
    X = rng.normal(size=(n_samples, n_features))
    coef = np.zeros(n_features)
    coef[:n_relevant] = rng.normal(size=n_relevant)
    return X, X @ coef, coef
