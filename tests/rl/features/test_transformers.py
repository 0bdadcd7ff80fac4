"""Feature maps against scikit-learn's, closed forms and their own promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, SplineTransformer

from octavo.rl import (
    FeatureNormalizer,
    RBFGridFeatures,
    SquaredFeatures,
    TabularFeatures,
    TileCoding,
    TriangularFeatures,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))


def test_triangles_are_splines_of_degree_one():
    ours = TriangularFeatures(5).fit_transform(X)
    theirs = SplineTransformer(n_knots=5, degree=1).fit_transform(X)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_triangles_of_the_boyan_chain():
    made = TriangularFeatures(4, low=1, high=14).fit_transform(np.arange(1.0, 15)[:, None])
    np.testing.assert_allclose(made.sum(axis=1), 1.0)
    np.testing.assert_allclose(made[0], [1, 0, 0, 0])
    np.testing.assert_allclose(made[2], [1 - 2 / (13 / 3), 2 / (13 / 3), 0, 0])


def test_tabular_is_one_hot():
    states = RNG.integers(0, 6, size=(40, 1))
    np.testing.assert_array_equal(
        TabularFeatures().fit_transform(states),
        OneHotEncoder(sparse_output=False).fit_transform(states),
    )
    sparse = TabularFeatures(6, bias=True, sparse_output=True).fit(states).transform(states)
    assert sparse.shape == (40, 7)
    assert sparse.nnz == 80


def test_bumps_are_gaussian_kernels_of_the_grid():
    maker = RBFGridFeatures(3, low=-1.0, high=1.0, width=0.5, normalize=False, bias=False).fit(X)
    assert maker.centres_.shape == (27, 3)
    np.testing.assert_allclose(maker.scale_, 0.5)
    expected = rbf_kernel(X, maker.centres_, gamma=1 / (2 * 0.5**2))
    np.testing.assert_allclose(maker.transform(X), expected, rtol=1e-9)
    shared = RBFGridFeatures(3, low=-1.0, high=1.0, width=0.5).fit_transform(X)
    np.testing.assert_allclose(shared[:, :-1], expected / expected.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(shared[:, -1], 1.0)


def test_bumps_far_away_stay_finite():
    made = RBFGridFeatures(3, low=-1.0, high=1.0).fit(X).transform(1e4 * X)
    assert np.isfinite(made).all()
    np.testing.assert_allclose(made.sum(axis=1), 2.0)


def test_bumps_without_data_are_dropped():
    full = RBFGridFeatures(5, low=-3.0, high=3.0).fit(X)
    kept = RBFGridFeatures(5, low=-3.0, high=3.0, min_activation=1.0).fit(X)
    activation = full.transform(X)[:, :-1].sum(axis=0)
    assert len(kept.centres_) == (activation > 1.0).sum() < len(full.centres_)
    with pytest.raises(ValueError, match="No bump has an activation above"):
        RBFGridFeatures(5, min_activation=1e9).fit(X)


def test_squares_are_polynomials_without_linear_terms():
    ours = SquaredFeatures().fit_transform(X)
    theirs = PolynomialFeatures(2).fit_transform(X)
    np.testing.assert_allclose(ours, theirs[:, [0, 4, 5, 6, 7, 8, 9]])
    squares = SquaredFeatures(interactions=False, bias=False).fit_transform(X)
    np.testing.assert_allclose(squares, X**2)


@pytest.mark.parametrize("interactions", [True, False])
def test_expected_squares_of_gaussian_states(interactions):
    maker = SquaredFeatures(interactions=interactions).fit(X)
    C = np.array([[1.0, 0.3, 0.1], [0.3, 0.5, 0.0], [0.1, 0.0, 0.2]])
    mean = np.array([[1.0, -2.0, 0.5]])
    drawn = multivariate_normal(mean[0], C, seed=0).rvs(400_000)
    sampled = maker.transform(drawn)
    error = sampled.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(sampled.mean(axis=0) - maker.expected(mean, C)[0]) <= 5 * error + 1e-12).all()


def test_tiles_count_and_neighbourhoods():
    maker = TileCoding(8, 4, low=0.0, high=1.0).fit(RNG.uniform(size=(5, 2)))
    points = RNG.uniform(size=(200, 2))
    made = maker.transform(points)
    assert made.shape == (200, 8 * 25)
    np.testing.assert_array_equal(np.asarray(made.sum(axis=1)).ravel(), 8)
    # States within an eighth of a tile share at least one tile less than all; far ones none.
    near, far = (
        maker.transform([[0.5, 0.5], [0.51, 0.5]]),
        maker.transform([[0.1, 0.1], [0.9, 0.9]]),
    )
    assert (near[0].multiply(near[1])).sum() >= 7
    assert (far[0].multiply(far[1])).sum() == 0


@settings(max_examples=50, deadline=None)
@given(a=st.floats(-2, 2), b=st.floats(-2, 2))
def test_a_state_outside_counts_as_on_the_edge(a, b):
    maker = TileCoding(4, 3, low=0.0, high=1.0, sparse_output=False).fit([[0.0, 0.0], [1.0, 1.0]])
    clipped = np.clip([[a, b]], 0, 1)
    np.testing.assert_array_equal(maker.transform([[a, b]]), maker.transform(clipped))


def test_one_tiling_is_a_grid_of_bins():
    maker = TileCoding(1, 4, low=0.0, high=1.0, sparse_output=False).fit([[0.0], [1.0]])
    made = maker.transform([[0.0], [0.249], [0.25], [0.99], [1.0]])
    np.testing.assert_array_equal(made.argmax(axis=1), [0, 0, 1, 3, 3])


def test_normalizer_keeps_the_constant():
    raw = SquaredFeatures().fit_transform(X)
    made = FeatureNormalizer().fit_transform(raw)
    np.testing.assert_array_equal(made[:, 0], 1.0)
    np.testing.assert_allclose(made[:, 1:].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(made[:, 1:].std(axis=0), 1.0)
    steps = FeatureNormalizer("per_step").fit_transform(np.vstack([raw, np.zeros(7)]))
    np.testing.assert_allclose(np.abs(steps[:-1]).sum(axis=1), 1.0)
    assert not steps[-1].any()


def test_maps_work_in_pipelines_and_name_their_outputs():
    line = make_pipeline(SquaredFeatures(), FeatureNormalizer()).fit(X)
    assert line.transform(X).shape == (50, 7)
    for maker in (TriangularFeatures(), RBFGridFeatures(2), SquaredFeatures(), TileCoding(2, 2)):
        names = maker.fit(X).get_feature_names_out()
        assert len(names) == len(set(names)) == maker.transform(X).shape[1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TriangularFeatures(3, low=1.0, high=0.0).fit(X), "high must exceed low"),
        (lambda: TriangularFeatures(3, low=[0.0, 1.0]).fit(X), "one for each of 3 variables"),
        (lambda: TriangularFeatures(1).fit(X), "n_triangles"),
        (lambda: TabularFeatures(3).fit([[0], [3]]), "State 3 is not one of the 3 known"),
        (lambda: TabularFeatures().fit([[0], [1]]).transform([[7]]), "State 7 is not one of the 2"),
        (lambda: TabularFeatures().fit([[0, 1]]), "one variable, got 2 columns"),
        (lambda: RBFGridFeatures(1000).fit(X), "1e[+]09 centres"),
        (lambda: TileCoding(8, 8).fit(np.zeros((2, 40))), "more than can be numbered"),
        (lambda: FeatureNormalizer("columns").fit(X), "mode"),
        (lambda: SquaredFeatures().fit([[np.nan]]), "NaN"),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(ValueError, match=words):
        make()
