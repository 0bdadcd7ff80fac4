"""Simulated display advertising: rare clicks, Zipf categories, effects of conjunctions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_clicks"]

COLUMNS = ("user", "page", "publisher", "ad", "advertiser")
RAREST = 1e-5  # click rate; a rarer one takes hours to simulate
_CHUNK = 1 << 18


def _zipf(rng: np.random.RandomState, n_values: int, size: int) -> NDArray[np.int64]:
    """Return categories whose frequency falls about as one over their rank."""
    return np.minimum((n_values + 1) ** rng.uniform(size=size), n_values).astype(np.int64) - 1


class _World:
    """Effects of categories and of pairs of them on the chance of a click."""

    def __init__(
        self, rng: np.random.RandomState, n_users: int, n_pages: int, n_ads: int, effect: float
    ) -> None:
        self.sizes = (n_users, n_pages, max(2, n_pages // 10), n_ads, max(2, n_ads // 10))
        self.publisher = rng.randint(self.sizes[2], size=n_pages)
        self.advertiser = rng.randint(self.sizes[4], size=n_ads)
        self.single = [effect * rng.normal(size=size) for size in self.sizes]
        # user × ad, page × ad, publisher × advertiser, user × advertiser
        self.crossed = ((0, 3), (1, 3), (2, 4), (0, 4))
        self.pairs = [
            effect * rng.normal(size=(self.sizes[a], self.sizes[b])) for a, b in self.crossed
        ]

    def moved(self, rng: np.random.RandomState, drift: float, effect: float) -> _World:
        """Return the world some days later."""
        later = object.__new__(_World)
        later.__dict__.update(self.__dict__)
        keep = np.sqrt(1 - drift**2)
        shift = [keep * e + drift * effect * rng.normal(size=e.shape) for e in self.single]
        later.single = shift
        later.pairs = [keep * e + drift * effect * rng.normal(size=e.shape) for e in self.pairs]
        return later

    def visits(self, rng: np.random.RandomState, n: int) -> NDArray[np.int64]:
        user, page, ad = (_zipf(rng, self.sizes[k], n) for k in (0, 1, 3))
        return np.stack([user, page, self.publisher[page], ad, self.advertiser[ad]], axis=1)

    def score(self, X: NDArray[np.int64]) -> NDArray[np.float64]:
        total = sum(effect[column] for effect, column in zip(self.single, X.T))
        for (a, b), effect in zip(self.crossed, self.pairs):
            total = total + effect[X[:, a], X[:, b]]
        return np.asarray(total)


@checked
def make_clicks(
    n_samples: int = 10_000,
    n_later: int = 5_000,
    *,
    n_users: int = 2000,
    n_pages: int = 500,
    n_ads: int = 300,
    ctr: float = 0.01,
    negatives: float = 2.0,
    effect: float = 0.5,
    drift: float = 0.2,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Simulate clicks on advertisements, for training and from a later day.

    A visit is a user, a page with its publisher and an advertisement with its advertiser, all
    with frequencies like Zipf's law. The log-odds of a click add effects of the categories and
    of user × ad, page × ad, publisher × advertiser and user × advertiser pairs. Clicks are rare,
    and visits without one are thinned.

    Parameters
    ----------
    n_samples, n_later : int
        Rows of the training set, and of the set from a later day.
    n_users, n_pages, n_ads : int
        Numbers of categories; there is a publisher for ten pages and an advertiser for ten ads.
    ctr : float, default=0.01
        Share of visits that end in a click, about, before thinning; at least 1e-5.
    negatives : float, default=2
        Visits without a click that are kept for each click.
    effect : float, default=0.5
        Standard deviation of each effect.
    drift : float, default=0.2
        Part of the effects' standard deviation that is new on the later day.
    random_state : int, RandomState instance or None, default=None
        Seeds the simulation.

    Returns
    -------
    X : ndarray of shape (n_samples, 5)
        Categories: user, page, publisher, ad, advertiser.
    y : ndarray of shape (n_samples,)
        One for a click.
    X_later, y_later : ndarray
        The same for the later day.

    Examples
    --------
    >>> from octavo.data import make_clicks
    >>> X, y, X_later, y_later = make_clicks(600, 100, random_state=0)
    >>> X.shape, int(y.sum())
    ((600, 5), 200)
    """
    if not RAREST <= ctr < 1:
        raise ValueError(
            f"ctr must be at least {RAREST:g}, because visits are drawn until there are clicks "
            f"enough, and less than 1; got {ctr!r}."
        )
    for name, value, most in (
        ("negatives", negatives, 1e6),
        ("effect", effect, 10.0),
        ("drift", drift, 10.0),
    ):
        if not 0 <= value <= most:
            raise ValueError(f"{name} must lie between 0 and {most:g}; got {value!r}.")
    if min(n_samples, n_later) < 0 or min(n_users, n_pages, n_ads) < 1:
        raise ValueError(
            "n_samples and n_later must not be negative, and n_users, n_pages and n_ads must be "
            f"at least 1; got {n_samples}, {n_later}, {n_users}, {n_pages} and {n_ads}."
        )
    rng = check_random_state(random_state)
    world = _World(rng, n_users, n_pages, n_ads, effect)
    later = world.moved(rng, drift, effect)
    scores = world.score(world.visits(rng, 20_000))
    low, high = -30.0, 10.0  # bisection for the intercept that gives the click rate
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if expit(middle + scores).mean() < ctr else (low, middle)
    train = _thinned(rng, world, middle, n_samples, negatives)
    return (*train, *_thinned(rng, later, middle, n_later, negatives))


def _thinned(
    rng: np.random.RandomState, world: _World, intercept: float, n: int, negatives: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return n visits with the wanted share of clicks, in random order."""
    wanted = {1: round(n / (1 + negatives))}
    wanted[0] = n - wanted[1]
    kept: dict[int, list[NDArray[np.int64]]] = {0: [], 1: []}
    while wanted[0] > 0 or wanted[1] > 0:
        X = world.visits(rng, _CHUNK)
        y = rng.uniform(size=_CHUNK) < expit(intercept + world.score(X))
        for label in (0, 1):
            rows = X[y == label][: max(0, wanted[label])]
            kept[label].append(rows)
            wanted[label] -= rows.shape[0]
    X = np.concatenate([*kept[0], *kept[1]])
    y = np.repeat([0, 1], [sum(map(len, kept[label])) for label in (0, 1)])
    order = rng.permutation(n)
    return X[order], y[order]
