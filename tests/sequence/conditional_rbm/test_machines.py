"""Machines as users meet them: limits, equalities, scores, frames to come, styles, bad input."""

import itertools
import warnings

import numpy as np
import pytest
import sklearn
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import BernoulliRBM

from octavo.sequence import (
    CRBM,
    FCRBM,
    ConditionalDBN,
    FactoredCRBM,
    GatedCRBM,
    GaussianBernoulliRBM,
    NearestFrameImputer,
    VectorAutoRegression,
    blend_styles,
)

RNG = np.random.RandomState(0)
T = np.arange(200)
WAVES = [np.stack([np.sin(T / s), np.cos(T / s), np.sin(T / s + 1) ** 2], axis=1) for s in (4, 7)]
STYLES = [np.full(200, "fast"), np.full(200, "slow")]


def loud(model, size=0.4, seed=1):
    """Give a fitted machine weights that matter."""
    rng = np.random.RandomState(seed)
    for name in model._params():
        value = getattr(model, f"{name}_")
        setattr(model, f"{name}_", size * rng.standard_normal(value.shape))
    return model


def plain(n_hidden=4, **more):
    return loud(CRBM(n_hidden, order=2, n_epochs=0, random_state=0, **more).fit(WAVES))


# --- shapes and equalities ---------------------------------------------------------------------


def test_default_signature_is_the_documented_one():
    assert CRBM().get_params() == {
        "n_hidden": 100,
        "order": 3,
        "order_hidden": None,
        "visible": "gaussian",
        "cd_k": 1,
        "learning_rate": 1e-3,
        "ar_learning_rate": 1e-5,
        "momentum": 0.9,
        "weight_decay": 2e-4,
        "batch_size": 100,
        "n_epochs": 200,
        "sparsity_target": None,
        "sparsity_cost": 0.0,
        "history_noise": 0.0,
        "standardize": True,
        "random_state": None,
        "reconstruction": "mean",
    }


def test_shapes_and_left_out_frames():
    model = CRBM(5, order=2, order_hidden=3, n_epochs=1, random_state=0).fit(WAVES, STYLES)
    assert model.W_.shape == (3, 5)
    assert model.A_.shape == (6, 3)
    assert model.B_.shape == (9, 5)
    assert model.L_.shape == (2, 5)
    assert model.transform(WAVES, STYLES).shape == (2 * 197, 5)
    stacked = np.concatenate(WAVES), np.concatenate(STYLES)
    np.testing.assert_array_equal(
        model.free_energy(*stacked, lengths=[200, 200]), model.free_energy(WAVES, STYLES)
    )


def test_past_runs_from_the_last_frame():
    """A alone: the settled frame is a + Aᵀ(v(t-1), v(t-2)) in standard units."""
    model = plain(0)
    X = WAVES[0]
    Z = (X - model.mean_) / model.scale_
    wanted = model.a_ + np.concatenate([Z[9], Z[8]]) @ model.A_
    found = (model.predict(X[:10], 1)[0] - model.mean_) / model.scale_
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_exact_likelihood_is_the_mixture_of_gaussians():
    model = plain(3)
    X = WAVES[0][:6]
    Z = (X - model.mean_) / model.scale_
    for t, found in zip(range(2, 6), model.log_likelihood(X), strict=True):
        past = np.concatenate([Z[t - 1], Z[t - 2]])
        a, b = model.a_ + past @ model.A_, model.b_ + past @ model.B_
        h = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
        weight = h @ b + h @ model.W_.T @ a + 0.5 * ((h @ model.W_.T) ** 2).sum(axis=1)
        weight = np.exp(weight - weight.max())
        gap = Z[t] - a - h @ model.W_.T
        density = (weight / weight.sum()) @ np.exp(-0.5 * (gap**2).sum(axis=1)) / (2 * np.pi) ** 1.5
        assert abs(found - (np.log(density) - np.log(model.scale_).sum())) < 1e-10


