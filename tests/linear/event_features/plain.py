"""Plain definitions of the features, a publisher at a time, with pandas and loops."""

import itertools

import numpy as np
import pandas as pd

FIELDS = ("numericip", "campaignid", "deviceua", "usercountry", "referredurl")


def random_clicks(seed, n=300, n_publishers=6, days=3, missing=0.2):
    rng = np.random.default_rng(seed)
    start = np.datetime64("2012-02-09T00:00:00", "s")
    # Some clicks crowd into a few minutes and some lie in the first and the last bin.
    time = rng.integers(0, days * 86_400, n)
    crowd = rng.random(n) < 0.6
    time[crowd] = rng.choice([0, 30_000, 100_000, days * 86_400 - 90], crowd.sum())
    time[crowd] += rng.integers(0, 90, crowd.sum())

    def column(name, k):
        values = np.array([f"{name}_{j}" for j in range(k)], dtype=object)[rng.integers(0, k, n)]
        values[rng.random(n) < missing] = None
        return values

    return pd.DataFrame(
        {
            "id": np.arange(n),
            "publisherid": np.array([f"p{j}" for j in range(n_publishers)])[
                rng.integers(0, n_publishers, n)
            ],
            "numericip": 1_917_850_000 + rng.choice([0, 3, 900, 1500, 2_000_000], n),
            "deviceua": column("Nokia", 4),
            "campaignid": column("c", 3),
            "usercountry": column("k", 5),
            "clicktime": start + time,
            "referredurl": column("u", 3),
            "channel": np.array(["ad", "co", "es"])[rng.integers(0, 3, n)],
        }
    )


def six(values):
    """Statistics of the nonzero entries."""
    v = np.asarray(values, dtype=float)
    v = v[v != 0]
    if not len(v):
        return [0.0] * 6
    return [len(v), v.mean(), v.max(), v.sum(), (v**2).sum(), v.std()]


def eighteen(series):
    step = np.diff(np.asarray(series, dtype=float))
    return [*six(series), *six(step[step > 0]), *six(-step[step < 0])]


def larc_series(clicks, start, n_minutes):
    """The twelve series of one publisher, zero-filled, in the order of the columns."""
    minute = ((clicks.clicktime - start) // pd.Timedelta("1min")).to_numpy()

    def filled(counted):
        out = np.zeros(n_minutes)
        out[counted.index] = counted.to_numpy()
        return out

    grouped = clicks.groupby(minute)
    count = filled(grouped.size())
    found = [count]
    for field in FIELDS:
        distinct = filled(grouped[field].nunique())
        found += [distinct, np.divide(count, distinct, out=np.zeros(n_minutes), where=distinct > 0)]
    gaps = np.diff(np.sort(clicks.clicktime.to_numpy())) / np.timedelta64(1, "s")
    return np.concatenate([eighteen(series) for series in (*found, gaps)])


def key_counts(clicks, keys, grain):
    """Clicks by key and grain of time, missing values a category."""
    filled = clicks.assign(bin=clicks.clicktime.dt.floor(grain), one=1)
    filled["sip"] = filled.numericip // 1000
    filled["sip2"] = filled.numericip // 1_000_000
    return filled.groupby([*keys, "bin"], dropna=False).size().to_numpy()


def device_runs(clicks):
    """Shares of rows whose next row has the same device: by time and device, by device."""
    filled = clicks.assign(deviceua=clicks.deviceua.fillna("~"))
    out = []
    for order in (["clicktime", "deviceua"], ["deviceua"]):
        device = filled.sort_values(order).deviceua.to_numpy()
        out.append((device[1:] == device[:-1]).sum() / len(device))
    return out


def gap_bin(gap):
    if gap < 5:
        return 0
    return 1 if gap < 10 else min(int(gap // 10) + 1, 31)


def tea(clicks):
    """Histograms (long, short, same URL) and the red flag of one publisher."""
    found = {name: np.zeros(32) for name in ("long", "short", "same_url")}
    redflag = 0
    for _, own in clicks.groupby("numericip"):
        quick = {}
        own = own.sort_values(["clicktime", "referredurl"], na_position="first")
        for _, day in own.groupby(own.clicktime.dt.date):
            rows = list(zip(day.clicktime, day.referredurl))
            for (before, url_before), (after, url) in itertools.pairwise(rows):
                gap = (after - before).total_seconds()
                k = gap_bin(gap)
                found["long"][k] += len(own) >= 10
                found["short"][k] += len(own) >= 5
                if url is not None and url == url_before:
                    found["same_url"][k] += len(own) >= 5
                    quick[url] = quick.get(url, 0) + (gap < 20)
        redflag += sum(count >= 5 for count in quick.values())
    return found, redflag
