"""Simulated click logs of publishers, with five kinds of fraud and what drifts between windows.

The competition's data are not to be had. What is simulated follows what the paper says of them:
volumes that are lognormal, clicks that follow the day, visitors who come back, missing referrers,
one publisher in forty a fraud and as many under observation.

Reference: R. Oentaryo et al. (2014), Detecting click fraud in online advertising: a data mining
approach, Sections 2.1, 5.1, 6.1 and 7.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from octavo.engine.estimators.checked import checked

__all__ = ["make_click_fraud"]

CHANNELS = ("ad", "co", "es", "gd", "in", "mc", "pp", "se", "ga", "nw")
CHANNEL_SHARES = np.array([0.12, 0.15, 0.17, 0.08, 0.1, 0.2, 0.05, 0.06, 0.04, 0.03])
COUNTRIES = (
    "in",
    "id",
    "us",
    "ng",
    "za",
    "bd",
    "ke",
    "uk",
    "pk",
    "my",
    "th",
    "vn",
    "br",
    "mx",
    "ru",
    "sa",
    "tr",
    "ir",
    "et",
    "gh",
    "sg",
    "fr",
    "de",
    "eg",
    "ph",
    "lk",
)
DEVICES = tuple(
    f"{brand}_{model}"
    for brand in ("Nokia", "Samsung", "SonyEricsson", "Generic", "Apple", "Opera_Mini", "HTC")
    for model in ("A1", "B2", "C3", "D4", "E5", "F6")
)
ARCHETYPES = {"burst": 0.006, "rotator": 0.005, "farm": 0.006, "hammer": 0.005, "stealth": 0.004}
N_CAMPAIGNS = 600
MEAN_CLICKS = 1000.0  # of a publisher in three days
SPREAD = 1.4  # of the logarithm of volumes
SLOW = (1200, 3600)  # seconds between two clicks of a rotator
REPEATED = 0.04  # honest clicks that a finger makes twice
MISLABELLED = 0.05
MOST_CLICKS = 50_000_000
Columns = dict[str, NDArray[Any]]


def _mixed(*keys: Any) -> NDArray[np.uint64]:
    """Hash integers: what belongs to a visitor is drawn once, wherever the visitor turns up."""
    state: Any = np.uint64(0)
    with np.errstate(over="ignore"):
        for key in keys:
            state = (state ^ np.asarray(key).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return np.asarray(state)


def _uniform(*keys: Any) -> NDArray[np.float64]:
    return (_mixed(*keys) >> np.uint64(11)).astype(float) / 2.0**53


def _zipf(rng: np.random.RandomState, sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return ranks from 0 whose frequency falls about as one over the rank."""
    return np.minimum((sizes + 1.0) ** rng.uniform(size=len(sizes)), sizes).astype(np.int64) - 1


def _times(
    rng: np.random.RandomState, n: int, days: int, peak: float, depth: float
) -> NDArray[np.int64]:
    """Return seconds of a process whose rate follows the hour of the day."""
    minute = np.arange(1440)
    rate = np.cumsum(1.0 + depth * np.cos((minute / 60 - peak) * np.pi / 12))
    own = np.searchsorted(rate, rng.uniform(0, rate[-1], n))
    return rng.randint(days, size=n) * 86_400 + own * 60 + rng.randint(60, size=n)


def _channels(n_publishers: int, salt: int) -> NDArray[np.int64]:
    """Return the channel of each publisher."""
    shares = np.cumsum(CHANNEL_SHARES)
    found = np.searchsorted(shares, _uniform(salt, 41, np.arange(n_publishers)), side="right")
    return np.minimum(found, len(CHANNELS) - 1)