def test_likelihood_by_annealing_agrees():
    model = plain(12)
    exact = model.log_likelihood(WAVES[0][:12])
    found, error = model.log_likelihood(
        WAVES[0][:12], method="ais", n_runs=300, return_std=True, random_state=0
    )
    assert (np.abs(found - exact) < 3 * error).all()


def test_density_does_not_depend_on_units():
    """Frames times c have a density divided by c to the number of channels."""
    one = CRBM(4, n_epochs=3, random_state=0).fit(WAVES)
    for factor in (1e5, 1e-5):
        two = CRBM(4, n_epochs=3, random_state=0).fit([factor * x for x in WAVES])
        gap = two.log_likelihood([factor * x for x in WAVES]) + 3 * np.log(factor)
        np.testing.assert_allclose(gap, one.log_likelihood(WAVES), rtol=1e-8)


def test_without_hidden_units_training_ends_at_least_squares():
    rng = np.random.RandomState(0)
    X = np.zeros((600, 2))
    for t in range(1, 600):
        X[t] = X[t - 1] @ [[0.6, 0.2], [-0.3, 0.5]] + rng.standard_normal(2)
    model = CRBM(
        0,
        1,
        ar_learning_rate=0.05,
        learning_rate=0.05,
        weight_decay=0,
        batch_size=600,
        n_epochs=800,
    ).fit(X)
    linear = VectorAutoRegression(1).fit((X - model.mean_) / model.scale_)
    # full-batch descent contracts by at least 1 - 0.05 · 0.5 a step: below 1e-8 after 800
    np.testing.assert_allclose(model.A_, linear.coef_, atol=1e-7)
    np.testing.assert_allclose(model.a_, linear.intercept_, atol=1e-7)


@pytest.mark.parametrize("kinds", [{}, {"n_features": 3}, {"tie_features": False}])
def test_a_style_makes_a_crbm(kinds):
    model = loud(FCRBM(4, 3, order=2, n_epochs=0, random_state=0, **kinds).fit(WAVES, STYLES), 0.8)
    if model.tie_features:
        model.Wz_ = model.Az_ = model.Bz_ = model.Z_
    style = np.array([[0.0, 1.0]])
    z = style if model.n_features is None else style @ model.R_
    one = model.effective_crbm("slow")
    gate = np.diag((z @ model.Wz_)[0])
    np.testing.assert_allclose(one.W_, model.Wv_ @ gate @ model.Wh_.T, atol=1e-12)
    np.testing.assert_allclose(
        one.A_, model.Ap_ @ np.diag((z @ model.Az_)[0]) @ model.Av_.T, atol=1e-12
    )
    X = WAVES[0]
    for ask in ("free_energy", "transform", "log_likelihood"):
        np.testing.assert_allclose(
            getattr(one, ask)(X), getattr(model, ask)(X, "slow"), atol=1e-11, err_msg=ask
        )
    np.testing.assert_allclose(
        one.sample(5, X[:4], random_state=3), model.sample(5, X[:4], "slow", random_state=3)
    )
    np.testing.assert_allclose(one.predict(X[:4], 2), model.predict(X[:4], 2, "slow"), atol=1e-8)


def test_gated_machine_with_labels_is_one_crbm_for_each():
    model = loud(GatedCRBM(4, order=2, n_epochs=0, random_state=0).fit(WAVES, STYLES))
    for number, style in enumerate(["fast", "slow"]):
        one = model.effective_crbm(style)
        np.testing.assert_array_equal(one.W_, model.W_[number])
        np.testing.assert_allclose(one.free_energy(WAVES[0]), model.free_energy(WAVES[0], style))
        np.testing.assert_allclose(
            one.log_likelihood(WAVES[0]), model.log_likelihood(WAVES[0], style)
        )


def test_factored_machine_is_its_product():
    model = loud(FactoredCRBM(4, 3, n_epochs=0, random_state=0).fit(WAVES))
    one = model.effective_crbm()
    np.testing.assert_allclose(one.log_likelihood(WAVES), model.log_likelihood(WAVES), atol=1e-11)


