"""Reading logs: pieces, windows, labels, and what is refused."""

import numpy as np
import pytest

from octavo.linear import ClickLog, EventFeatures, larc257


def table(n=4, **more):
    return {
        "publisherid": ["a", "b"] * (n // 2),
        "numericip": np.arange(n),
        "clicktime": np.datetime64("2012-02-09T10:00:00") + np.arange(n) * np.timedelta64(1, "h"),
    } | more


def test_times_of_every_kind_are_the_same():
    pd = pytest.importorskip("pandas")
    times = table()["clicktime"]
    kinds = [
        times,
        times.astype(str),
        times.astype(np.int64),
        pd.Series(times),
        pd.Series(times).dt.tz_localize("Asia/Singapore"),  # the clock on the wall
        list(pd.Series(times)),
    ]
    for kind in kinds:
        log = ClickLog.from_frame(table(clicktime=kind))
        np.testing.assert_array_equal(np.sort(log.time), times.astype(np.int64))


def test_names_may_be_mapped_either_way():
    given = table()
    given["partner"] = given.pop("publisherid")
    for mapping in ({"publisherid": "partner"}, {"partner": "publisherid"}):
        assert len(ClickLog.from_frame(given, mapping=mapping).entities) == 2
    with pytest.raises(ValueError, match="lacks publisherid"):
        ClickLog.from_frame(given)
    with pytest.raises(ValueError, match="mapping must name fields"):
        ClickLog.from_frame(given, mapping={"x": "y"})


def test_polars_frames():
    pl = pytest.importorskip("polars")
    clicks = table(deviceua=["x", None, "x", "y"])
    ours = ClickLog.from_frame(clicks)
    times = np.asarray(clicks["clicktime"], dtype="datetime64[ms]")  # polars has no seconds
    theirs = ClickLog.from_frame(pl.DataFrame({**clicks, "clicktime": times}))
    np.testing.assert_array_equal(ours.time, theirs.time)
    np.testing.assert_array_equal(ours.columns["deviceua"].codes, theirs.columns["deviceua"].codes)


def test_without_pandas_the_numbers_are_the_same(monkeypatch):
    import builtins

    clicks = table(8, deviceua=["x", None, "", "y"] * 2, referredurl=["u", "v"] * 4)
    families = EventFeatures()
    log = ClickLog.from_frame(clicks)
    ours = families.fit(log).to_array(log)
    real = builtins.__import__

    def block(name, *args, **kwargs):
        if name.split(".")[0] == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", block)
    log = ClickLog.from_frame(clicks)
    np.testing.assert_array_equal(families.fit(log).to_array(log), ours)
    with pytest.raises(ImportError, match="to_array"):
        families.transform(log)


def test_window():
    log = ClickLog.from_frame(table())
    part = log.window("2012-02-09 11:00", "2012-02-09 13:00")
    assert len(part) == 2
    assert part.end - part.start == 7200
    assert list(log.window("2012-02-09 10:00", "2012-02-09 11:00").entities) == ["a"]
    listed = ClickLog.from_frame(table(), {"publisherid": ["c", "a", "b"]})
    early = listed.window("2012-02-09 10:00", "2012-02-09 11:00")
    assert list(early.entities) == ["c", "a", "b"]
    np.testing.assert_array_equal(np.diff(early.offsets), [0, 1, 0])
    with pytest.raises(ValueError, match="before end"):
        log.window("2012-02-10", "2012-02-09")
    with pytest.raises(ValueError, match="no entity"):
        larc257().fit(log.window("2013-01-01", "2013-01-02"))


def test_labels():
    publishers = {"publisherid": ["a", "b", "c"], "status": ["OK", "Fraud", "Observation"]}
    log = ClickLog.from_frame(table(), publishers)
    np.testing.assert_array_equal(log.labels(), [0, 1, 0])
    np.testing.assert_array_equal(log.labels("fraud"), [0, 1, 1])
    assert log.labels("class").tolist() == ["ok", "fraud", "observation"]
    with pytest.raises(ValueError, match="observation must be"):
        log.labels("maybe")
    with pytest.raises(ValueError, match="no status"):
        ClickLog.from_frame(table()).labels()
    with pytest.raises(ValueError, match="not known of 1 entities"):
        ClickLog.from_frame(table(), {"publisherid": ["a"], "status": ["OK"]}).labels()


def test_categories_that_training_did_not_know_are_other():
    train = ClickLog.from_frame(table(usercountry=["in", "us", "in", "us"], channel=["ad"] * 4))
    later = ClickLog.from_frame(table(usercountry=["zz"] * 4, channel=["new"] * 4))
    model = larc257(scale=False).fit(train)
    names, values = list(model.get_feature_names_out()), model.to_array(later)
    assert (values[:, names.index("country_other_fraction")] == 1).all()
    assert (values[:, names.index("channel_other")] == 1).all()
    assert values.shape[1] == 257


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"numericip": np.arange(4.0)}, "floats, which lose"),
        ({"numericip": [1, 2, 3, -4]}, "between 0 and"),
        ({"numericip": ["x", "1", "2", "3"]}, "got 'x'"),
        ({"id": [1, 2, 2, 3]}, "id must be different"),
        ({"id": ["u", "v", "v", "w"]}, "such as 'v'"),
        ({"clicktime": ["banana"] * 4}, "no time"),
        ({"clicktime": np.arange(4.0)}, "clicktime must be dates"),
        ({"clicktime": [None] * 4}, "clicktime"),
        ({"publisherid": ["a", None, "b", "a"]}, "publisherid must not be missing"),
        ({"deviceua": ["x"]}, "differ in length"),
        ({"deviceua": [["x"]] * 4}, "hashable"),
    ],
)
def test_bad_columns(changed, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ClickLog.from_frame(table(**changed))


def test_bad_tables():
    with pytest.raises(TypeError, match="DataFrame or a dict"):
        ClickLog.from_frame(3)
    with pytest.raises(ValueError, match="got none"):
        ClickLog.from_chunks([])
    with pytest.raises(ValueError, match="1 are repeated"):
        ClickLog.from_frame(table(), {"publisherid": ["a", "a"]})
    for nobody in (None, float("nan"), ""):
        with pytest.raises(ValueError, match="publisherid must not be missing; it is in 1 pub"):
            ClickLog.from_frame(table(), {"publisherid": ["a", nobody]})
    with pytest.raises(ValueError, match="OK, Observation or Fraud"):
        ClickLog.from_frame(table(), {"publisherid": ["a"], "status": ["fine"]})
    assert ClickLog.from_frame(table(numericip=["1.2.3.4", "9", "9", "9"])).columns[
        "numericip"
    ].values.tolist() == [9, 16909060]
