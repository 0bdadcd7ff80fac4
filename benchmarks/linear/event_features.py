"""EventFeatures beside a groupby version of the same features in pandas."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd

from benchmarks.harness import Contest
from octavo.data import make_click_fraud
from octavo.linear import ClickLog, larc257

# Publishers of the log; a thousand clicks each. A smaller number makes a trial run.
PUBLISHERS = int(os.environ.get("OCTAVO_BENCH_PUBLISHERS", "3000"))
FIELDS = ("numericip", "campaignid", "deviceua", "usercountry", "referredurl")


def clicks_of(n):
    clicks, publishers = make_click_fraud(n, 3, random_state=0)
    return {"clicks": clicks, "publishers": publishers}


def octavo_features(d):
    log = ClickLog.from_frame(d["clicks"], d["publishers"])
    return larc257(scale=False).fit_transform(log)


def ready_clicks_of(n):
    """Return the log after a small one has gone through both: kernels compile, imports end."""
    small = clicks_of(60)
    octavo_features(small)
    pandas_features(small)
    return clicks_of(n)


def six(values):
    """Statistics of the nonzero entries of each publisher's series, by one groupby."""
    found = values[values != 0].groupby(level=0)
    squares = (values[values != 0] ** 2).groupby(level=0).sum()
    return [
        found.size(), found.mean(), found.max(), found.sum(), squares, found.std(ddof=0)
    ]  # fmt: skip


def eighteen(values, n_bins):
    """The same for the series, its rises and its falls; bins without clicks are zero."""
    columns = six(values)
    publisher, minute = (values.index.get_level_values(k) for k in (0, 1))
    frame = pd.DataFrame({"p": publisher, "m": minute, "v": values.to_numpy(dtype=float)})
    after = frame.assign(m=frame.m + 1).rename(columns={"v": "before"})
    both = frame.merge(after, on=["p", "m"], how="outer").fillna(0.0)
    both = both[(both.m > 0) & (both.m < n_bins)]
    step = (both.v - both.before).set_axis(pd.MultiIndex.from_arrays([both.p, both.m]))
    return columns + six(step.clip(lower=0)) + six((-step).clip(lower=0))


def pandas_features(d):
    """The 216 series and five ratios of LARC by groupby, vectorised over publishers."""
    clicks = d["clicks"]
    start = clicks.clicktime.min().floor("D")
    n_bins = int((clicks.clicktime.max().floor("D") - start).days + 1) * 1440
    minute = (clicks.clicktime - start) // pd.Timedelta("1min")
    grouped = clicks.groupby([clicks.publisherid, minute])
    count = grouped.size()
    columns = eighteen(count, n_bins)
    ratios = []
    for field in FIELDS:
        distinct = grouped[field].nunique()
        columns += eighteen(distinct, n_bins)
        per = (count / distinct.where(distinct > 0)).fillna(0.0)
        columns += eighteen(per, n_bins)
        own = clicks.groupby("publisherid")
        kinds = own[field].nunique()
        ratios.append((own.size() / kinds.where(kinds > 0)).fillna(0.0))
    columns += gap_columns(clicks)
    countries = pd.crosstab(clicks.publisherid, clicks.usercountry, normalize="index")
    index = d["publishers"].publisherid
    wide = pd.concat([*ratios, *columns], axis=1).reindex(index).fillna(0.0)
    return pd.concat([wide, countries.reindex(index).fillna(0.0)], axis=1)


def gap_columns(clicks):
    ordered = clicks.sort_values(["publisherid", "clicktime"], kind="stable")
    gap = ordered.groupby("publisherid").clicktime.diff().dt.total_seconds()
    step = gap.groupby(ordered.publisherid).diff()

    def indexed(values):
        kept = values.dropna()
        return kept.set_axis(
            pd.MultiIndex.from_arrays([ordered.publisherid[kept.index], kept.index])
        )

    return (
        six(indexed(gap)) + six(indexed(step).clip(lower=0)) + six((-indexed(step)).clip(lower=0))
    )


def same_series(d, answers):
    ours, theirs = answers["octavo"].to_numpy(), answers["pandas groupby"].to_numpy()
    worst = float(np.max(np.abs(ours[:, :5] - theirs[:, :5]) / np.maximum(theirs[:, :5], 1)))
    series, wanted = ours[:, 41:], theirs[:, 5 : 5 + 216]
    scale = np.maximum(np.abs(wanted), 1.0)
    worst = max(worst, float(np.max(np.abs(series - wanted) / scale)))
    assert worst < 1e-6, worst
    return f"221 columns agree to {worst:.1e}."


CONTESTS = [
    Contest(
        name="larc257",
        problem=f"257 features of {PUBLISHERS:,} publishers from a DataFrame of about "
        f"{PUBLISHERS // 1000} million clicks, one core",
        setup=lambda: ready_clicks_of(PUBLISHERS),
        solvers={"octavo": octavo_features, "pandas groupby": pandas_features},
        agree=same_series,
        repeats=1,
        warm=False,
        target="Aim: 8 s, and 20 times a groupby version.",
        limit="reading the table, three fifths of the time: hashing its strings, sorting "
        "addresses and rows",
    ),
]