def test_static_binary_machine_is_sklearns():
    X = (np.random.RandomState(0).random_sample((50, 4)) < 0.4).astype(float)
    theirs = BernoulliRBM(3, n_iter=2, random_state=0).fit(X)
    ours = GaussianBernoulliRBM(3, "binary", n_epochs=0, random_state=0).fit(X)
    ours.W_, ours.b_ = theirs.components_.T, theirs.intercept_hidden_
    ours.a_ = theirs.intercept_visible_
    np.testing.assert_allclose(ours.free_energy(X), theirs._free_energy(X), rtol=1e-12)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-14)


# --- learning ----------------------------------------------------------------------------------


def test_learning_raises_the_exact_likelihood_of_held_out_frames():
    kinds = {"learning_rate": 0.01, "ar_learning_rate": 0.01, "random_state": 0}
    scores = [CRBM(6, n_epochs=n, **kinds).fit(WAVES[:1]).score(WAVES[1]) for n in (0, 20, 60)]
    assert scores[0] < scores[1] < scores[2]


def test_divergence_goes_back_and_says_what_to_try():
    with pytest.warns(ConvergenceWarning, match=r"Try learning_rate=5 and ar_learning_rate=5"):
        model = CRBM(5, learning_rate=50, ar_learning_rate=50, n_epochs=30).fit(WAVES)
    assert np.isfinite(model.W_).all()
    assert len(model.history_) < 30


