"""Families of features, each a function from a log to named columns with a row an entity.

Distinct values leave missing ones out; as keys of groups missing values are a category. Standard
deviations and variances are those of the population; what has no clicks is zero.

Reference: R. Oentaryo et al. (2014), Detecting click fraud in online advertising: a data mining
approach, Sections 3.1 to 7.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.arrays import Floats
from octavo.engine.event_logs.reductions import (
    STATISTICS,
    entropy_plugin,
    gap_series,
    moments,
    run_shares,
    series_summary,
)
from octavo.linear.event_features.profiles import profile_columns
from octavo.linear.event_features.views import (
    Learned,
    LogView,
    Settings,
    brand_of,
    channel_of_entities,
    ratio,
)

Columns = Iterator[tuple[str, NDArray[Any]]]
Family = Callable[[LogView, Learned, Settings], Columns]
QUARTERS = ("night", "morning", "afternoon", "evening")
COUNTED = {
    "visitor": "source",
    "ad": "campaignid",
    "deviceua": "deviceua",
    "country": "usercountry",
    "referredurl": "referredurl",
}


def basic(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Table 25(a): clicks per distinct value, channel, whether an account and an address exist."""
    for name, field in COUNTED.items():
        # Table 25(a): 5 of its 17
        yield f"click_per_{name}", ratio(view.n_clicks, view.distinct(field))
    yield from channels(view, learned, settings)
    for name in ("bankaccount", "address"):
        known = view.log.publishers.get(name)
        flag = np.zeros(len(view.n_clicks)) if known is None else known.astype(float)
        yield f"nonempty_{name}", flag


