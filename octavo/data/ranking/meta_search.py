"""Simulated meta-search: queries whose documents are ranked by engines of unequal quality."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_meta_search", "make_sparse_ratings"]


@checked
def make_meta_search(
    n_queries: int = 200,
    *,
    n_informative: int = 8,
    n_noise: int = 10,
    n_inverted: int = 3,
    n_weak: int = 4,
    n_items: tuple[int, int] = (5, 40),
    missing: float = 0.65,
    noise: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]], NDArray[np.str_]]:
    """Simulate queries with graded documents and engines that rank some of them.

    A document has a latent quality; its grade is 2 for the best tenth, 1 for the next fifth and 0
    for the rest, of a normal distribution. An informative engine ranks by quality plus
    N(0, noise²), a weak one plus N(0, (3 noise)²), an inverted one by minus what an informative one
    would see, and a noisy one at random. An engine returns a document with a chance that falls
    linearly from its first rank to its last, so that what is missing is more often what it thinks
    little of.

    Parameters
    ----------
    n_queries : int, default=200
        How many queries.
    n_informative, n_noise, n_inverted, n_weak : int
        How many engines of each kind, in this order: 25 by default.
    n_items : pair of int, default=(5, 40)
        Fewest and most documents of a query.
    missing : float, default=0.65
        Share of ranks that are missing.
    noise : float, default=1.0
        Standard deviation of what an informative engine sees, quality's being one.
    random_state : int, RandomState instance or None, default=None
        Seeds the simulation.

    Returns
    -------
    ranks : list of ndarray of shape (n_documents, n_engines)
        1 is best, NaN is missing.
    relevance : list of ndarray of shape (n_documents,)
        Grades 0, 1 and 2.
    kinds : ndarray of shape (n_engines,)
        What each engine is.

    Examples
    --------
    >>> from octavo.data import make_meta_search
    >>> ranks, relevance, kinds = make_meta_search(2, random_state=0)
    >>> ranks[0].shape, relevance[0].shape, str(kinds[8])
    ((5, 25), (5,), 'noise')
    """
    low, high = n_items
    if not 2 <= low <= high:
        raise ValueError(f"n_items must be a range from 2 on, such as (5, 40); got {n_items!r}.")
    if not 0 <= missing < 1:
        raise ValueError(f"missing must be at least 0 and below 1; got {missing!r}.")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be finite and at least 0; got {noise!r}.")
    if n_queries < 1:
        raise ValueError(f"n_queries must be at least 1; got {n_queries!r}.")
    rng = check_random_state(random_state)
    counts = (n_informative, n_noise, n_inverted, n_weak)
    if min(counts) < 0 or sum(counts) < 1:
        raise ValueError(f"At least one engine is needed, and none less than 0; got {counts}.")
    kinds = np.repeat(["informative", "noise", "inverted", "weak"], counts)
    # What an engine sees of quality, and the noise that it adds.
    follow = np.select([kinds == "noise", kinds == "inverted"], [0.0, -1.0], 1.0)
    spread = np.where(kinds == "weak", 3.0 * noise, np.where(kinds == "noise", 1.0, noise))
    ranks, relevance = [], []
    for _ in range(n_queries):
        n = int(rng.randint(low, high + 1))
        quality = rng.normal(size=n)
        seen = follow * quality[:, None] + spread * rng.normal(size=(n, kinds.size))
        R = 1.0 + np.argsort(np.argsort(-seen, axis=0), axis=0).astype(np.float64)
        depth = 2.0 * (R - 0.5) / n  # its mean is 1, so that `missing` is the mean below
        lost = missing * depth if missing <= 0.5 else 1.0 - (1.0 - missing) * (2.0 - depth)
        R[rng.random_sample(R.shape) < lost] = np.nan
        ranks.append(R)
        # Quantiles 0.7 and 0.9 of the standard normal.
        relevance.append(np.digitize(quality, [0.5244, 1.2816]).astype(np.float64))
    return ranks, relevance, kinds.astype(np.str_)


@checked
def make_sparse_ratings(
    n_items: int = 300,
    n_users: int = 400,
    *,
    n_ratings: int = 12_000,
    noise: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Simulate ratings of one to five in which few items are rated often and most are rarely.

    Items are rated with a popularity that falls as 1/place, independently of their quality.

    Parameters
    ----------
    n_items, n_users : int
        How many items and users.
    n_ratings : int, default=12000
        Ratings drawn; repeats of a pair are dropped.
    noise : float, default=1.0
        Standard deviation of a rating around 3 plus the item's quality, which is N(0, 1).
    random_state : int, RandomState instance or None, default=None
        Seeds the simulation.

    Returns
    -------
    ratings : ndarray of shape (n_items, n_users)
        Whole numbers from 1 to 5, NaN where missing.
    quality : ndarray of shape (n_items,)
        The true quality.

    Examples
    --------
    >>> from octavo.data import make_sparse_ratings
    >>> ratings, quality = make_sparse_ratings(50, 40, n_ratings=300, random_state=0)
    >>> ratings.shape, quality.shape
    ((50, 40), (50,))
    """
    if min(n_items, n_users) < 2 or n_ratings < 1:
        raise ValueError(
            "At least two items, two users and one rating are needed; got "
            f"{n_items}, {n_users} and {n_ratings}."
        )
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be finite and at least 0; got {noise!r}.")
    rng = check_random_state(random_state)
    quality = rng.normal(size=n_items)
    popularity = 1.0 / (1.0 + rng.permutation(n_items))
    items = rng.choice(n_items, n_ratings, p=popularity / popularity.sum())
    users = rng.randint(0, n_users, n_ratings)
    seen = 3.0 + quality[items] + noise * rng.normal(size=n_ratings)
    ratings = np.full((n_items, n_users), np.nan)
    ratings[items, users] = np.clip(np.rint(seen), 1, 5)
    return ratings, quality