def test_default_rates_of_the_factored_machine_do_not_blow_up():
    """Many factors and a long, correlated past: the first epoch is below the frames' variance."""
    X = np.random.RandomState(0).standard_normal((600, 30)).cumsum(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = FCRBM(100, 200, n_features=50, order=12, n_epochs=5, random_state=0)
        model.fit(X, np.arange(600) % 4)
    assert max(record["reconstruction_error"] for record in model.history_) < 1.5


def test_divergence_in_the_first_epoch_is_seen():
    model = FCRBM(20, 10, learning_rate=30, ar_learning_rate=30, n_epochs=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="in epoch 0"):
        model.fit(WAVES, STYLES)
    assert np.abs(model.Wv_).max() < 1  # where it started


def test_steps_are_clipped_and_counted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = CRBM(5, learning_rate=2.0, ar_learning_rate=1.0, n_epochs=5).fit(WAVES)
    assert any(record["clipped"] for record in model.history_)
    calm = CRBM(5, n_epochs=5).fit(WAVES)
    assert not any(record["clipped"] for record in calm.history_)


def test_sparsity_lowers_activity():
    kinds = {"learning_rate": 0.05, "n_epochs": 40, "random_state": 0}
    free = CRBM(10, **kinds).fit(WAVES).transform(WAVES).mean()
    sparse = CRBM(10, sparsity_target=0.1, sparsity_cost=1.0, **kinds).fit(WAVES)
    assert abs(sparse.transform(WAVES).mean() - 0.1) < 0.05 < abs(free - 0.1)


def test_schedules_of_gibbs_steps():
    model = CRBM(3, n_epochs=4, cd_k=[1, 2, 5]).fit(WAVES)
    assert [record["cd_k"] for record in model.history_] == [1, 2, 5, 5]
    model = CRBM(3, n_epochs=3, cd_k=lambda epoch: 1 + epoch).fit(WAVES)
    assert [record["cd_k"] for record in model.history_] == [1, 2, 3]


def test_partial_fit_carries_on():
    model = CRBM(4, learning_rate=0.01, ar_learning_rate=0.01, random_state=0)
    for _ in range(20):
        model.partial_fit(WAVES)
    assert len(model.history_) == 20
    errors = [record["reconstruction_error"] for record in model.history_]
    assert errors[-1] < 0.2 * errors[0]
    styled = FCRBM(4, 3, random_state=0)
    styled.partial_fit(WAVES[:1], STYLES[:1], classes=["fast", "slow"])
    styled.partial_fit(WAVES[1:], STYLES[1:])
    assert styled.transform(WAVES, STYLES).shape == (394, 4)


def test_frames_on_disk_are_read_in_blocks(tmp_path, monkeypatch):
    import octavo.sequence.conditional_rbm.base as base
    import octavo.sequence.conditional_rbm.frames as frames

    X = np.concatenate(WAVES)
    stored = np.memmap(tmp_path / "frames", dtype=X.dtype, mode="w+", shape=X.shape)
    stored[:] = X
    kinds = {"learning_rate": 0.01, "ar_learning_rate": 0.01, "n_epochs": 30, "random_state": 0}
    whole = CRBM(4, **kinds).fit(X, lengths=[200, 200])
    one = CRBM(4, **kinds).fit(stored, lengths=[200, 200])  # one block: the same order of frames
    np.testing.assert_allclose(one.mean_, whole.mean_, rtol=1e-12)
    monkeypatch.setattr(frames, "BLOCK", 64)
    monkeypatch.setattr(base, "BLOCK", 64)
    for given in ((stored, [200, 200]), ([stored[:200], stored[200:]], None)):
        model = CRBM(4, **kinds).fit(given[0], lengths=given[1])
        np.testing.assert_allclose(model.scale_, whole.scale_, rtol=1e-12)
        assert abs(model.score(X, lengths=[200, 200]) - whole.score(X, lengths=[200, 200])) < 0.1
        np.testing.assert_allclose(
            model.free_energy(given[0], lengths=given[1]), model.free_energy(WAVES), atol=1e-12
        )


# --- frames to come ----------------------------------------------------------------------------


def test_prediction_minimises_the_free_energy():
    model = plain(4)
    X = WAVES[0][:10]

    def energy(v):
        return model.free_energy(np.vstack([X[-2:], v]))[0]

    found = model.predict(X, 1)[0]
    start = minimize(energy, X[-1], method="BFGS", options={"gtol": 1e-9})
    assert energy(found) <= start.fun + 1e-9


def test_histories_in_batches():
    model = plain(4)
    many = np.stack([WAVES[0][t : t + 5] for t in range(4)])
    found = model.predict(many, 3)
    for one, answer in zip(many, found, strict=True):
        np.testing.assert_allclose(model.predict(one, 3), answer, atol=1e-8)
    assert model.sample(3, many).shape == (4, 3, 3)


def test_sampling_has_the_conditional_mean():
    """One hidden unit: the mean of a sampled frame is a + W p(h), p exact from the mixture."""
    model = plain(1)
    X = WAVES[0][:2]
    Z = (X - model.mean_) / model.scale_
    past = np.concatenate([Z[1], Z[0]])
    a, b = model.a_ + past @ model.A_, model.b_ + past @ model.B_
    many = model.sample(1, np.repeat(X[None], 4000, axis=0), gibbs=60, random_state=0)[:, 0]
    found = ((many - model.mean_) / model.scale_).mean(axis=0)
    # visible units are means: the chain over h alone has p(1|h) = σ(b + Wᵀ(a + W h))
    W = model.W_[:, 0]
    on = [1 / (1 + np.exp(-(b[0] + W @ (a + W * h)))) for h in (0, 1)]
    share = on[0] / (1 + on[0] - on[1])
    last = share * on[1] + (1 - share) * on[0]
    np.testing.assert_allclose(found, a + W * last, atol=4 * np.abs(W).max() * 0.5 / 4000**0.5)


def test_clip_keeps_the_training_range():
    model = plain(4)
    model.A_ = 3 * np.eye(6, 3)
    assert model.spectral_radius() > 2.9
    found = model.sample(30, WAVES[0][:2], clip=True, random_state=0)
    assert (found >= model.low_ - 1e-9).all()
    assert (found <= model.high_ + 1e-9).all()


def test_noise_on_hidden_biases_changes_the_walk():
    model = plain(4)
    quiet, shaken = (model.sample(20, WAVES[0][:2], noise=n, random_state=0) for n in (0, 3.0))
    assert np.abs(quiet - shaken).max() > 1e-3


@pytest.mark.parametrize("method", ["gibbs", "map"])
def test_known_values_stay_and_missing_ones_are_filled(method):
    model = CRBM(10, learning_rate=0.01, ar_learning_rate=0.01, n_epochs=80, random_state=0)
    model.fit(WAVES)
    holes = WAVES[0].copy()
    holes[50:90, 0] = np.nan
    holes[0, 1] = np.nan
    found = model.impute(holes, method, random_state=0)
    known = ~np.isnan(holes)
    np.testing.assert_array_equal(found[known], WAVES[0][known])
    near = NearestFrameImputer(1).fit(WAVES[1:]).impute(holes)
    errors = [np.mean((x - WAVES[0])[50:90, 0] ** 2) for x in (found, near)]
    assert errors[0] < 0.1 * np.var(WAVES[0][:, 0])


def test_constant_channels_are_put_back():
    X = [np.insert(x, 1, 7.0, axis=1) for x in WAVES]
    one = CRBM(4, n_epochs=3, random_state=0).fit(X)
    two = CRBM(4, n_epochs=3, random_state=0).fit(WAVES)
    assert one.W_.shape == (3, 4)
    np.testing.assert_array_equal(one.kept_, [True, False, True, True])
    np.testing.assert_allclose(one.free_energy(X), two.free_energy(WAVES))
    found = one.sample(4, X[0][:3], random_state=1)
    np.testing.assert_array_equal(found[:, 1], 7.0)
    np.testing.assert_allclose(
        np.delete(found, 1, axis=1), two.sample(4, WAVES[0][:3], random_state=1)
    )


def test_styles_as_rows_and_blends():
    rows = [np.tile([1.0, 2.0], (200, 1)), np.tile([3.0, 1.0], (200, 1))]
    model = FCRBM(4, 3, n_epochs=3, random_state=0).fit(WAVES, rows)
    assert model.transform(WAVES, rows).shape == (394, 4)
    way = blend_styles([1, 2], [3, 1], 10)
    assert model.sample(10, WAVES[0][:3], y=way).shape == (10, 3)
    labelled = FCRBM(4, 3, n_epochs=3, random_state=0).fit(WAVES, STYLES)
    np.testing.assert_allclose(
        labelled.free_energy(WAVES[0], "fast"), labelled.free_energy(WAVES[0], [1.0, 0.0])
    )


def test_scores_say_what_they_are():
    small, large = plain(4), plain(21)
    assert small.score_kind_ == "exact log-likelihood"
    assert large.score_kind_ == "negative free energy"
    np.testing.assert_allclose(small.score_samples(WAVES), small.log_likelihood(WAVES))
    np.testing.assert_allclose(large.score_samples(WAVES), -large.free_energy(WAVES))
    np.testing.assert_allclose(small.score_samples(WAVES, exact=False), -small.free_energy(WAVES))


# --- layers ------------------------------------------------------------------------------------


def test_layers_generate_and_finetune():
    kinds = {"learning_rate": 0.01, "ar_learning_rate": 0.01, "n_epochs": 60, "random_state": 0}
    net = ConditionalDBN([CRBM(12, **kinds), CRBM(8, order=2, **kinds)], random_state=0).fit(WAVES)
    assert net.layers_[1].visible == "binary"
    assert net.transform(WAVES).shape == (390, 8)
    np.testing.assert_array_equal(net.recognition_[0]["W"], net.layers_[0].W_)
    before = net.sample(20, WAVES[0][:5], random_state=0)
    assert np.abs(before).max() < 3
    net.finetune(3)
    assert np.abs(net.recognition_[0]["W"] - net.layers_[0].W_).max() > 0  # untied
    assert net.sample(20, WAVES[0][:5], random_state=0).shape == (20, 3)


def test_one_layer_is_the_machine_itself():
    kinds = {"n_epochs": 3, "random_state": 0}
    net = ConditionalDBN([CRBM(4, **kinds)]).fit(WAVES)
    one = CRBM(4, **kinds).fit(WAVES)
    np.testing.assert_array_equal(net.transform(WAVES), one.transform(WAVES))


def test_styles_reach_the_top_layer():
    kinds = {"n_epochs": 2, "random_state": 0}
    net = ConditionalDBN([CRBM(4, **kinds), CRBM(3, order=1, **kinds)]).fit(WAVES, STYLES)
    assert net.layers_[0].n_styles_ == 0
    assert net.layers_[1].n_styles_ == 2
    assert net.sample(3, WAVES[0][:5], y="slow").shape == (3, 3)
    net.finetune(1)


# --- baselines ---------------------------------------------------------------------------------


def test_autoregression_is_least_squares_with_an_intercept():
    X = np.random.RandomState(0).standard_normal((80, 3)).cumsum(axis=0) * [1e5, 1.0, 1e-5] + 4
    model = VectorAutoRegression(2).fit(X)
    past = np.hstack([np.ones((78, 1)), X[1:-1], X[:-2]])
    exact = np.linalg.lstsq(past / np.abs(past).max(axis=0), X[2:], rcond=None)[0]
    exact = exact / np.abs(past).max(axis=0)[:, None]
    np.testing.assert_allclose(
        past[:, 1:] @ model.coef_ + model.intercept_, past @ exact, rtol=1e-7
    )
    residual = X[2:] - past @ exact
    from scipy.stats import multivariate_normal

    cov = residual.T @ residual / 78
    size = np.sqrt(np.diag(cov))
    dense = multivariate_normal(np.zeros(3), cov / np.outer(size, size)).logpdf(residual / size)
    np.testing.assert_allclose(model.score_samples(X), dense - np.log(size).sum(), rtol=1e-6)


def test_autoregressions_that_fit_without_error_have_no_density():
    X = np.random.RandomState(0).standard_normal((40, 3))
    model = VectorAutoRegression(20).fit(X)  # 61 coefficients a channel for 20 frames
    with pytest.raises(ValueError, match="without error"):
        model.score_samples(X)
    assert np.isfinite(VectorAutoRegression(20, alpha=0.1).fit(X).score(X))


def test_penalty_of_the_autoregression():
    X = np.random.RandomState(0).standard_normal((60, 2))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model = VectorAutoRegression(1, alpha=0.5).fit(Z)
    past, now = Z[:-1] - Z[:-1].mean(axis=0), Z[1:] - Z[1:].mean(axis=0)
    exact = np.linalg.solve(past.T @ past / 59 + 0.5 * np.eye(2), past.T @ now / 59)
    np.testing.assert_allclose(model.coef_, exact, atol=1e-12)


def test_nearest_frames_by_brute_force():
    rng = np.random.RandomState(0)
    X, Z = rng.standard_normal((30, 4)) * [1, 10, 0.1, 1], rng.standard_normal((5, 4))
    Z[:, [1, 3]] = np.nan
    found = NearestFrameImputer(3).fit(X).impute(Z)
    scale = X.std(axis=0)
    for row, answer in zip(Z, found, strict=True):
        distance = (((X - row) / scale)[:, [0, 2]] ** 2).sum(axis=1)
        np.testing.assert_allclose(
            answer[[1, 3]], X[np.argsort(distance)[:3]][:, [1, 3]].mean(axis=0)
        )


# --- other namespaces --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["CRBM", "FCRBM", "GatedCRBM"])
def test_strict_arrays_give_the_answers_of_numpy(kind):
    xp = pytest.importorskip("array_api_strict")
    make = {
        "CRBM": lambda: CRBM(4, n_epochs=2, random_state=0),
        "FCRBM": lambda: FCRBM(4, 3, n_features=2, n_epochs=2, random_state=0),
        "GatedCRBM": lambda: GatedCRBM(4, n_epochs=2, random_state=0),
    }[kind]
    y = None if kind == "CRBM" else STYLES
    one = None if kind == "CRBM" else "slow"
    ours = make().fit(WAVES, y)
    with sklearn.config_context(array_api_dispatch=True):
        X = [xp.asarray(x) for x in WAVES]
        model = make().fit(X, y)
        for ask in ("free_energy", "transform", "log_likelihood"):
            found = getattr(model, ask)(X, y)
            assert isinstance(found, type(X[0]))
            wanted = getattr(ours, ask)(WAVES, y)
            np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-10)
        found = model.sample(3, X[0][:4, :], y=one, random_state=0)
        wanted = ours.sample(3, WAVES[0][:4], y=one, random_state=0)
        np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-10)
        found = model.predict(X[0][:4, :], 2, y=one)
        np.testing.assert_allclose(
            np.asarray(found), ours.predict(WAVES[0][:4], 2, y=one), atol=1e-8
        )
        with pytest.raises(Exception, match="namespace"):
            model.transform(WAVES, y)


