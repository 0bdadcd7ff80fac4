"""Each feature is its plain definition, on random logs and on the paper's worked tables."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from octavo.linear import (  # noqa: E402
    ClickLog,
    EventFeatures,
    click_gaps,
    db2,
    gbm118,
    larc257,
    masdar41,
    tea,
)
from tests.linear.event_features import plain  # noqa: E402

SEEDS = (0, 1, 2)
close = {"rtol": 1e-11, "atol": 1e-9}  # running sums against two passes of a few hundred numbers


def features(preset, clicks, publishers=None):
    log = ClickLog.from_frame(clicks, publishers)
    return preset.fit(log).transform(log), log


@pytest.mark.parametrize("seed", SEEDS)
def test_larc_series(seed):
    clicks = plain.random_clicks(seed)
    X, _ = features(larc257(scale=False), clicks)
    assert X.shape[1] == 257
    start = clicks.clicktime.min().floor("D")
    for publisher, own in clicks.groupby("publisherid"):
        np.testing.assert_allclose(
            X.loc[publisher].to_numpy()[41:], plain.larc_series(own, start, 4320), **close
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_larc_basic_and_spatial(seed):
    clicks = plain.random_clicks(seed)
    publishers = {
        "publisherid": ["p0", "p9"],
        "bankaccount": ["x", None],
        "address": [float("nan"), ""],
        "status": ["OK", "Fraud"],
    }
    X, _ = features(larc257(scale=False), clicks, publishers)
    assert not X.loc["p9"].any()  # listed, without a click
    assert X.loc["p0", "nonempty_bankaccount"] == 1
    assert not X["nonempty_address"].any()
    for publisher, own in clicks.groupby("publisherid"):
        row = X.loc[publisher]
        names = ("visitor", "ad", "deviceua", "country", "referredurl")
        for name, field in zip(names, plain.FIELDS):
            assert row[f"click_per_{name}"] == len(own) / own[field].nunique()
        channel = own.channel.value_counts().sort_index().idxmax()
        flags = row[[c for c in X if c.startswith("channel_")]]
        assert flags.sum() == 1
        assert flags[f"channel_{channel}"] == 1
        for country in own.usercountry.dropna().unique():
            share = (own.usercountry == country).mean()
            np.testing.assert_allclose(row[f"country_{country}_fraction"], share)
        for field, name in (("usercountry", "country"), ("referredurl",) * 2, ("deviceua",) * 2):
            np.testing.assert_allclose(row[f"{name}_missing_fraction"], own[field].isna().mean())


def test_gap_series_of_a_publisher_without_two_clicks_is_zero():
    clicks = plain.random_clicks(0, n=1)
    X, _ = features(larc257(scale=False), clicks)
    assert not X.filter(like="gap_").to_numpy().any()


@pytest.mark.parametrize("seed", SEEDS)
def test_db2(seed):
    clicks = plain.random_clicks(seed)
    X, _ = features(db2(), clicks)
    keys = {
        "IP": ["numericip"],
        "sip": ["sip"],
        "sip2": ["sip2"],
        "campaignid": ["campaignid"],
        "ip_ag": ["numericip", "deviceua"],
    }
    for publisher, own in clicks.groupby("publisherid"):
        row = X.loc[publisher]
        for name, fields in keys.items():
            for grain, floor in (("sec", "s"), ("min", "min"), ("hour", "h"), ("day", "D")):
                count = plain.key_counts(own, fields, floor)
                got = [row[f"{s}_{name}_{grain}"] for s in ("avg", "std", "count")]
                wanted = [count.mean(), count.std(), count[count > 2].sum()]
                np.testing.assert_allclose(got, wanted, **close)
        np.testing.assert_allclose(row[["deviceua1", "deviceua2"]], plain.device_runs(own))
        assert row["unique_count(country)"] == own.usercountry.nunique()
        assert row["total_visit"] == len(own)


@pytest.mark.parametrize("seed", SEEDS)
def test_tea(seed):
    clicks = plain.random_clicks(seed, n=900, n_publishers=2, missing=0.05)
    X, _ = features(tea(), clicks)
    for publisher, own in clicks.groupby("publisherid"):
        found, redflag = plain.tea(own)
        for name, wanted in found.items():
            columns = [f"{name}_0_5", f"{name}_5_10"]
            columns += [f"{name}_{a}_{a + 10}" for a in range(10, 300, 10)]
            got = X.loc[publisher, [*columns, f"{name}_300_inf"]]
            np.testing.assert_array_equal(got, wanted)
        assert X.loc[publisher, "redflag"] == redflag
        assert X.loc[publisher, "n_ip_parts_16"] == (own.numericip // 65536).nunique()
    assert X.redflag.sum() > 0
    none, _ = features(tea(max_sources=0), clicks)
    assert not none.filter(regex="^long|redflag").to_numpy().any()


@pytest.mark.parametrize("seed", SEEDS)
def test_masdar(seed):
    stats = pytest.importorskip("scipy.stats")
    clicks = plain.random_clicks(seed)
    publishers = pd.DataFrame({"publisherid": [f"p{k}" for k in range(6)]})
    publishers["status"] = ["OK", "Fraud", "OK", "Observation", "Fraud", "OK"]
    log = ClickLog.from_frame(clicks, publishers)
    model = masdar41().fit(log)
    X = model.transform(log)
    assert X.shape[1] == 41
    for publisher, own in clicks.groupby("publisherid"):
        row = X.loc[publisher]
        for name, floor in (("1min", "min"), ("3hour", "3h"), ("6hour", "6h")):
            count = own.groupby(own.clicktime.dt.floor(floor)).size().to_numpy()
            got = [row[f"{s}Clicks_{name}"] for s in ("Max", "Avg", "Var", "Skewness")]
            skew = stats.skew(count) if count.std() > 0 else 0.0
            np.testing.assert_allclose(got, [count.max(), count.mean(), count.var(), skew], **close)
        for name, field in (("IP", "numericip"), ("Campaign", "campaignid")):
            count = own.groupby(field, dropna=False).size().to_numpy()
            np.testing.assert_allclose(row[f"MaxSame{name}Clicks"], count.max())
            np.testing.assert_allclose(row[f"VarSame{name}Clicks"], count.var(), **close)
            entropy = stats.entropy(count)
            np.testing.assert_allclose(row[f"EntropySame{name}Clicks"], entropy, **close)
        np.testing.assert_allclose(row.ReferrerOverClickRatio, own.referredurl.notna().mean())


def test_the_channel_prior_is_out_of_fold_where_a_model_is_trained():
    """A channel with one publisher must not give its label away."""
    clicks = pd.DataFrame({"publisherid": [f"p{k:02d}" for k in range(20)]})
    clicks["numericip"] = 1
    clicks["clicktime"] = np.datetime64("2012-02-09", "s")
    clicks["channel"] = ["rare"] + ["ad"] * 19
    publishers = pd.DataFrame({"publisherid": clicks.publisherid})
    publishers["status"] = ["Fraud"] + ["OK"] * 14 + ["Fraud"] * 5
    log = ClickLog.from_frame(clicks, publishers)
    model = masdar41()
    train = model.fit_transform(log).ChannelPrior
    assert train["p00"] < 0.5  # what the other folds have: no "rare" at all
    assert model.transform(log).ChannelPrior["p00"] == 1.0
    np.testing.assert_allclose(model.transform(log).ChannelPrior["p01"], 5 / 19)


@pytest.mark.parametrize("seed", SEEDS)
def test_behavior_and_spiky(seed):
    clicks = plain.random_clicks(seed)
    X, _ = features(gbm118(), clicks)
    for publisher, own in clicks.groupby("publisherid"):
        row, hour = X.loc[publisher], own.clicktime.dt.hour
        for suffix, floor in (("", "min"), ("_per_hour", "h"), ("_per_day", "D")):
            grouped = own.groupby(own.clicktime.dt.floor(floor))
            for name, values in (
                ("total_clicks", grouped.size()),
                ("distinct_referredurl", grouped.referredurl.nunique()),
                ("distinct_numericip", grouped.numericip.nunique()),
            ):
                np.testing.assert_allclose(row[f"avg_{name}{suffix}"], values.mean(), **close)
                np.testing.assert_allclose(row[f"std_{name}{suffix}"], values.std(ddof=0), **close)
        night = own[hour < 6]
        np.testing.assert_allclose(row.night_click_percent, len(night) / len(own))
        np.testing.assert_allclose(
            row.night_referredurl_percent, night.referredurl.nunique() / own.referredurl.nunique()
        )
        np.testing.assert_allclose(
            row.second_15_minute_percent, (own.clicktime.dt.minute // 15 == 1).mean()
        )
        density = np.bincount(hour, minlength=24) / len(own)
        np.testing.assert_allclose(row.std_per_hour_density, density.std())
        every = ["referredurl", "deviceua", "usercountry", "numericip", "campaignid"]
        for name, fields in (("numericip", ["numericip"]), ("ReAgCnIpCi", every)):
            count = plain.key_counts(own, fields, "min")
            np.testing.assert_allclose(row[f"avg_spiky_{name}"], count.mean(), **close)
            np.testing.assert_allclose(row[f"std_spiky_{name}"], count.std(), **close)
        late = plain.key_counts(night, ["referredurl"], "min")
        wanted = late.mean() if len(late) else 0.0
        np.testing.assert_allclose(row.night_avg_spiky_referredurl, wanted, **close)
        np.testing.assert_allclose(
            row.brand_Nokia_percent, own.deviceua.fillna("").str.startswith("Nokia").mean()
        )


# --- the paper's worked tables -----------------------------------------------------------------


def test_table_13():
    clicks = {
        "publisherid": ["8kxij"] * 5,
        "numericip": [2_919_155_822] * 5,
        "deviceua": ["Nokia X6"] * 5,
        "campaignid": ["8gava", "8gava", "8gghw", "8gghw", "8gava"],
        "clicktime": [f"2012-02-09 07:23:{s}" for s in (13, 13, 13, 19, 19)],
    }
    X, _ = features(db2(), clicks)
    row = X.loc["8kxij"]
    assert (row.avg_IP_min, row.std_IP_min, row.count_IP_min) == (5, 0, 5)
    assert (row.avg_IP_sec, row.std_IP_sec, row.count_IP_sec) == (2.5, 0.5, 3)


TABLE_16 = "02:55:50 02:56:36 03:53:12 04:49:42 04:51:58 05:33:51 06:30:02 07:09:23 07:31:21 "
TABLE_16 += "07:53:16 07:55:14"


def test_table_16():
    clicks = {
        "publisherid": ["8jk0d"] * 11,
        "numericip": range(11),
        "deviceua": ["MSIE_6.0"] * 4 + ["Nokia2600c"] + ["MSIE_6.0"] * 6,
        "clicktime": [f"2012-02-11 {time}" for time in TABLE_16.split()],
    }
    X, _ = features(db2(), clicks)
    assert X.loc["8jk0d", "deviceua1"] == 8 / 11
    assert X.loc["8jk0d", "deviceua2"] == 9 / 11


TABLE_21 = """
09 08:53:21 2494 0 0\n09 09:02:01 2494 1 520\n09 09:02:30 2494 1 29\n09 09:59:33 2494 1 3423
09 10:18:31 2494 1 1138\n09 10:23:32 14qh 0 301\n09 10:23:57 14qh 1 25\n09 10:25:42 2494 0 105
09 11:23:23 3gza 0 3461\n09 11:23:42 14qh 0 19\n09 11:24:50 14qh 1 68\n09 11:25:05 14qh 1 15
09 11:25:51 14qh 1 46\n09 11:28:31 14qh 1 160\n09 11:35:50 23ge 0 439\n09 11:50:32 23ge 1 882
10 10:18:52 3cu2 0 0\n10 10:33:56 4jye 0 904\n10 10:39:47 1rbl 0 351\n10 10:40:17 3cu2 0 30
10 10:52:51 3cu2 1 754\n11 10:34:38 1rbl 0 0\n11 13:01:12 1rbl 1 8794\n11 13:02:09 3cu2 0 57
11 13:02:38 3cu2 1 29
"""


def test_table_21():
    day, time, url, same, gap = zip(*(line.split() for line in TABLE_21.strip().splitlines()))
    clicks = {
        "publisherid": ["8ih09"] * 25,
        "numericip": [1] * 25,
        "clicktime": [f"2012-02-{d} {t}" for d, t in zip(day, time)],
        "referredurl": url,
    }
    log = ClickLog.from_frame(clicks)
    gaps = click_gaps(log)
    np.testing.assert_array_equal(gaps.gap, np.array(gap, dtype=int))
    np.testing.assert_array_equal(gaps.same_url, np.array(same, dtype=int).astype(bool))
    X = tea().fit(log).transform(log).loc["8ih09"]
    assert X.long_10_20 == 2  # 19 and 15 seconds
    assert X.same_url_10_20 == 1  # the 19 seconds lead to another page
    assert X.redflag == 0


# --- properties --------------------------------------------------------------------------------

PRESETS = {
    "larc257": larc257(scale=False),
    "masdar41": masdar41(),
    "db2": db2(),
    "tea": tea(),
    "gbm118": gbm118(),
    "all": EventFeatures(),
}


@pytest.mark.filterwarnings("ignore:There are no labels")
@pytest.mark.parametrize("name", PRESETS)
def test_order_of_rows_and_chunks_do_not_matter(name):
    clicks = plain.random_clicks(5, n=400)
    whole, log = features(PRESETS[name], clicks)
    shuffled = clicks.sample(frac=1.0, random_state=0)
    pd.testing.assert_frame_equal(features(PRESETS[name], shuffled)[0], whole, check_exact=True)
    pieces = [shuffled.iloc[k::7] for k in range(7)]
    again = ClickLog.from_chunks(iter(pieces))
    pd.testing.assert_frame_equal(PRESETS[name].transform(again), whole, check_exact=True)
    parts = EventFeatures(**(PRESETS[name].get_params() | {"n_parts": 4})).fit(log)
    pd.testing.assert_frame_equal(parts.transform(log), whole, check_exact=True)


@pytest.mark.filterwarnings("ignore:There are no labels")
@pytest.mark.parametrize("name", PRESETS)
def test_another_publisher_changes_no_row(name):
    clicks = plain.random_clicks(6)
    _, log = features(PRESETS[name], clicks)
    fewer = ClickLog.from_frame(clicks[clicks.publisherid != "p2"])
    fewer = fewer.window("2012-02-09", "2012-02-12")
    some = PRESETS[name].transform(fewer)
    whole = PRESETS[name].transform(log.window("2012-02-09", "2012-02-12"))
    pd.testing.assert_frame_equal(some, whole.drop("p2"), check_exact=True)


def test_scaling_is_learned_on_the_training_log():
    train, other = plain.random_clicks(1), plain.random_clicks(2)
    X, _ = features(larc257(), train)
    assert X.to_numpy().min() == 0.0
    assert X.to_numpy().max() == 1.0
    model = larc257().fit(ClickLog.from_frame(train))
    plainly = larc257(scale=False).fit(ClickLog.from_frame(train))
    log = ClickLog.from_frame(other)
    span = model.data_max_ - model.data_min_
    wanted = (plainly.to_array(log) - model.data_min_) / np.where(span > 0, span, 1)
    np.testing.assert_allclose(model.transform(log), wanted)


def test_other_entities():
    clicks = plain.random_clicks(3, missing=0.0)
    log = ClickLog.from_frame(clicks)
    X = EventFeatures(families=("keys", "basic"), entity="campaignid").fit(log).transform(log)
    swapped = clicks.rename(columns={"publisherid": "campaignid", "campaignid": "publisherid"})
    Y, _ = features(EventFeatures(families=("keys",)), swapped)
    assert X.index.name == "campaignid"
    np.testing.assert_allclose(X["count_IP_min"], Y["count_IP_min"])
    np.testing.assert_allclose(X["total_visit"], clicks.groupby("campaignid").size())
