"""Denoising, smoothing and stereo on data whose answer is known."""

import networkx as nx
import numpy as np
import pytest

from octavo.data import make_grid_energy, make_random_dot_stereogram
from octavo.graphical import (
    MRFLabelSmoother,
    PairwiseMRF,
    StereoMatcher,
    TruncatedMRFDenoiser,
    grid_mrf,
    minimize_mrf,
    stereo_costs,
)

STEPS = np.kron([[0.0, 5.0, 5.0], [10.0, 0.0, 10.0]], np.ones((8, 8)))


def noisy(seed=0, scale=1.0):
    return STEPS + np.random.default_rng(seed).normal(0, scale, STEPS.shape)


@pytest.mark.parametrize("distance", ["linear", "quadratic"])
@pytest.mark.parametrize("connectivity", [4, 8])
def test_noise_goes_and_jumps_stay(distance, connectivity):
    model = TruncatedMRFDenoiser(12, 4.0 / connectivity, 4.0, distance, connectivity)
    found = model.fit_transform(noisy())
    assert np.abs(found - STEPS).mean() < np.abs(noisy() - STEPS).mean()
    assert np.abs(np.diff(found, axis=1)[:, 7]).mean() > 3.5  # jumps of 5 and 10
    assert model.lower_bound_ <= model.objective_ == model.result_.energy
    np.testing.assert_array_equal(model.transform(noisy()), found)
    assert set(np.unique(model.transform(noisy(1)[:5, :7]))) <= set(model.levels_)


@pytest.mark.parametrize("scale", [1e-5, 1e5])
def test_units_do_not_matter(scale):
    plain = TruncatedMRFDenoiser(8).fit(noisy())
    other = TruncatedMRFDenoiser(8).fit(noisy() * scale)
    np.testing.assert_array_equal(plain.labels_, other.labels_)


def test_a_signal_on_a_graph_and_a_constant_image():
    cycle = nx.cycle_graph(40)
    truth = np.repeat([0.0, 4.0], 20)
    signal = truth + np.random.default_rng(0).normal(0, 0.5, 40)
    found = TruncatedMRFDenoiser(9, 4.0, 4.0, connectivity=cycle).fit_transform(signal)
    assert np.abs(found - truth).mean() < np.abs(signal - truth).mean()
    same = TruncatedMRFDenoiser(4).fit_transform(np.full((3, 4), 7.0))
    np.testing.assert_array_equal(same, 7.0)
    one = TruncatedMRFDenoiser(4, loss="absolute").fit_transform([[1.0, 2.0]])
    assert one.shape == (1, 2)


def test_impulses_cost_less_by_absolute_loss():
    rng = np.random.default_rng(3)
    image = np.where(rng.random(STEPS.shape) < 0.15, rng.choice([0.0, 10.0], STEPS.shape), STEPS)
    errors = [
        np.abs(TruncatedMRFDenoiser(11, 6.0, 2.0, "linear", loss=loss).fit_transform(image) - STEPS)
        for loss in ("absolute", "squared")
    ]
    assert errors[0].mean() < errors[1].mean()


def test_a_series_is_smoothed_exactly():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(4), 30)
    model = MRFLabelSmoother(0.7, 2.0).fit(P)
    chain = np.column_stack([np.arange(29), np.arange(1, 30)])
    mrf = PairwiseMRF(-np.log(P), chain, 0.7, truncation=2.0)
    assert model.objective_ == pytest.approx(minimize_mrf(mrf, "trws").energy, rel=1e-6)
    graph = MRFLabelSmoother(0.7, 2.0, connectivity=chain).fit(P)
    assert graph.objective_ == pytest.approx(model.objective_, rel=0.02)
    np.testing.assert_array_equal(MRFLabelSmoother(0.0).fit_predict(P), P.argmax(axis=1))
    assert MRFLabelSmoother().fit_predict([[0.2, 0.8]]).tolist() == [1]
    # rows are normalised: what they sum to does not enter the energy
    assert MRFLabelSmoother(0.7, 2.0).fit(3.0 * P).objective_ == pytest.approx(model.objective_)
    np.testing.assert_array_equal(model.predict(P), model.labels_)
    np.testing.assert_array_equal(graph.predict(P), graph.labels_)
    assert model.predict(P[:4]).shape == (4,)
    with pytest.raises(ValueError, match="fitted with 4"):
        model.predict(P[:, :3])