# --- bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: CRBM().fit([WAVES[0], WAVES[1][:3]]), "too short: sequence 1"),
        (lambda: CRBM().fit(np.full((20, 2), np.nan)), "NaN or infinite at sequence 0"),
        (lambda: CRBM().fit(np.ones((20, 2))), "All channels of X are constant"),
        (lambda: CRBM(visible="binary").fit(WAVES), "between 0 and 1"),
        (lambda: FCRBM().fit(WAVES), "needs y"),
        (lambda: FCRBM().fit(WAVES, STYLES[:1]), "one label or one row"),
        (lambda: FCRBM().fit(WAVES, np.zeros((400, 2))), "all-zero style"),
        (lambda: plain().log_likelihood(WAVES[0], method="best"), "'exact' or 'ais'"),
        (lambda: plain(21).log_likelihood(WAVES[0]), '"ais"'),
        (lambda: plain().sample(3, WAVES[0][:1]), "looks 2 frames back"),
        (lambda: plain().sample(0, WAVES[0]), "n_steps must be"),
        (lambda: plain().sample(3, WAVES[0], gibbs=0), "gibbs must be"),
        (lambda: plain().sample(3, WAVES[0], noise=-1), "noise must be"),
        (lambda: plain().predict(WAVES[0][:, :2]), "channels"),
        (lambda: plain().impute(WAVES[0], "mean"), "'gibbs' or 'map'"),
        (lambda: plain().transform(WAVES[0], y=1), "without styles"),
        (lambda: CRBM(cd_k=[0]).fit(WAVES), "cd_k must be a positive integer"),
        (lambda: blend_styles([1, 0], [1]), "one length"),
        (lambda: ConditionalDBN([CRBM(), "CRBM"]).fit(WAVES), "layers must be a list"),
        (lambda: NearestFrameImputer(9).fit(WAVES[0][:5]), "k=9"),
        (lambda: GatedCRBM(order=0, gate="history").fit(WAVES), "needs a past"),
    ],
)
def test_bad_input_is_met_by_a_sentence(act, words):
    with pytest.raises(ValueError, match=words) as caught:
        act()
    assert str(caught.value).endswith(".")