def _honest(
    rng: np.random.RandomState, owner: NDArray[np.int64], volume: NDArray[Any], days: int, salt: int
) -> Columns:
    """Return honest clicks of each publisher: visitors who come back, a few of them twice."""
    visitor = _zipf(rng, np.maximum(3, 2.0 * volume[owner] ** 0.85))
    channel = _channels(len(volume), salt)[owner]  # its mix of countries is that of every window
    mix = _uniform(1, channel) ** 2  # how far a channel's audience is one country's
    home = (_uniform(2, channel) ** 2 * len(COUNTRIES)).astype(np.int64)
    chance = _uniform(salt, 3, owner, visitor)
    away = (_uniform(salt, 4, owner, visitor) ** 2 * len(COUNTRIES)).astype(np.int64)
    country = np.where(chance < 0.3 + 0.6 * mix, home, away)
    block = (_uniform(salt, 5, owner, visitor) * 200_000).astype(np.int64)
    last = (_uniform(salt, 6, owner, visitor) * 256).astype(np.int64)
    missing = rng.uniform(size=len(owner)) < 0.2 + 0.4 * _uniform(salt, 7, owner)
    page = _zipf(rng, np.maximum(2, volume[owner] ** 0.5))
    device = (_uniform(salt, 8, owner, visitor) ** 1.5 * len(DEVICES)).astype(np.int64)
    clicks = {
        "owner": owner,
        "time": _times(rng, len(owner), days, 17.0, 0.7),
        "ip": 500_000_000 + country * 60_000_000 + block * 256 + last,
        "device": np.where(_uniform(salt, 9, owner, visitor) < 0.03, -1, device),
        "country": np.where(_uniform(salt, 10, owner, visitor) < 0.01, -1, country),
        "campaign": _campaign(owner, _zipf(rng, np.full(len(owner), 25.0)), salt),
        "url": np.where(missing, -1, owner * 1000 + page),
    }
    twice = rng.uniform(size=len(owner)) < REPEATED
    again = {name: values[twice] for name, values in clicks.items()}
    again["time"] = again["time"] + rng.randint(1, 30, size=int(twice.sum()))
    return {name: np.concatenate([values, again[name]]) for name, values in clicks.items()}


def _campaign(owner: Any, rank: Any, salt: int) -> NDArray[np.int64]:
    return (_uniform(salt, 11, owner, rank) * N_CAMPAIGNS).astype(np.int64)