def test_disparities_of_random_dots():
    scene = make_random_dot_stereogram((32, 48), n_disparities=8, random_state=1)
    model = StereoMatcher(8).fit(scene.left, scene.right)
    both = StereoMatcher(8).fit_predict([scene.left, scene.right])
    np.testing.assert_array_equal(both, model.labels_)
    near = np.abs(model.labels_ - scene.disparity) <= 1
    alone = stereo_costs(scene.left, scene.right, 8).argmin(axis=2)
    mrf = grid_mrf(stereo_costs(scene.left, scene.right, 8), 10.0, truncation=3.0)
    assert model.objective_ <= mrf.energy(scene.disparity)
    right = model.labels_ == scene.disparity
    seen = right & scene.visible
    assert np.abs(model.warp(scene.right) - scene.left)[seen].max() < 10 * 2.0 * np.sqrt(2)
    with pytest.raises(ValueError, match="shape of the disparities"):
        model.warp(scene.right[:3])
    assert near[scene.visible].mean() > (np.abs(alone - scene.disparity) <= 1)[scene.visible].mean()


def test_costs_of_birchfield_and_tomasi_by_hand():
    left, right = np.array([[0.0, 10.0, 30.0]]), np.array([[10.0, 30.0, 0.0]])
    costs = stereo_costs(left, right, 2, truncation=15.0)
    # left x=1 (10; 5 to 20) on right x=0 (10; 10 to 20): 0. x=2 (30; 20 to 30) on x=1 (30): 0
    assert costs[0, 1:, 1].tolist() == [0.0, 0.0]
    assert costs[0, 0, 1] == 15.0
    # left x=0 (0; 0 to 5) on right x=0 (10; 10 to 20): min(10 - 0, 10 - 5) = 5
    assert costs[0, 0, 0] == 5.0


def test_the_generators():
    energy = make_grid_energy(random_state=0)
    assert energy.unary.shape == (50, 50, 20)
    assert energy.unary.min() >= 0
    assert energy.unary.max() <= 10
    assert 5 <= energy.truncation <= 10
    assert 25 <= make_grid_energy((2, 2), distance="quadratic").truncation <= 100
    scene = make_random_dot_stereogram((20, 30), n_disparities=5, noise=0.0, random_state=0)
    rows, columns = np.nonzero(scene.visible)
    at = columns - scene.disparity[rows, columns]
    np.testing.assert_array_equal(scene.left[rows, columns], scene.right[rows, at])


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: TruncatedMRFDenoiser().fit(np.zeros(4)), "an image of shape"),
        (lambda: TruncatedMRFDenoiser(connectivity=6).fit(np.zeros((2, 2))), "connectivity"),
        (lambda: TruncatedMRFDenoiser().fit([[1.0, np.nan]]), "finite"),
        (lambda: TruncatedMRFDenoiser().fit([[1e308, -1e308]]), "Scale it"),
        (lambda: MRFLabelSmoother().fit([[-0.1, 1.1]]), "probabilities"),
        (lambda: MRFLabelSmoother().fit([[0.0, 0.0]]), "probabilities"),
        (lambda: MRFLabelSmoother().fit([0.5, 0.5]), "n_samples, n_classes"),
        (lambda: StereoMatcher().fit(np.zeros((2, 3)), np.zeros((3, 2))), "images of one shape"),
        (lambda: StereoMatcher().fit(np.zeros((2, 3))), "two views"),
        (lambda: stereo_costs(np.zeros((2, 2)), np.zeros((2, 2)), 0), "n_disparities"),
        (lambda: stereo_costs(np.zeros((2, 2)), np.zeros((2, 2)), 2, -1.0), "truncation"),
        (lambda: make_grid_energy((0, 3)), "shape must be"),
        (lambda: make_random_dot_stereogram((4, 4), n_disparities=9), "n_disparities"),
    ],
)
def test_bad_input(act, message):
    with pytest.raises(ValueError, match=message):
        act()