def test_unseen_styles_are_named():
    model = FCRBM(3, 2, n_epochs=1).fit(WAVES, STYLES)
    with pytest.raises(ValueError, match="not seen in training: 'odd'"):
        model.transform(WAVES[0], "odd")
    with pytest.raises(ValueError, match="trained with styles"):
        model.transform(WAVES[0])
    with pytest.raises(ValueError, match="all-zero style"):
        model.sample(3, WAVES[0][:3], y=[0.0, 0.0])


# --- units in which residuals are white --------------------------------------------------------


def shaken(seed=0):
    rng = np.random.RandomState(seed)
    mix = np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.3], [0.0, 0.0, 0.5]])
    return [100 * (x + 0.3 * rng.standard_normal(x.shape) @ mix) + 7 for x in WAVES]


def test_residual_units_without_hidden_units_are_the_linear_model():
    X = shaken()
    linear = VectorAutoRegression(2).fit(X)
    model = CRBM(0, order=2, n_epochs=0, standardize="residual").fit(X)
    np.testing.assert_allclose(model.log_likelihood(X), linear.score_samples(X), atol=1e-8)
    np.testing.assert_allclose(model.predict(X[0][:9], 3), linear.predict(X[0][:9], 3), atol=1e-6)
    holes = X[0][:8].copy()
    holes[6, :2] = np.nan
    mean = linear.predict(X[0][:6], 1)[0]
    S = linear.covariance_
    expected = mean[:2] + S[:2, 2:] @ np.linalg.solve(S[2:, 2:], X[0][6, 2:] - mean[2:])
    for method in ("gibbs", "map"):
        filled = model.impute(holes, method)
        np.testing.assert_allclose(filled[6, :2], expected, atol=1e-6)
        np.testing.assert_array_equal(filled[:6], X[0][:6])
        assert filled[6, 2] == X[0][6, 2]


