"""Simulated publishers do what their archetypes promise."""

import numpy as np
import pytest

from octavo.data import make_click_fraud


@pytest.fixture(scope="module")
def simulated():
    mix = dict.fromkeys(("burst", "rotator", "farm", "hammer", "stealth"), 0.04)
    return make_click_fraud(250, 3, mix, random_state=3, as_frame=False)


def of(simulated, archetype):
    """Yield the clicks of each publisher of an archetype."""
    clicks, publishers = simulated
    owner = clicks["publisherid"].astype(str)
    names = publishers["publisherid"][publishers["archetype"] == archetype]
    assert len(names) == (150 if archetype == "honest" else 10)  # 4 % each, and 4 % weak
    for name in names:
        yield {field: values[owner == name] for field, values in clicks.items()}


def test_rotators_wait_20_to_60_minutes_on_one_device(simulated):
    for clicks in of(simulated, "rotator"):
        network = clicks["numericip"] // 65_536
        networks, sizes = np.unique(network, return_counts=True)
        own = network == networks[sizes.argmax()]
        assert own.mean() > 0.5, "most clicks are of one /16"
        assert len(set(clicks["deviceua"][own])) == 1
        gaps = np.diff(clicks["clicktime"][own]).astype(int)
        assert gaps.min() >= 1199
        assert gaps.max() <= 3600


def test_bursts_have_gaps_below_five_seconds(simulated):
    for clicks in of(simulated, "burst"):
        order = np.lexsort((clicks["clicktime"], clicks["numericip"]))
        same = np.diff(clicks["numericip"][order]) == 0
        gaps = np.diff(clicks["clicktime"][order]).astype(int)[same]
        assert (gaps <= 5).mean() > 0.5


def test_farms_are_of_a_risky_country_without_referrer(simulated):
    for clicks in of(simulated, "farm"):
        risky = np.isin(clicks["usercountry"].astype(str), ["id", "ng"])
        assert risky.mean() > 0.5
        assert np.equal(clicks["referredurl"], None)[risky].mean() > 0.6


def test_hammers_click_on_one_campaign(simulated):
    for clicks in of(simulated, "hammer"):
        _, sizes = np.unique(clicks["campaignid"].astype(str), return_counts=True)
        assert sizes.max() > 0.5 * sizes.sum()


def test_honest_publishers_of_a_channel_share_their_mix_of_countries(simulated):
    big = [clicks for clicks in of(simulated, "honest") if len(clicks["id"]) > 1500]
    names = sorted({str(c) for clicks in big for c in clicks["usercountry"]})
    mixes = np.array(
        [[(c["usercountry"].astype(str) == name).mean() for name in names] for c in big]
    )
    channel = np.array([clicks["channel"][0] for clicks in big])
    far = np.abs(mixes[:, None] - mixes[None]).sum(axis=2)
    same = (channel[:, None] == channel[None]) & ~np.eye(len(big), dtype=bool)
    other = channel[:, None] != channel[None]
    assert same.sum() > 10
    assert far[same].mean() < 0.6 * far[other].mean()


def test_the_log_ends_with_the_window(simulated):
    clicks, _ = simulated
    assert clicks["clicktime"].min() >= np.datetime64("2012-02-09")
    assert clicks["clicktime"].max() < np.datetime64("2012-02-12")
    last = (clicks["clicktime"] == np.datetime64("2012-02-11T23:59:59")).mean()
    assert last < 1e-4, "clicks beyond the end are left out, not moved to the last second"
