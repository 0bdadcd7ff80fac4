"""Symbols against a naive reference, and mismatch against energy distances and identities."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import energy_distance

from octavo.engine.event_logs.dtw import Warping, ragged, warp
from octavo.survival import (
    MaxMinSymbolizer,
    SymbolicMismatch,
    Symbols,
    dtw,
    dtw_one_to_many,
    symbolic_mismatch,
)
from octavo.survival.mismatch.symbols import farthest_first, knee

HOW = Warping(0.1, False, True)


def beats(seed, n=40, length=(8, 16)):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=rng.integers(*length)).cumsum() for _ in range(n)]


def differences(some, how=HOW):
    return np.array([[warp(x, y, how) for y in some] for x in some])


def naive(C, n_symbols):
    """Farthest-first from the full matrix, in as many words as the paper."""
    taken = [0]
    curve = [C[0].max()]
    while len(taken) < n_symbols:
        new = int(np.argmax(C[:, taken].min(axis=1)))
        taken.append(new)
        curve.append(C[:, taken].min(axis=1).max())
    return taken, curve, C[:, taken].argmin(axis=1), C[:, taken].min(axis=1)


@pytest.mark.parametrize("how", [HOW, Warping(), Warping(0.2, True)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_farthest_first_equals_the_naive_reference(seed, how):
    some = beats(seed)
    taken, curve, labels, nearest = naive(differences(some, how), 12)
    found = farthest_first(ragged(some), how, max_symbols=12, n_jobs=1 + seed % 2)
    assert found.taken.tolist() == taken
    assert found.curve.tolist() == curve
    assert found.labels.tolist() == labels.tolist()
    assert found.nearest.tolist() == nearest.tolist()


def test_the_curve_never_rises_and_the_cover_is_at_most_twice_the_best():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 3))
    how = Warping(straight=True)  # a metric: the bound of Gonzalez needs the triangle
    found = farthest_first(ragged(list(points)), how, max_symbols=3)
    assert (np.diff(found.curve) <= 0).all()
    C = differences(points, how)
    best = min(C[:, c].min(axis=1).max() for c in itertools.combinations(range(12), 3))
    assert best <= found.curve[-1] <= 2 * best


def test_threshold_zero_keeps_every_distinct_beat():
    some = beats(1, 10)
    model = MaxMinSymbolizer(threshold=0).fit(some + some[:4])
    same = MaxMinSymbolizer(threshold=None).fit(some + some[:4])
    np.testing.assert_array_equal(same.prototype_indices_, model.prototype_indices_)
    assert sorted(model.prototype_indices_) == list(range(10))
    assert sorted(model.frequencies_ * 14) == pytest.approx([1] * 6 + [2] * 4)
    assert model.threshold_ == 0


def test_threshold_ends_where_the_paper_ends():
    some = beats(2)
    whole = MaxMinSymbolizer(threshold=0).fit(some).maxmin_curve_
    theta = 0.5 * (whole[4] + whole[5])
    model = MaxMinSymbolizer(threshold=theta).fit(some)
    assert len(model.prototypes_) == 6
    assert model.threshold_ == whole[5] < theta
    assert model.frequencies_.sum() == pytest.approx(1)
    np.testing.assert_array_equal(model.transform(some), model.labels_)


def test_knee_is_the_corner():
    curve = np.concatenate([np.linspace(10, 1, 6), np.linspace(0.9, 0, 20)])
    assert knee(curve) == 5
    rng = np.random.default_rng(0)
    shapes = [np.sin(np.arange(20) / f) * 5 for f in (1, 2, 4)]
    some = [shapes[i % 3] + 0.01 * rng.normal(size=20) for i in range(60)]
    model = MaxMinSymbolizer().fit(some)
    assert len(model.prototypes_) == 3
    np.testing.assert_allclose(model.frequencies_, 1 / 3)
    np.testing.assert_array_equal(model.labels_ == model.labels_[0], np.arange(60) % 3 == 0)


def test_rare_symbols_are_dropped_and_their_beats_kept():
    some = [np.zeros(4)] * 9 + [np.full(4, 5.0)] * 9 + [np.full(4, 6.0)]
    model = MaxMinSymbolizer(threshold=0, min_frequency=0.1).fit(some)
    assert len(model.prototypes_) == 2
    assert sorted(model.frequencies_) == [9 / 19, 10 / 19]
    everything_rare = MaxMinSymbolizer(threshold=0, min_frequency=0.9).fit(some)
    assert len(everything_rare.prototypes_) == 1


def test_an_artefact_in_front_need_not_be_the_start():
    rng = np.random.default_rng(0)
    some = [np.full(10, 50.0)] + [rng.normal(size=10) for _ in range(30)]
    assert MaxMinSymbolizer(start="first").fit(some).prototype_indices_[0] == 0
    assert MaxMinSymbolizer(start="medoid").fit(some).prototype_indices_[0] != 0


@pytest.mark.parametrize("seed", range(5))
def test_scalar_beats_give_the_energy_distance(seed):
    rng = np.random.default_rng(seed)
    S_p, S_q = rng.normal(size=7), rng.normal(1, 2, size=5)
    F_p, F_q = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(5))
    energy = (
        2 * symbolic_mismatch(S_p, F_p, S_q, F_q)
        - symbolic_mismatch(S_p, F_p, S_p, F_p)
        - symbolic_mismatch(S_q, F_q, S_q, F_q)
    )
    assert energy == pytest.approx(energy_distance(S_p, S_q, F_p, F_q) ** 2, abs=1e-10)
    records = [Symbols(list(S_p[:, None]), F_p), Symbols(list(S_q[:, None]), F_q)]
    assert SymbolicMismatch(mode="energy").fit(records).mismatch_[0, 1] == pytest.approx(
        energy, abs=1e-12
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.floats(0.1, 10), st.floats(0.05, 0.95))
def test_mismatch_identities(seed, scale, part):
    S_p, S_q = beats(seed, 4), beats(seed + 5000, 3)
    rng = np.random.default_rng(seed)
    F_p, F_q = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3))
    options = {"band": 0.2, "normalize": "path"}
    psi = symbolic_mismatch(S_p, F_p, S_q, F_q, **options)
    assert symbolic_mismatch(S_q, F_q, S_p, F_p, **options) == pytest.approx(psi, rel=1e-12)
    split = symbolic_mismatch(
        [*S_p, S_p[0]], [F_p[0] * part, *F_p[1:], F_p[0] * (1 - part)], S_q, F_q, **options
    )
    assert split == pytest.approx(psi, rel=1e-12)
    scaled = symbolic_mismatch(
        [-scale * x for x in S_p], F_p, [-scale * x for x in S_q], F_q, **options
    )
    assert scaled == pytest.approx(scale * psi, rel=1e-10)
    single = symbolic_mismatch(S_p[:1], [1.0], S_q[:1], [3.0], **options)
    assert single == dtw(S_p[0], S_q[0], **options)


def records_of(seed, n=6):
    return [beats(100 * seed + i, 12) for i in range(n)]


@pytest.mark.parametrize("mode", ["mismatch", "energy"])
def test_adding_recordings_equals_fitting_all(mode):
    records = records_of(1)
    model = SymbolicMismatch(MaxMinSymbolizer(max_symbols=5), mode=mode)
    whole = model.fit_transform(records)
    np.testing.assert_array_equal(whole, whole.T)
    for p, q in itertools.product(range(6), range(6)):
        a, b = model.symbols_[p], model.symbols_[q]
        psi = symbolic_mismatch(*a, *b, band=0.1, normalize="path")
        if mode == "energy":
            psi = 2 * psi - model.self_mismatch_[p] - model.self_mismatch_[q]
        assert whole[p, q] == pytest.approx(psi, abs=1e-12)
    grown = SymbolicMismatch(MaxMinSymbolizer(max_symbols=5), mode=mode, n_jobs=2)
    grown.partial_fit(records[:4]).partial_fit(records[4:])
    np.testing.assert_allclose(grown.mismatch_, whole, atol=1e-14)
    rows = SymbolicMismatch(MaxMinSymbolizer(max_symbols=5), mode=mode).fit(records[:4])
    np.testing.assert_allclose(rows.transform(records[4:]), whole[4:, :4], atol=1e-14)


def test_recordings_that_say_nothing_are_named_or_skipped():
    records = records_of(2, 3)
    with pytest.raises(ValueError, match=r"Recording 1 has no symbols: .*at least 2"):
        SymbolicMismatch().fit([records[0], records[1][:1], records[2]])
    with pytest.raises(ValueError, match=r"Recording 0 .*at least 2"):
        SymbolicMismatch().fit([[], records[1]])
    spoilt = [*records[1], np.array([0.0, np.nan])]
    model = SymbolicMismatch(on_error="skip").fit([records[0], spoilt, records[2], []])
    assert [i for i, _ in model.skipped_] == [1, 3]
    assert "beats[12]" in model.skipped_[0][1]
    assert model.mismatch_.shape == (2, 2)
    with pytest.raises(ValueError, match="No recording has symbols"):
        SymbolicMismatch(on_error="skip").fit([[], []])


def test_bad_input_of_functions():
    with pytest.raises(ValueError, match="band must be"):
        dtw([0.0], [1.0], band=-0.1)
    with pytest.raises(ValueError, match="normalize must be"):
        dtw([0.0], [1.0], normalize="length")
    with pytest.raises(ValueError, match="cost must be"):
        dtw([0.0], [1.0], cost="cubic")
    with pytest.raises(ValueError, match="x must be a series"):
        dtw([], [1.0])
    with pytest.raises(ValueError, match="y must hold finite"):
        dtw([0.0], [np.nan])
    with pytest.raises(ValueError, match=r"Y\[1\]"):
        dtw_one_to_many([0.0], [[1.0], []])
    with pytest.raises(ValueError, match="bounds must hold one"):
        dtw_one_to_many([0.0], [[1.0]], bounds=[1.0, 2.0])
    with pytest.raises(ValueError, match="F_p must hold one"):
        symbolic_mismatch([[0.0]], [0.5, 0.5], [[0.0]], [1.0])
    with pytest.raises(ValueError, match="F_q must hold frequencies"):
        symbolic_mismatch([[0.0]], [1.0], [[0.0]], [-1.0])
    with pytest.raises(ValueError, match="one length"):
        symbolic_mismatch([[0.0]], [1.0], [[0.0, 1.0]], [1.0], metric="euclidean")


def test_band_and_cost_reach_the_kernel():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30))
    assert dtw(x, y, band=0) == pytest.approx(np.abs(x - y).sum(), rel=1e-14)
    assert dtw(x, y, band=0, cost="squared") == pytest.approx(((x - y) ** 2).sum(), rel=1e-13)
    assert dtw(x, y, band=0, normalize="path") == pytest.approx(np.abs(x - y).mean(), rel=1e-13)
    assert dtw(x, y, band=np.inf) == dtw(x, y) <= dtw(x, y, band=0.1)
    np.testing.assert_array_equal(dtw_one_to_many(x, [y, x]), [dtw(x, y), 0.0])