def test_residual_units_are_a_change_of_variables():
    X = shaken()
    model = loud(CRBM(4, order=2, n_epochs=0, standardize="residual", random_state=0).fit(X))
    white = [((x - model.mean_) / model.scale_) @ model.whitening_ for x in X]
    same = CRBM(4, order=2, n_epochs=0, standardize=False, random_state=0).fit(white)
    for name in ("W", "A", "B", "a", "b"):
        setattr(same, f"{name}_", getattr(model, f"{name}_"))
    volume = np.log(model.scale_).sum() - np.log(np.abs(np.linalg.det(model.whitening_)))
    np.testing.assert_allclose(
        model.log_likelihood(X), same.log_likelihood(white) - volume, atol=1e-8
    )
    back = np.linalg.inv(model.whitening_)
    made = model.sample(5, X[0], gibbs=5, clip=True, random_state=1)
    assert (made >= model.low_ - 1e-9).all()
    assert (made <= model.high_ + 1e-9).all()
    free = same.sample(1, white[0], gibbs=5, random_state=1) @ back * model.scale_ + model.mean_
    np.testing.assert_allclose(model.sample(1, X[0], gibbs=5, random_state=1), free, atol=1e-6)


def test_means_as_reconstructions_cost_density_and_draws_do_not():
    rng = np.random.RandomState(3)
    size = np.where(np.arange(3000) // 50 % 2, 3.0, 0.5)[:, None]  # calm and wild by turns
    X = size * rng.standard_normal((3000, 2))
    options = {"order": 1, "learning_rate": 0.01, "standardize": "residual", "n_epochs": 60}
    linear = VectorAutoRegression(1).fit(X[:2000]).score(X[2000:])
    found = {
        kind: CRBM(6, reconstruction=kind, random_state=0, **options).fit(X[:2000]).score(X[2000:])
        for kind in ("mean", "sample")
    }
    assert found["mean"] < linear - 0.05
    assert found["sample"] > linear - 0.01


def test_residual_units_need_residuals():
    x = np.random.RandomState(0).standard_normal((50, 1))
    with pytest.raises(ValueError, match="leaves something over in every direction"):
        CRBM(2, n_epochs=1, standardize="residual").fit(np.hstack([x, 2 * x]))


@pytest.mark.parametrize("machine", [FCRBM, FactoredCRBM, GatedCRBM])
def test_every_machine_takes_residual_units(machine):
    X, gated = shaken(), machine is not FactoredCRBM
    model = machine(4, order=2, n_epochs=2, standardize="residual", reconstruction="sample")
    y = (STYLES,) if gated else ()
    model.set_params(random_state=0).fit(X, *y)
    assert np.isfinite(model.log_likelihood(X, *y)).all()