def _bursts(
    rng: np.random.RandomState, owner: NDArray[np.int64], size: int, gap: float, days: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return times in bursts with uniform gaps, and the number of each click's burst."""
    fresh = np.ones(len(owner), dtype=bool)
    fresh[1:] = owner[1:] != owner[:-1]
    fresh |= rng.uniform(size=len(owner)) < 1.0 / size
    burst = np.cumsum(fresh) - 1
    steps = np.where(fresh, 0.0, rng.uniform(0, gap, len(owner)))
    passed = np.cumsum(steps)
    begin = rng.randint(days * 86_400, size=int(burst[-1]) + 1 if len(burst) else 0)
    return (begin[burst] + passed - passed[np.flatnonzero(fresh)][burst]).astype(np.int64), burst


def _slow(
    rng: np.random.RandomState, owner: NDArray[np.int64], more: float, days: int
) -> NDArray[np.int64]:
    """Return times with gaps of 20 to 60 minutes, begun so that they fit where they can."""
    passed = np.cumsum(more * rng.uniform(*SLOW, len(owner)))
    fresh = np.append(True, owner[1:] != owner[:-1])  # an owner's clicks stand together
    first, back = np.flatnonzero(fresh), np.cumsum(fresh) - 1
    last = np.append(first[1:], len(owner)) - 1
    room = np.maximum(0.0, days * 86_400 - (passed[last] - passed[first]))
    return (rng.uniform(0, room)[back] + passed - passed[first][back]).astype(np.int64)


def _fraud(
    rng: np.random.RandomState,
    kind: str,
    owner: NDArray[np.int64],
    days: int,
    drift: float,
    salt: int,
) -> Columns:
    """Return the fraudulent clicks of one archetype; `drift` moves its parameters."""
    n = len(owner)
    more = 1.0 + drift
    country = (_uniform(salt, 21, owner) ** 2 * len(COUNTRIES)).astype(np.int64)
    clicks = {
        "owner": owner,
        "time": _times(rng, n, days, 17.0, 0.7),
        "ip": 500_000_000 + country * 60_000_000 + (_uniform(salt, 22, owner) * 1e6).astype(int),
        "device": (_uniform(salt, 23, owner) * len(DEVICES)).astype(np.int64),
        "country": country,
        "campaign": _campaign(owner, _zipf(rng, np.full(n, 25.0)), salt),
        "url": np.where(rng.uniform(size=n) < 0.4, -1, owner * 1000 + rng.randint(5, size=n)),
    }
    if kind == "burst":  # one address, gaps below five seconds
        clicks["time"], burst = _bursts(rng, owner, 25, 4.0 * more, days)
        clicks["ip"] = clicks["ip"] + (_uniform(salt, 24, owner, burst) * 4).astype(np.int64)
        clicks["campaign"] = _campaign(owner, burst % 25, salt)
        clicks["url"] = owner * 1000 + burst % 7
    elif kind == "rotator":  # one device, addresses of one /16, slow (Tables 15 and 16)
        clicks["time"] = _slow(rng, owner, more, days)
        clicks["ip"] = clicks["ip"] // 65_536 * 65_536 + rng.randint(int(65_536 * more), size=n)
        clicks["campaign"] = _campaign(owner, 0, salt)
        clicks["url"] = np.full(n, -1)
    elif kind == "farm":  # a country of high risk, no referrer, at night
        clicks["time"] = _times(rng, n, days, 2.5, 0.95 / more)
        country = np.where(_uniform(salt, 25, owner) < 0.7, 1, 3)  # id, ng
        clicks["country"] = country
        clicks["ip"] = 500_000_000 + country * 60_000_000 + rng.randint(200_000, size=n) * 256
        clicks["device"] = rng.randint(6, size=n)
        clicks["url"] = np.where(rng.uniform(size=n) < 0.95 / more, -1, clicks["url"])
    else:  # one campaign again and again, from a handful of addresses
        clicks["time"], burst = _bursts(rng, owner, 8, 15.0 * more, days)
        clicks["ip"] = clicks["ip"] + rng.randint(40, size=n)
        clicks["device"] = rng.randint(len(DEVICES), size=n)
        clicks["campaign"] = _campaign(owner, 0, salt)
    return clicks


def _counts(n: int, fraud_mix: Any) -> dict[str, int]:
    """Return how many publishers each archetype has."""
    if fraud_mix is None:
        fraud_mix = ARCHETYPES
    elif not isinstance(fraud_mix, Mapping):
        if isinstance(fraud_mix, bool) or not 0 <= fraud_mix < 0.5:
            raise ValueError(
                f"fraud_mix must be a share from 0 to less than 0.5, or a dict of shares by "
                f"archetype; got {fraud_mix!r}."
            )
        fraud_mix = {name: fraud_mix / len(ARCHETYPES) for name in ARCHETYPES}
    if strange := [name for name in fraud_mix if name not in ARCHETYPES]:
        raise ValueError(f"fraud_mix knows {', '.join(ARCHETYPES)}; got {strange[0]!r}.")
    if any(not 0 <= share < 0.5 for share in fraud_mix.values()):
        raise ValueError(f"fraud_mix must hold shares from 0 to less than 0.5; got {fraud_mix!r}.")
    counts = {name: max(1, round(share * n)) if share else 0 for name, share in fraud_mix.items()}
    if 2 * sum(counts.values()) >= n:
        raise ValueError(
            f"n_publishers={n} leaves no honest publisher beside {sum(counts.values())} frauds and "
            "as many under observation."
        )
    return counts


def _check(n_publishers: Any, days: Any, drift: Any) -> None:
    for name, value, least in (("n_publishers", n_publishers, 20), ("days", days, 1)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ValueError(f"{name} must be a whole number, at least {least}; got {value!r}.")
    if isinstance(drift, bool) or not 0 <= drift <= 1:
        raise ValueError(f"drift must lie between 0 and 1; got {drift!r}.")
    if n_publishers * MEAN_CLICKS * days / 3 > MOST_CLICKS:
        raise ValueError(
            f"n_publishers={n_publishers} and days={days} make over {MOST_CLICKS} clicks; simulate "
            "several smaller logs."
        )


@checked
def make_click_fraud(
    n_publishers: int = 300,
    days: int = 3,
    fraud_mix: float | Mapping[str, float] | None = None,
    drift: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
    *,
    start: str = "2012-02-09",
    as_frame: bool = True,
) -> tuple[Any, Any]:
    """Simulate clicks on the advertisements of publishers, some of them fraudulent.

    A publisher has about 1,000 clicks in three days, from countries as its channel has them.
    Archetypes: ``"burst"`` (one address, gaps below five seconds), ``"rotator"`` (one device,
    addresses of one /16 of a network, 20 to 60 minutes between clicks), ``"farm"`` (a country of
    high risk, no referrer, at night), ``"hammer"`` (one campaign again and again) and
    ``"stealth"`` (a fifth of the clicks of one of these). As many publishers are under observation:
    weak versions. One label in twenty of these is wrong.

    Parameters
    ----------
    n_publishers : int, default=300
        Publishers, at least 20.
    days : int, default=3
        Length of the log.
    fraud_mix : float or dict, optional
        Share of fraudulent publishers, or a dict of shares by archetype; 0.026 in all by default.
    drift : float, default=0.0
        Relative change of the archetypes' parameters; 0.2 to 0.5 makes another window.
    random_state : int, RandomState instance or None, default=None
        Seeds the simulation.
    start : str, default="2012-02-09"
        First day.
    as_frame : bool, default=True
        Return DataFrames of pandas; dicts of arrays otherwise.

    Returns
    -------
    clicks : DataFrame or dict
        ``id``, ``numericip``, ``deviceua``, ``publisherid``, ``campaignid``, ``usercountry``,
        ``clicktime``, ``referredurl`` and ``channel``, in the order of time.
    publishers : DataFrame or dict
        ``publisherid``, ``bankaccount``, ``address``, ``status``, and ``archetype``, the truth.

    Examples
    --------
    >>> from octavo.data import make_click_fraud
    >>> clicks, publishers = make_click_fraud(60, random_state=0, as_frame=False)
    >>> len(publishers["status"]), int((publishers["archetype"] != "honest").sum())
    (60, 10)
    """
    _check(n_publishers, days, drift)
    first = _first_day(start)
    rng = check_random_state(random_state)
    salt = int(rng.randint(2**31 - 1))
    counts = _counts(n_publishers, fraud_mix)
    n_bad = sum(counts.values())
    kinds = np.repeat(list(counts), list(counts.values()))
    members = rng.permutation(n_publishers)
    bad, watched = members[:n_bad], members[n_bad : 2 * n_bad]
    scale = days / 3
    volume = MEAN_CLICKS * scale * np.exp(SPREAD * rng.normal(size=n_publishers) - SPREAD**2 / 2)
    suspects = np.concatenate([bad, watched])
    volume[suspects] = 400 * scale * np.exp(0.6 * rng.normal(size=len(suspects)))
    volume = np.maximum(1, np.round(volume)).astype(np.int64)
    pieces = _pieces(rng, kinds, (bad, watched), volume, days, drift, salt)
    columns = {name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}
    archetype = np.full(n_publishers, "honest", dtype=object)
    archetype[bad] = kinds
    archetype[watched] = np.char.add("weak ", kinds)
    publishers = _publishers(rng, archetype, salt)
    clicks = _named(columns, publishers["publisherid"], days, first, salt)
    if not as_frame:
        return clicks, publishers
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "make_click_fraud returns DataFrames of pandas, which is not installed; "
            "as_frame=False returns dicts of arrays."
        ) from error
    return pd.DataFrame(clicks), pd.DataFrame(publishers)


def _first_day(start: Any) -> np.datetime64:
    try:
        first = np.datetime64(start, "s")
    except (TypeError, ValueError) as error:
        raise ValueError(f"start must be a day such as '2012-02-09'; got {start!r}.") from error
    if np.isnat(first):
        raise ValueError(f"start must be a day such as '2012-02-09'; got {start!r}.")
    return first


def _pieces(
    rng: np.random.RandomState,
    kinds: NDArray[Any],
    members: tuple[NDArray[Any], NDArray[Any]],
    volume: NDArray[np.int64],
    days: int,
    drift: float,
    salt: int,
) -> list[Columns]:
    """Return honest clicks and those of each archetype, in full and in a weak version."""
    volume, tasks = volume.copy(), []
    honest = volume.copy()
    slow = int(days * 86_400 / (np.mean(SLOW) * (1.0 + drift)))
    hidden = [name for name in ARCHETYPES if name != "stealth"]
    for own, strong in zip(members, (True, False)):
        share = rng.uniform(0.6, 0.9, len(own)) if strong else rng.uniform(0.1, 0.3, len(own))
        share *= 1 - 0.5 * drift
        share[kinds == "stealth"] = 0.2 if strong else 0.05
        shown = np.where(kinds == "stealth", rng.choice(hidden, len(own)), kinds)
        false = np.round(volume[own] * share).astype(np.int64)
        late = (shown == "rotator") & (false > slow)  # more than the window has room for
        false[late] = slow
        volume[own[late]] = np.round(slow / share[late])
        honest[own] = volume[own] - false
        for kind in hidden:
            rows = shown == kind
            tasks.append((kind, np.repeat(own[rows], false[rows])))
    owner = np.repeat(np.arange(len(volume)), honest)
    pieces = [_honest(rng, owner, volume, days, salt)]
    pieces += [_fraud(rng, kind, rows, days, drift, salt) for kind, rows in tasks if len(rows)]
    return pieces


def _publishers(rng: np.random.RandomState, archetype: NDArray[Any], salt: int) -> Columns:
    n = len(archetype)
    status = np.full(n, "OK", dtype=object)
    weak = np.array([kind.startswith("weak") for kind in archetype])
    bad = (archetype != "honest") & ~weak
    status[bad], status[weak] = "Fraud", "Observation"
    wrong = np.flatnonzero(bad)[rng.uniform(size=int(bad.sum())) < MISLABELLED]
    status[wrong] = "OK"
    honest = np.flatnonzero(archetype == "honest")
    status[rng.choice(honest, min(len(wrong), len(honest)), replace=False)] = "Fraud"
    names = np.array([f"8{np.base_repr(36**3 + k, 36).lower()}" for k in range(n)], dtype=object)
    publishers = {"publisherid": names}
    for k, name in enumerate(("bankaccount", "address")):
        text = np.array([f"{name[0]}{own:x}" for own in range(n)], dtype=object)
        text[_uniform(salt, 31 + k, np.arange(n)) < 0.5] = None
        publishers[name] = text
    return publishers | {"status": status, "archetype": archetype}


def _named(
    columns: Columns, names: NDArray[Any], days: int, first: np.datetime64, salt: int
) -> Columns:
    """Return clicks by time, with words in place of numbers."""
    inside = columns["time"] < days * 86_400
    order = np.flatnonzero(inside)[np.argsort(columns["time"][inside], kind="stable")]
    sorted_ = {name: values[order] for name, values in columns.items()}
    owner = sorted_["owner"]
    pages, page = np.unique(sorted_["url"], return_inverse=True)
    urls = np.array([None if url < 0 else f"{url:012x}" for url in pages], dtype=object)
    campaigns = np.array([f"8g{k:03x}" for k in range(N_CAMPAIGNS)], dtype=object)
    return {
        "id": np.arange(13_417_867, 13_417_867 + len(order)),
        "numericip": sorted_["ip"].astype(np.int64),
        "deviceua": np.array([*DEVICES, None], dtype=object)[sorted_["device"]],
        "publisherid": names[owner],
        "campaignid": campaigns[sorted_["campaign"]],
        "usercountry": np.array([*COUNTRIES, None], dtype=object)[sorted_["country"]],
        "clicktime": first + sorted_["time"].astype("timedelta64[s]"),
        "referredurl": urls[page.ravel()],
        "channel": np.array(CHANNELS, dtype=object)[_channels(len(names), salt)][owner],
    }
