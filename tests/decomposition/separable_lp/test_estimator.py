"""SeparableNMFLP and Hottopixx: theorems, the swimmer, and bad input."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from octavo.data import make_near_separable, make_swimmer
from octavo.decomposition import (
    Hottopixx,
    SeparableNMFLP,
    SuccessiveProjection,
    lp_noise_bound,
    robust_conicity,
)


def at_the_bound(seed, rho, share=1.0):
    """A matrix of Theorem 2 with β = ½ and as much noise as it allows, vertices first."""
    rng = np.random.default_rng(seed)
    W = rng.dirichlet(np.ones(10), 4)
    H = 0.5 * rng.dirichlet(np.ones(4), 20) + 0.125
    H = np.minimum(H, 0.5)
    H /= H.sum(axis=1, keepdims=True)
    beta = float(H.max())
    X = np.vstack([W, H @ W])
    epsilon = share * lp_noise_bound(robust_conicity(W), beta, rho)
    noise = rng.standard_normal(X.shape)
    return X + epsilon * noise / np.abs(noise).sum(axis=1, keepdims=True), epsilon


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rho", [0.5, 1.0, 2.0])
def test_theorem_2(seed, rho):
    """Noise up to the bound: Algorithm 2 finds the vertices and how many there are."""
    X, epsilon = at_the_bound(seed, rho)
    model = SeparableNMFLP(
        epsilon=epsilon, rho=rho, noise="relative", postprocess="threshold", random_state=seed
    ).fit(X)
    assert sorted(model.selected_indices_.tolist()) == [0, 1, 2, 3]
    assert model.n_components_ == 4


@pytest.mark.parametrize("postprocess", ["hybrid", "cluster", "topk", "gap", "threshold"])
def test_every_rule_finds_them_where_the_noise_is_small(postprocess):
    X, epsilon = at_the_bound(0, 1.0, share=0.5)
    model = SeparableNMFLP(epsilon=epsilon, postprocess=postprocess, random_state=0).fit(X)
    assert sorted(model.selected_indices_.tolist()) == [0, 1, 2, 3]
    np.testing.assert_array_equal(model.components_, X[model.selected_indices_])
    left = np.abs(X - model.transform(X) @ model.components_).sum(axis=1).max()
    assert model.residual_l1_ == pytest.approx(left)
    assert left <= 4 * epsilon * np.sqrt(X.shape[1])  # 2ε in l1, up to the norm that is fitted
    approximation = model.coupling_.T @ X
    assert np.abs(X - approximation).sum(axis=1).max() <= epsilon * (1 + 1e-6)


def test_swimmer():
    """Section 5.4: 16 pixels, one of each limb position; SPA stops at the rank, 13."""
    pixels = make_swimmer().T
    assert np.linalg.matrix_rank(pixels) == 13
    for noise, epsilon in (("absolute", 0.1), ("absolute", 60.0), ("relative", 0.97)):
        model = SeparableNMFLP(16, epsilon=epsilon, noise=noise, random_state=0).fit(pixels)
        chosen = pixels[model.selected_indices_]
        assert len(np.unique(chosen, axis=0)) == 16
        assert set(chosen.sum(axis=1)) == {64.0}  # limbs, not the body's 256
        assert model.reconstruction_err_ == pytest.approx(0.0, abs=1e-6)
    counted = SeparableNMFLP(epsilon=0.1, random_state=0).fit(pixels)
    assert counted.n_components_ == 16
    with pytest.raises(ValueError, match="exceeds the rank of X, which is 13"):
        SuccessiveProjection(16).fit(pixels)


def mixtures(seed, epsilon, pointwise=False):
    """Five vertices, first, and 35 mixtures that are near none of them; noise in l1 norm ε."""
    rng = np.random.default_rng(seed)
    W = rng.random((5, 30))
    W /= W.sum(axis=1, keepdims=True)
    X = np.vstack([W, rng.dirichlet(3 * np.ones(5), 35) @ W])
    noise = rng.standard_normal(X.shape)
    if pointwise:
        noise *= np.eye(30)[rng.integers(30, size=40)]
    return X + epsilon * noise / np.abs(noise).sum(axis=1).max()


def test_pointwise_noise_misleads_spa_and_not_the_program():
    hits = {"lp": 0, "spa": 0}
    for seed in range(3):
        X = mixtures(seed, 0.15, pointwise=True)
        model = SeparableNMFLP(5, epsilon=0.15, random_state=seed).fit(X)
        hits["lp"] += int((model.selected_indices_ < 5).sum())
        hits["spa"] += int((SuccessiveProjection(5).fit(X).anchor_indices_ < 5).sum())
    assert hits["lp"] == 15
    assert hits["spa"] < 12


def test_outliers_are_kept_apart():
    rng = np.random.default_rng(0)
    W = np.hstack([rng.dirichlet(np.ones(6), 3), np.zeros((3, 2))])
    X = np.vstack([W, np.eye(8)[[6, 7]], rng.dirichlet(3 * np.ones(3), 12) @ W])
    for how in (True, "refit"):
        model = SeparableNMFLP(epsilon=1e-4, rho=2.0, handle_outliers=how, random_state=0).fit(X)
        assert model.selected_indices_.tolist() == [0, 1, 2]
        assert model.outlier_indices_.tolist() == [3, 4]
        assert model.residual_l1_ < 1e-6  # without noise: what the solver of the program tolerates
    plain = SeparableNMFLP(epsilon=1e-4, rho=2.0, random_state=0).fit(X)
    assert plain.n_components_ == 5
    assert len(plain.outlier_indices_) == 0


def test_sparse_float32_and_scaled_data_give_the_same_rows():
    X = mixtures(1, 0.05)
    X[np.abs(X) < 0.005] = 0.0
    for data, scale in (
        (X, 1.0),
        (sparse.csr_array(X), 1.0),
        (sparse.csc_array(X), 1.0),
        (X.astype(np.float32), 1.0),
        (1e5 * X, 1e5),
        (1e-5 * X, 1e-5),
    ):
        model = SeparableNMFLP(5, epsilon=0.05 * scale, random_state=0).fit(data)
        assert sorted(model.selected_indices_.tolist()) == [0, 1, 2, 3, 4]


def test_the_noise_level_is_guessed():
    model = SeparableNMFLP(5, random_state=0).fit(mixtures(1, 0.05))
    assert 0.01 < model.epsilon_ < 0.2
    assert sorted(model.selected_indices_.tolist()) == [0, 1, 2, 3, 4]
    model = SeparableNMFLP(random_state=0).fit(mixtures(1, 0.0))
    assert model.epsilon_ == 0.0
    assert sorted(model.selected_indices_.tolist()) == [0, 1, 2, 3, 4]


def test_one_row():
    model = SeparableNMFLP().fit([[1.0, 2.0]])
    assert model.selected_indices_.tolist() == [0]
    assert model.diagonal_ == pytest.approx([1.0])


def test_hottopixx_needs_less_noise():
    model = Hottopixx(5, 0.001, random_state=0).fit(mixtures(1, 0.001))
    assert sorted(model.selected_indices_.tolist()) == [0, 1, 2, 3, 4]
    assert model.diagonal_.sum() == pytest.approx(5.0, abs=1e-7)
    assert model.duality_gap_ < 1e-6
    noisy = mixtures(1, 0.1)
    wrong = Hottopixx(5, 0.1, random_state=0).fit(noisy)
    assert (wrong.selected_indices_ < 5).sum() < 5
    robust = SeparableNMFLP(5, epsilon=0.1, random_state=0).fit(noisy)
    assert (robust.selected_indices_ < 5).sum() == 5


def test_too_little_noise_is_said():
    X = np.random.default_rng(0).random((12, 30))
    with pytest.warns(UserWarning, match="Raise epsilon"):
        SeparableNMFLP(3, epsilon=0.0).fit(X)


def test_a_count_in_doubt_is_said():
    sample = make_near_separable(40, 20, n_components=6, epsilon=0.3, random_state=1)
    with pytest.warns(UserWarning, match="number of components is in doubt"):
        SeparableNMFLP(epsilon=0.3, random_state=0).fit(sample.X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SeparableNMFLP(6, epsilon=0.3, random_state=0).fit(sample.X)


@pytest.mark.parametrize(
    ("model", "X", "sentence"),
    [
        (SeparableNMFLP(5), np.eye(3), "n_components must be between 1 and the number of rows 3"),
        (SeparableNMFLP(epsilon=2.0), np.eye(3), "lower epsilon"),
        (SeparableNMFLP(), np.zeros((3, 2)), "nothing to select"),
        (SeparableNMFLP(max_columns=2), np.eye(3), "max_columns=2"),
        (SeparableNMFLP(solver="highs", noise="l2"), np.eye(3), "cone program"),
        (SeparableNMFLP(), [[np.nan, 1.0]], "NaN"),
        (SeparableNMFLP(epsilon=0.6, postprocess="threshold"), np.eye(3), "No row was selected"),
        (Hottopixx(2, 0.01), np.eye(4), "smallest trace there is 3.92"),
        (Hottopixx(5, 0.01), np.eye(4), "n_components must be between 1"),
    ],
)
def test_bad_input_is_met_by_a_sentence(model, X, sentence):
    with pytest.raises(ValueError, match=sentence):
        model.fit(X)


@pytest.mark.parametrize("postprocess", ["hybrid", "threshold", "cluster", "topk", "gap"])
@pytest.mark.parametrize("noise", ["absolute", "relative"])
def test_a_row_of_zeros_is_not_chosen_though_it_lies_near_many(postprocess, noise):
    X = np.random.default_rng(0).random((20, 8))
    X[3] = 0.0
    epsilon = {"absolute": 0.3, "relative": 0.1}[noise]
    model = SeparableNMFLP(
        3, epsilon=epsilon, noise=noise, postprocess=postprocess, random_state=0
    ).fit(X)
    assert 3 not in model.selected_indices_