def channels(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """One column a channel; a channel that training did not know is "other", where there is one."""
    own = channel_of_entities(view)
    values = view.column("channel").values
    # Table 25(b): countries, others, missing
    places = {channel: k for k, channel in enumerate(learned.channels)}
    other = places.get("other", -1)
    column = np.array([*(places.get(value, other) for value in values), -1])[own]
    for k, channel in enumerate(learned.channels):
        yield f"channel_{channel}", (column == k).astype(float)


def _country_shares(view: LogView, countries: tuple[Any, ...]) -> Floats:
    """Return shares of the countries, of others, and of missing ones."""
    places = {country: k for k, country in enumerate(countries)}
    n = len(countries)
    values = view.column("usercountry").values
    column = np.array([*(places.get(value, n) for value in values), n + 1])
    return view.shares(column, "usercountry", n + 2)


def spatial(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Table 25(b): shares of clicks by country, and of clicks without country, URL or device."""
    found = _country_shares(view, learned.countries)
    for k, country in enumerate(learned.countries):
        yield f"country_{country}_fraction", found[:, k]
    yield "country_missing_fraction", found[:, -1]
    yield "country_other_fraction", found[:, -2]
    for field in ("referredurl", "deviceua"):
        yield f"{field}_missing_fraction", view.share_missing(field)


def timeseries(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Table 25(c): statistics of twelve series, of their rises and of their falls."""
    log, width = view.log, settings.bin_seconds
    _, own, bins = view.segments(width, log.start)
    n_bins = np.full(len(view.n_clicks), -(-(log.end - log.start) // width))
    # The grid of Section 7.1, whose zeros are left out
    clicks = view.clicks_in(width, log.start)[0].astype(float)
    yield from _summaries("click", series_summary(clicks, bins, own, n_bins))
    for name, field in COUNTED.items():
        distinct = view.distinct_in(field, width, log.start).astype(float)
        yield from _summaries(name, series_summary(distinct, bins, own, n_bins))
        per = ratio(clicks, distinct)
        yield from _summaries(f"click_per_{name}", series_summary(per, bins, own, n_bins))
    length = np.maximum(view.n_clicks - 1, 0)  # a gap interval series of length C - 1
    gaps = series_summary(*gap_series(view.offsets, log.time), length)
    yield from _summaries("gap", gaps)


def _summaries(name: str, found: Floats) -> Columns:
    # Section 7.1: 6 statistics of each series, of d⁺ and of d⁻ make 18.
    for k, part in enumerate(("series", "up", "down")):
        for j, statistic in enumerate(STATISTICS):
            yield f"{name}_{part}_{statistic}", found[:, k, j]


BEHAVIOR = ("referredurl", "deviceua", "numericip", "campaignid", "usercountry")
GRAINS = {"": 60, "_per_hour": 3600, "_per_day": 86_400}  # seconds of an interval


def _fields(settings: Settings) -> tuple[tuple[str, str], ...]:
    return tuple((name, "source" if name == "numericip" else name) for name in BEHAVIOR)


def behavior(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Section 3: clicks and distinct values per minute, hour and day, and parts of the day."""
    yield "total_clicks", view.n_clicks.astype(float)
    for name, field in _fields(settings):
        yield f"distinct_{name}", view.distinct(field).astype(float)
    for suffix, width in GRAINS.items():
        clicks, own = view.clicks_in(width)
        found = moments(clicks, own)
        yield f"avg_total_clicks{suffix}", found.mean
        yield f"std_total_clicks{suffix}", np.sqrt(found.variance)
        for name, field in _fields(settings):
            found = moments(view.distinct_in(field, width), own)
            yield f"avg_distinct_{name}{suffix}", found.mean
            yield f"std_distinct_{name}{suffix}", np.sqrt(found.variance)
    yield from _parts_of_day(view, settings)
    devices = view.column("deviceua").values
    places = {brand: k for k, brand in enumerate(learned.brands)}
    n = len(learned.brands)
    column = np.array([*(places.get(brand_of(device), n) for device in devices), n])
    found_shares = view.shares(column, "deviceua", n + 1)
    for k, brand in enumerate(learned.brands):
        yield f"brand_{brand}_percent", found_shares[:, k]


def _parts_of_day(view: LogView, settings: Settings) -> Columns:
    time, m = view.log.time, len(view.n_clicks)
    hour = time % 86_400 // 3600  # Section 3.3.1: night is 12am to 5:59am
    cell = view.log.entity.astype(np.int64) * 24 + hour
    density = ratio(np.bincount(cell, minlength=24 * m).reshape(m, 24), view.n_clicks[:, None])
    yield "std_per_hour_density", density.std(axis=1)
    for k, quarter in enumerate(QUARTERS):
        rows = hour // 6 == k
        yield f"{quarter}_click_percent", view.share(rows)
        entity = view.log.entity[rows].astype(np.int64)
        for name, field in _fields(settings):
            column = view.column(field)
            some = column.codes[rows] >= 0
            pairs = np.unique(entity[some] * max(column.size, 1) + column.codes[rows][some])
            count = np.bincount(pairs // max(column.size, 1), minlength=m)
            yield f"{quarter}_{name}_percent", ratio(count, view.distinct(field))
    # Quarters of an hour, from 0-14 minutes on
    for k, name in enumerate(("first", "second", "third", "last")):
        yield f"{name}_15_minute_percent", view.share(time % 3600 // 900 == k)


SPIKY = {
    "referredurl": ("referredurl",),
    "deviceua": ("deviceua",),
    "usercountry": ("usercountry",),
    "numericip": ("source",),
    "campaignid": ("campaignid",),
    "IpCi": ("source", "campaignid"),
    "ReAgCn": ("referredurl", "deviceua", "usercountry"),
    "ReAgCnIpCi": ("referredurl", "deviceua", "usercountry", "source", "campaignid"),
}


def spiky(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Section 3.3.1: how often the same values are repeated within a minute."""
    for name, fields in SPIKY.items():
        groups = view.groups(fields, settings.bin_seconds)
        found = moments(groups.counts, groups.offsets)
        yield f"avg_spiky_{name}", found.mean
        yield f"std_spiky_{name}", np.sqrt(found.variance)
        # The quarter of the day of each group
        quarter = view.log.time[groups.first] % 86_400 // 21_600
        for k, part in enumerate(QUARTERS):
            some = groups.where(quarter == k)
            yield f"{part}_avg_spiky_{name}", moments(some.counts, some.offsets).mean


def risk(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Section 3.3.1: shares of clicks from the countries that most fraudulent clicks come from."""
    found = _country_shares(view, learned.risk_countries)
    for k, country in enumerate(learned.risk_countries):
        yield f"usercountry_{country}_percent", found[:, k]
    yield "usercountry_other_percent", found[:, -2]


WINDOWS = {"1min": 60, "5min": 300, "1hour": 3600, "3hour": 10_800, "6hour": 21_600}


def windows(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Section 4.1.1: clicks per interval, over the intervals that have some."""
    for name, width in WINDOWS.items():  # Section 4.1.1
        found = moments(*view.clicks_in(width))
        yield f"MaxClicks_{name}", found.max
        yield f"AvgClicks_{name}", found.mean
        yield f"SkewnessClicks_{name}", found.skewness
        yield f"VarClicks_{name}", found.variance


def attributes(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Section 4.1.2 to 4.1.4: clicks by address, agent, country and campaign."""
    every = ("Max", "NoOf", "Over", "Entropy", "Var")
    for name, plural, field, wanted in (
        ("IP", "IPs", "source", every),
        ("Agent", "Agents", "deviceua", ("Max", "NoOf", "Var", "Skewness")),
        ("Country", "Countries", "usercountry", every),
        ("Campaign", "Campaigns", "campaignid", every),
    ):
        groups = view.groups((field,), None)
        found = moments(groups.counts, groups.offsets)
        columns = {
            "Max": (f"MaxSame{name}Clicks", found.max),
            # Table 10 says "number of clicks" and means the addresses.
            "NoOf": (f"NoOf{plural}", found.n.astype(float)),
            "Over": (f"ClickOver{name}Ratio", ratio(view.n_clicks, found.n)),
            "Entropy": (f"EntropySame{name}Clicks", entropy_plugin(groups.counts, groups.offsets)),
            "Var": (f"VarSame{name}Clicks", found.variance),
            "Skewness": (f"SkewnessSame{name}Clicks", found.skewness),
        }
        yield from (columns[kind] for kind in wanted)
    yield "ReferrerOverClickRatio", view.share(view.column("referredurl").codes >= 0)


def prior(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Section 4.1.4: the share of fraud among the publishers of a channel."""
    own = channel_of_entities(view)
    values = view.column("channel").values
    known = [learned.priors.get(value, learned.prior) for value in values]
    yield "ChannelPrior", np.array([*known, learned.priors.get(None, learned.prior)])[own]


KEYS = {
    "IP": ("source",),
    "sip": ("source//1000",),
    "sip2": ("source//1000000",),
    "campaignid": ("campaignid",),
    "ip_ag": ("source", "deviceua"),
}
KEY_GRAINS = {"sec": 1, "min": 60, "hour": 3600, "day": 86_400}


def keys(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Section 5.1: visits by key and grain of time, distinct values, and runs of one device."""
    for name, field in (
        ("numericip", "source"),
        ("country", "usercountry"),
        ("deviceua", "deviceua"),
        ("referredurl", "referredurl"),
        ("campaignid", "campaignid"),
    ):
        yield f"unique_count({name})", view.distinct(field).astype(float)
    yield "total_visit", view.n_clicks.astype(float)
    for key, fields in KEYS.items():
        for grain, width in KEY_GRAINS.items():
            groups = view.groups(fields, width)
            found = moments(groups.counts, groups.offsets, more_than=2)
            yield f"avg_{key}_{grain}", found.mean
            yield f"std_{key}_{grain}", np.sqrt(found.variance)
            yield f"count_{key}_{grain}", found.over  # Table 14: counts larger than 2 add up
    by_time, by_code = run_shares(view.offsets, view.log.time, *view.key("deviceua"))
    yield "deviceua1", by_time  # Table 16
    yield "deviceua2", by_code


def sources(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Section 6.1: clicks, clicks of the busiest address, distinct addresses and their parts."""
    groups = view.groups(("source",), None)
    yield "n_clicks", view.n_clicks.astype(float)
    yield "max_clicks_same_ip", moments(groups.counts, groups.offsets).max
    yield "n_ips", view.distinct("source").astype(float)
    for bits in (8, 16, 24):
        parts = view.groups((f"source//{1 << bits}",), None)
        yield f"n_ip_parts_{bits}", np.diff(parts.offsets).astype(float)
    for field in ("deviceua", "campaignid", "usercountry"):
        yield f"n_{field}", view.distinct(field).astype(float)


def profiles(view: LogView, learned: Learned, settings: Settings) -> Columns:
    """Section 6.1.1 to 6.1.5: gaps between clicks of one address, and the red flag."""
    yield from profile_columns(view, settings.max_sources)


FAMILIES: dict[str, Family] = {
    "basic": basic,
    "channels": channels,
    "spatial": spatial,
    "timeseries": timeseries,
    "behavior": behavior,
    "spiky": spiky,
    "risk": risk,
    "windows": windows,
    "attributes": attributes,
    "prior": prior,
    "keys": keys,
    "sources": sources,
    "profiles": profiles,
}
