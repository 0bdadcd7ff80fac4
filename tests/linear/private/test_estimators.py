"""Private linear classifiers: calibration by hand, noise by its law, limits, refusals."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression

from octavo.engine.smooth.losses import make_loss
from octavo.linear import (
    ConvergenceError,
    CustomLoss,
    PrivateHuberSVM,
    PrivateLinearClassifier,
    PrivateLogisticRegression,
    ReproducibleNoiseWarning,
    calibrate_perturbation,
    draw_noise,
    private_minimisers,
)
from octavo.linear.private.noise import NoiseSource, integer_laplace
from octavo.linear.private.perturbation import release_mask

LOSSES = ["logistic", "huber", "smooth_hinge"]
pytestmark = pytest.mark.filterwarnings("ignore::octavo.linear.ReproducibleNoiseWarning")


def problem(seed=0, n=200, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    y = np.where(X @ rng.normal(size=d) + 0.2 * rng.normal(size=n) > 0, 1, -1)
    return X, y


def slopes(loss, h, p, y):
    """First derivatives written again from the paper's formulas."""
    z = y * p
    if loss == "logistic":
        return -y / (1 + np.exp(z))
    inside = np.abs(1 - z) <= h
    steep = np.where(z < 1 - h, -1.0, 0.0)
    if loss == "huber":  # derivative of Eq. (7)
        return y * np.where(inside, -(1 + h - z) / (2 * h), steep)
    quartic = (1 - z) ** 3 / (4 * h**3) - 3 * (1 - z) / (4 * h) - 0.5
    return y * np.where(inside, quartic, steep)


# --- calibration --------------------------------------------------------------------------------


def test_output_perturbation_by_hand():
    noise = calibrate_perturbation("output", n_samples=500, alpha=0.02, epsilon=0.4, tol=0)
    assert 1 / noise.noise_scale == pytest.approx(500 * 0.02 * 0.4 / 2, rel=1e-14)  # nΛε/2
    assert noise.delta_reg == 0


@pytest.mark.parametrize("c", [0.25, 1.0, 1.5])
def test_first_branch_by_hand(c):
    n, alpha, epsilon = 1000, 0.05, 0.3
    noise = calibrate_perturbation(
        "objective", n_samples=n, alpha=alpha, epsilon=epsilon, curvature=c, tol=0
    )
    prime = epsilon - np.log(1 + 2 * c / (n * alpha) + c**2 / (n * alpha) ** 2)
    assert noise.epsilon_prime == pytest.approx(prime, rel=1e-12)
    assert 1 / noise.noise_scale == pytest.approx(prime / 2, rel=1e-12)
    assert (noise.delta_reg, noise.branch) == (0, 1)


@pytest.mark.parametrize("c", [0.25, 1.0, 1.5])
def test_second_branch_by_hand(c):
    n, alpha, epsilon = 50, 1e-3, 0.3
    noise = calibrate_perturbation(
        "objective", n_samples=n, alpha=alpha, epsilon=epsilon, curvature=c, tol=0
    )
    assert noise.epsilon_prime == epsilon / 2
    assert noise.delta_reg == pytest.approx(c / (n * (np.exp(epsilon / 4) - 1)) - alpha, rel=1e-12)
    assert 1 / noise.noise_scale == pytest.approx(epsilon / 4, rel=1e-12)
    assert noise.branch == 2


@settings(max_examples=200, deadline=None)
@given(
    n=st.integers(1, 10_000),
    alpha=st.floats(1e-5, 10),
    epsilon=st.floats(0.01, 5),
    c=st.floats(0.01, 4),
    slack=st.sampled_from(["paper", "tight"]),
    tol=st.sampled_from([0.0, 1e-10, 1e-5, 0.1]),
)
def test_branches_meet_their_budget(n, alpha, epsilon, c, slack, tol):
    """Whatever the branch: noise, mask and change of volume together spend at most epsilon."""
    public = {"n_samples": n, "alpha": alpha, "epsilon": epsilon, "curvature": c, "slack": slack}
    public["tol"] = tol
    power = 2 if slack == "paper" else 1
    share = min(max((n * tol) ** (2 / 3), 1 / 1024), 1 / 2) if tol else 0.0
    mask = share * epsilon
    threshold = c / np.expm1((epsilon - mask) / power)
    for branch in ("auto", "best", 1, 2):
        if branch == 1 and n * alpha <= threshold * (1 + 1e-9):
            continue
        noise = calibrate_perturbation("objective", branch=branch, **public)
        assert noise.mask_epsilon == pytest.approx(mask)
        volume = power * np.log1p(c / (n * (alpha + noise.delta_reg))) + noise.mask_epsilon
        assert noise.epsilon_prime + volume <= epsilon * (1 + 1e-9)
        if noise.delta_reg > 0 or noise.branch == 1:  # nothing is wasted
            assert noise.epsilon_prime + volume >= epsilon * (1 - 1e-9)
        assert noise.noise_scale == pytest.approx(2 / noise.epsilon_prime)
    if abs(n * alpha / threshold - 1) > 1e-9:
        auto = calibrate_perturbation("objective", **public)
        assert auto.branch == (1 if n * alpha > threshold else 2)


def test_best_branch_moves_the_minimiser_least():
    """Displacement d·scale/(n(Λ+Δ)); between the two thresholds both branches are possible."""
    n, epsilon = 1000, 0.5
    for alpha in np.geomspace(0.3, 20, 60) / n:
        public = {"n_samples": n, "alpha": alpha, "epsilon": epsilon}
        moves = {}
        for branch in (1, 2, "best"):
            try:
                noise = calibrate_perturbation("objective", branch=branch, **public)
            except ValueError:
                continue
            moves[branch] = noise.noise_scale / (n * (alpha + noise.delta_reg))
        assert moves["best"] == pytest.approx(min(moves.values()))


def test_noise_blows_up_where_the_first_branch_ends():
    edge = 0.25 / np.expm1(0.25) / 1000
    public = {"n_samples": 1000, "epsilon": 0.5, "tol": 0.0}
    inside = calibrate_perturbation("objective", alpha=edge * (1 + 1e-6), **public)
    outside = calibrate_perturbation("objective", alpha=edge * (1 - 1e-6), **public)
    assert (inside.branch, outside.branch) == (1, 2)
    assert inside.noise_scale > 1e5 * outside.noise_scale
    with pytest.raises(ValueError, match="branch=1 needs"):
        calibrate_perturbation("objective", alpha=edge / 2, branch=1, **public)


# --- noise --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [None, 11])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_noise_follows_its_law(d, seed):
    """‖b‖ is Gamma(d, scale) and b/‖b‖ uniform, from the system's generator and from a seed.

    With level 1e-6 a right generator fails once in a million runs.
    """
    source = NoiseSource(None if seed is None else np.random.RandomState(seed))
    b = np.array([draw_noise(d, 0.3, source) for _ in range(4000)])
    norms = np.linalg.norm(b, axis=1)
    assert stats.kstest(norms, stats.gamma(d, scale=0.3).cdf).pvalue > 1e-6
    if d == 1:
        assert stats.kstest(b[:, 0], stats.laplace(scale=0.3).cdf).pvalue > 1e-6
    else:  # a coordinate of a uniform direction: (1 + t)/2 is Beta((d-1)/2, (d-1)/2)
        t = (b / norms[:, None]) @ np.ones(d) / np.sqrt(d)
        law = stats.beta((d - 1) / 2, (d - 1) / 2)
        assert stats.kstest((1 + t) / 2, law.cdf).pvalue > 1e-6
        assert abs(stats.spearmanr(norms, t).statistic) < 5.5 / np.sqrt(4000)


def test_uniform_numbers_stay_inside():
    class Bits:
        def __init__(self, value):
            self.value = value

        def randint(self, low, high, size, dtype):
            return np.full(size, min(max(self.value, low), high - 1), dtype)

    for value, expected in ((0, 2.0**-53), (1 << 60, 1 - 2.0**-53)):
        source = NoiseSource(Bits(value))
        assert source.uniform(3).tolist() == [expected] * 3


class Bytes:
    """A generator whose 64-bit words are given."""

    def __init__(self, *words):
        self.words = list(words)

    def bytes(self, size):
        taken, self.words = self.words[: size // 8], self.words[size // 8 :]
        return np.array(taken, np.uint64).tobytes()


def test_full_uniform_numbers_keep_their_bits_near_zero():
    """The exponent counts the zeros before the first one, the mantissa is 52 further coins."""
    ones, first = 2**64 - 1, 2**63
    for words, expected in (
        ((first, 0), 0.5),
        ((ones, ones), 1 - 2.0**-53),
        ((2**62, 0), 0.25),
        ((2**11, 0), 2.0**-53),
        ((0, first, 0), 2.0**-54),  # 53 zeros, then a one at once
        ((0, 0, 2**60, ones), 2.0**-109 * (1 - 2.0**-53)),
        ((2**11 - 1, first, 0), 2.0**-54),  # the last 11 bits of a word are not used
    ):
        source = NoiseSource(Bytes(*words))
        assert source.full_uniform(1).tolist() == [expected]
        assert not source._generator.words
    seen = NoiseSource(np.random.RandomState(0)).full_uniform(40_000)
    assert stats.kstest(seen, "uniform").pvalue > 1e-6
    assert (
        stats.kstest(-np.log2(seen[seen < 0.01]) + np.log2(0.01), "expon", (0, 1 / np.log(2)))[1]
        > 1e-6
    )


@pytest.mark.parametrize("seed", [None, 3])
def test_normal_numbers_follow_their_law(seed):
    source = NoiseSource(None if seed is None else np.random.RandomState(seed))
    z = source.normal(40_000)
    assert stats.kstest(z, "norm").pvalue > 1e-6


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000, 2**40 + 1])
def test_whole_numbers_below_a_bound_are_equally_likely(bound):
    source = NoiseSource(np.random.RandomState(1))
    drawn = source.below(bound, 6000)
    single = np.array([source.below_any(bound) for _ in range(600)], dtype=float)
    for found, n in ((drawn, 6000), (single, 600)):
        assert found.min() >= 0
        assert found.max() < bound
        bins = min(bound, 10)
        counts = np.bincount((found * bins // bound).astype(int), minlength=bins)
        if (bins > 1 and bound <= 10) or bound > 10**6:
            assert stats.chisquare(counts).pvalue > 1e-6
        assert counts.sum() == n


@pytest.mark.parametrize("scale", [1, 2, 7, 1000])
def test_integer_noise_follows_its_law(scale):
    """P(k) = tanh(1/2s) exp(-|k|/s), against the counts of 20,000 draws."""
    k = integer_laplace(20_000, scale, NoiseSource(np.random.RandomState(4)))
    edges = np.unique(np.rint(scale * np.array([-3, -2, -1, -0.5, 0, 0.5, 1, 2, 3])).astype(int))

    def at_most(j):
        """Return P(k <= j), from the geometric sum."""
        q = np.exp(-1 / scale)
        return q ** (-j) / (1 + q) if j < 0 else 1 - q ** (j + 1) / (1 + q)

    chance = np.diff([0.0, *[at_most(int(j)) for j in edges], 1.0])
    counts = np.bincount(np.searchsorted(edges, k), minlength=len(edges) + 1)
    assert stats.chisquare(counts, 20_000 * chance).pvalue > 1e-6
    with pytest.raises(ValueError, match="between 1 and"):
        integer_laplace(1, 0)


def test_secret_noise_does_not_repeat_nor_follow_numpy_seeds():
    X, y = problem()
    drawn = set()
    for _ in range(3):
        np.random.seed(0)  # noqa: NPY002, as a script may do
        drawn.add(tuple(PrivateLogisticRegression().fit(X, y).coef_[0]))
    assert len(drawn) == 3


@pytest.mark.filterwarnings("default::octavo.linear.ReproducibleNoiseWarning")
def test_a_seed_warns_and_no_seed_does_not():
    X, y = problem()
    with pytest.warns(ReproducibleNoiseWarning, match="reproducible noise is not private"):
        PrivateLogisticRegression(random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateLogisticRegression().fit(X, y)


# --- the released model -------------------------------------------------------------------------


def unmasked(model, source):
    """Return coefficients without their mask, which the seed gives after the noise."""
    steps = integer_laplace(model.coef_.shape[1], round(model.mask_scale_ / model.grid_), source)
    return model.coef_ - steps * model.grid_


def unmasked_error(model):
    """Return how far those are from exact: a radius of 4 √d grids, and half a grid each."""
    return 4.5 * np.sqrt(model.coef_.shape[1]) * model.grid_


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_matrix])
def test_the_noise_is_what_the_model_says_it_is(loss, kind):
    """b from Eq. (6) at the released model is the noise that the seed gives."""
    X, y = problem(1)
    n, d = X.shape
    model = PrivateLinearClassifier(epsilon=0.7, loss=loss, alpha=0.02, h=0.4, random_state=5)
    source = NoiseSource(np.random.RandomState(5))
    expected = draw_noise(d, model.fit(kind(X), y).noise_scale_, source)
    f = unmasked(model, source)[0]
    b = -n * (0.02 + model.delta_reg_) * f - X.T @ slopes(loss, 0.4, X @ f, y)
    # The Hessian is at most Λ + c, with c = 3/(4h) at most.
    bend = 0.02 + model.delta_reg_ + 0.75 / 0.4
    np.testing.assert_allclose(b, expected, atol=n * bend * unmasked_error(model))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.slow
def test_released_models_follow_their_density_on_the_line(loss):
    """In one dimension f falls as b grows, so P(f ≤ t) = P(b ≥ b(t)), with b Laplace."""
    X, y = problem(2, n=40, d=1)
    alpha, h = 0.05, 0.5
    curvature = {"logistic": 0.25, "huber": 1.0, "smooth_hinge": 1.5}[loss]
    noise = calibrate_perturbation(
        "objective", n_samples=40, alpha=alpha, epsilon=0.8, curvature=curvature
    )
    mask = release_mask(noise, 40, 1, alpha, 1e-10)
    assert mask.scale * mask.grid < 1e-5 * noise.noise_scale / (40 * alpha)  # no part of the law
    f = private_minimisers(X, y.astype(float), loss, alpha, noise, n_draws=1500, random_state=3)
    slope = slopes(loss, h, X * f.T, y[:, None].astype(float))
    b = -40 * (alpha + noise.delta_reg) * f[:, 0] - (X * slope).sum(axis=0)
    law = stats.laplace(scale=noise.noise_scale)
    assert stats.kstest(law.sf(b), "uniform").pvalue > 1e-6


@pytest.mark.parametrize("loss", LOSSES)
def test_output_perturbation_adds_its_noise_to_the_minimiser(loss):
    X, y = problem(3)
    common = {"loss": loss, "method": "output", "alpha": 0.02}
    exact = PrivateLinearClassifier(epsilon=np.inf, **common).fit(X, y).coef_[0]
    model = PrivateLinearClassifier(epsilon=0.7, random_state=8, **common).fit(X, y)
    assert model.noise_scale_ == pytest.approx(2 / (200 * 0.02 * 0.7) * 1024 / 1023)
    source = NoiseSource(np.random.RandomState(8))
    noise = draw_noise(4, model.noise_scale_, source)
    found = unmasked(model, source)[0]
    # `exact` is one as well, to a gradient of 1e-10.
    np.testing.assert_allclose(found - exact, noise, atol=2 * unmasked_error(model) + 1e-10 / 0.02)


@pytest.mark.parametrize("method", ["objective", "output"])
def test_infinite_epsilon_is_logistic_regression(method):
    X, y = problem(4)
    alpha = 0.01
    twin = PrivateLogisticRegression(epsilon=np.inf, method=method, alpha=alpha).fit(X, y)
    theirs = LogisticRegression(C=1 / (len(y) * alpha), fit_intercept=False, tol=1e-12)
    np.testing.assert_allclose(twin.coef_, theirs.fit(X, y).coef_, atol=1e-6)
    np.testing.assert_allclose(twin.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert (twin.noise_scale_, twin.delta_reg_, twin.epsilon_spent_) == (0, 0, np.inf)


@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("loss", LOSSES)
def test_limits(method, loss):
    X, y = problem(5)
    common = {"method": method, "loss": loss, "random_state": 0}
    exact = PrivateLinearClassifier(np.inf, alpha=0.05, method=method, loss=loss).fit(X, y)
    near = PrivateLinearClassifier(1e9, alpha=0.05, **common).fit(X, y)
    # Noise of norm d·2/(nΛε) at most moves the minimiser by that much.
    np.testing.assert_allclose(near.coef_, exact.coef_, atol=1e-6)
    strong = PrivateLinearClassifier(1.0, alpha=1e6, **common).fit(X, y)
    assert np.abs(strong.coef_).max() < 1e-4


@pytest.mark.parametrize("method", ["objective", "output"])
@settings(max_examples=15, deadline=None)
@given(
    B=st.floats(-6, 6).map(lambda e: 10**e), loss=st.sampled_from(LOSSES), seed=st.integers(0, 99)
)
def test_a_norm_bound_is_a_change_of_units(method, B, loss, seed):
    """Records B times as large with Λ B² times as large give coefficients B times as small."""
    X, y = problem(seed, n=60)
    common = {"epsilon": 0.9, "loss": loss, "method": method, "random_state": seed}
    unit = PrivateLinearClassifier(alpha=0.03, **common).fit(X, y)
    scaled = PrivateLinearClassifier(alpha=0.03 * B**2, data_norm=B, clip="clip", **common)
    scaled.fit(B * X, y)
    # Gradients of 1e-10 B at most, in both units, leave 1e-10/Λ of a coefficient undecided.
    np.testing.assert_allclose(scaled.coef_ * B, unit.coef_, rtol=1e-7, atol=1e-8)
    assert scaled.epsilon_prime_ == pytest.approx(unit.epsilon_prime_)


def test_intercept_is_a_constant_feature_within_a_larger_ball():
    X, y = problem(6)
    k = 0.5
    model = PrivateLogisticRegression(
        1.0, alpha=0.01, fit_intercept=True, intercept_scaling=k, random_state=1
    ).fit(X, y)
    wide = np.hstack([X, np.full((len(y), 1), k)])
    by_hand = PrivateLogisticRegression(
        1.0, alpha=0.01, data_norm=np.sqrt(1 + k**2), random_state=1
    ).fit(wide, y)
    np.testing.assert_allclose(model.coef_[0], by_hand.coef_[0, :-1])
    np.testing.assert_allclose(model.intercept_, k * by_hand.coef_[0, -1])
    np.testing.assert_allclose(model.decision_function(X), by_hand.decision_function(wide))
    assert model.noise_scale_ == pytest.approx(by_hand.noise_scale_)


def test_several_classes_share_the_budget():
    rng = np.random.default_rng(7)
    X, labels = problem(7, n=300)[0], np.array(["ape", "bee", "cat"])
    y = labels[rng.integers(0, 3, 300)]
    model = PrivateHuberSVM(epsilon=0.9, alpha=0.1, random_state=2).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.epsilon_spent_ == 0.9
    source = NoiseSource(np.random.RandomState(2))
    one = calibrate_perturbation("objective", n_samples=300, alpha=0.1, epsilon=0.3, curvature=1.0)
    assert model.noise_scale_ == pytest.approx(one.noise_scale)
    for k, label in enumerate(labels):  # one stream of noise, class after class
        f = model.coef_[k]
        target = np.where(y == label, 1.0, -1.0)
        noise = draw_noise(4, one.noise_scale, source)
        f = f - integer_laplace(4, round(model.mask_scale_ / model.grid_), source) * model.grid_
        b = -300 * (0.1 + one.delta_reg) * f - X.T @ slopes("huber", 0.5, X @ f, target)
        bend = 0.1 + one.delta_reg + 1.0
        np.testing.assert_allclose(b, noise, atol=300 * bend * unmasked_error(model))


def test_probabilities_of_several_classes_add_up_even_far_out():
    X, _ = problem(8, n=90)
    y = np.arange(90) % 3
    model = PrivateLogisticRegression(np.inf, alpha=1e-3).fit(X, y)
    far = 1e4 * X
    for records in (X, far):
        chance = model.predict_proba(records)
        np.testing.assert_allclose(chance.sum(axis=1), 1)
    agreed = model.classes_[model.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(agreed, model.predict(X))


def test_custom_loss_equals_the_built_in_one():
    mine = CustomLoss(
        value=lambda p, y: np.logaddexp(0, -y * p),
        slope=lambda p, y: -y / (1 + np.exp(np.clip(y * p, -700, 700))),
        curvature=lambda p, y: 1 / (2 + 2 * np.cosh(np.clip(p, -700, 700))),
        lipschitz=1.0,
        curvature_bound=0.25,
    )
    X, y = problem(9)
    ours = PrivateLinearClassifier(1.0, loss=mine, random_state=0).fit(X, y)
    built_in = PrivateLinearClassifier(1.0, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, built_in.coef_, atol=1e-7)
    assert not hasattr(ours, "predict_proba")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lipschitz": 0.9}, "absolute slope at most 0.9"),
        ({"curvature_bound": 0.2}, "curvature at most 0.2"),
        ({"lipschitz": np.inf}, "unbounded slope"),
        ({"slope": lambda p, y: np.zeros_like(p)}, "not the derivative"),
        ({"curvature": lambda p, y: np.full_like(p, -0.1)}, "negative curvature"),
        ({"slope": lambda p, y: np.full_like(p, np.nan)}, "not finite"),
    ],
)
def test_custom_losses_that_break_their_word_are_refused(change, words):
    loss = {
        "value": lambda p, y: np.logaddexp(0, -y * p),
        "slope": lambda p, y: -y / (1 + np.exp(np.clip(y * p, -700, 700))),
        "curvature": lambda p, y: 1 / (2 + 2 * np.cosh(np.clip(p, -700, 700))),
        "lipschitz": 1.0,
        "curvature_bound": 0.25,
    }
    X, y = problem()
    with pytest.raises(ValueError, match=words):
        PrivateLinearClassifier(loss=CustomLoss(**{**loss, **change})).fit(X, y)


def test_a_loss_with_unknown_curvature_is_for_output_perturbation_only():
    def curvature(p, y):
        return np.zeros_like(p)

    ramp = CustomLoss(  # -y p: linear, hence Lipschitz; it claims no curvature bound
        value=lambda p, y: -y * p,
        slope=lambda p, y: -y,
        curvature=curvature,
        lipschitz=1.0,
        curvature_bound=np.inf,
    )
    X, y = problem()
    with pytest.raises(ValueError, match="bounded curvature"):
        PrivateLinearClassifier(loss=ramp).fit(X, y)
    model = PrivateLinearClassifier(np.inf, loss=ramp, method="output", alpha=0.5).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], (y @ X) / len(y) / 0.5)


# --- sensitivity --------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
def test_sensitivity_is_never_exceeded(loss):
    rng = np.random.default_rng(10)
    noise = calibrate_perturbation("output", n_samples=1, alpha=1, epsilon=np.inf)
    worst = 0.0
    for _ in range(150):
        n, d = int(rng.integers(1, 8)), int(rng.integers(1, 4))
        alpha = 10 ** rng.uniform(-2, 1.5)
        X = rng.normal(size=(n, d))
        X /= np.linalg.norm(X, axis=1)[:, None]
        y = rng.choice([-1.0, 1.0], n)
        X2, y2 = X.copy(), y.copy()
        X2[-1], y2[-1] = -X[-1], y[-1]  # the opposite record is the hardest to hide
        one, other = (
            private_minimisers(A, t, loss, alpha, noise)[0] for A, t in ((X, y), (X2, y2))
        )
        worst = max(worst, np.linalg.norm(one - other) * n * alpha / 2)
    assert 0.25 < worst <= 1 + 1e-9  # the pairs are hard, and none breaks the bound


def test_sensitivity_is_attained():
    """One record in the linear part of the loss: the minimisers are ±x/Λ."""
    noise = calibrate_perturbation("output", n_samples=1, alpha=4.0, epsilon=np.inf)
    y = np.array([1.0])
    one, other = (
        private_minimisers(np.array([[x]]), y, "huber", 4.0, noise)[0] for x in (1.0, -1.0)
    )
    np.testing.assert_allclose(one - other, 2 / 4.0)


# --- promises -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_nothing_of_the_records_is_kept_but_through_the_noise(fit_intercept):
    X, y = problem()
    model = PrivateLogisticRegression(fit_intercept=fit_intercept).fit(X, y)
    fitted = set(vars(model)) - set(model.get_params())
    noisy, public = (
        {"coef_", "intercept_"},
        {
            "classes_",
            "epsilon_spent_",
            "epsilon_prime_",
            "delta_reg_",
            "noise_scale_",
            "grid_",
            "mask_scale_",
            "branch_",
            "n_samples_public_",
            "n_features_in_",
        },
    )
    assert fitted == noisy | public


def test_rows_beyond_the_norm_are_refused_not_clipped():
    X, y = problem()
    X[17] *= 3 / np.linalg.norm(X[17])
    for records in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match=r"Row 17 has norm 3, above data_norm=1 \(1 of 200"):
            PrivateLogisticRegression().fit(records, y)


def in_pieces(X, n_pieces, wide=False):
    """Return a sparse table whose every entry is stored as that many equal pieces."""
    kind = np.int64 if wide else np.int32
    columns = np.tile(np.repeat(np.arange(X.shape[1]), n_pieces), len(X)).astype(kind)
    indptr = (np.arange(len(X) + 1) * X.shape[1] * n_pieces).astype(kind)
    return sp.csr_matrix((np.repeat(X.ravel() / n_pieces, n_pieces), columns, indptr), X.shape)


@pytest.mark.parametrize("wide", [False, True])
def test_a_row_in_pieces_has_the_norm_of_their_sum(wide):
    """400 entries of 1/20 in one column are a record of 20, though their stored norm is 1."""
    X, y = np.array([[20.0], [-0.5]]), [1, 0]
    pieces = in_pieces(X, 400, wide)
    assert np.linalg.norm(pieces.data[:400]) == pytest.approx(1.0)
    stored = pieces.data.copy()
    with pytest.raises(ValueError, match="Row 0 has norm 20, above data_norm=1"):
        PrivateLogisticRegression().fit(pieces, y)
    for clip in ("clip", "scale"):
        common = {"clip": clip, "alpha": 0.1, "random_state": 0}
        ours = PrivateLogisticRegression(**common).fit(pieces, y)
        dense = PrivateLogisticRegression(**common).fit(X, y)
        np.testing.assert_allclose(ours.coef_, dense.coef_, rtol=1e-9)
        np.testing.assert_allclose(
            ours.decision_function(pieces), dense.decision_function(X), rtol=1e-9
        )
    np.testing.assert_array_equal(pieces.data, stored)
    assert pieces.nnz == 800


def test_clip_and_scale_treat_each_row_by_itself():
    X, y = problem(11)
    X = 3 * X
    norms = np.linalg.norm(X, axis=1)
    clipped = X / np.maximum(norms / 1.5, 1)[:, None]
    scaled = 1.5 * X / norms[:, None]
    for clip, by_hand in (("clip", clipped), ("scale", scaled)):
        common = {"data_norm": 1.5, "fit_intercept": True, "random_state": 0}
        model = PrivateLogisticRegression(clip=clip, **common).fit(X, y)
        expected = PrivateLogisticRegression(**common).fit(by_hand, y)
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-9)
        np.testing.assert_allclose(
            model.decision_function(X), expected.decision_function(by_hand), atol=1e-9
        )
        np.testing.assert_allclose(
            model.decision_function(sp.csr_array(X)), model.decision_function(X), atol=1e-9
        )
    # a row of zeros has no direction to be scaled along and stays where it is
    rows, labels = np.vstack([X, 0 * X[:1]]), np.append(y, 1)
    common = {"data_norm": 1.5, "fit_intercept": True, "random_state": 0}
    zero = PrivateLogisticRegression(clip="scale", **common).fit(rows, labels)
    expected = PrivateLogisticRegression(**common).fit(np.vstack([scaled, 0 * X[:1]]), labels)
    np.testing.assert_allclose(zero.coef_, expected.coef_, atol=1e-9)


def test_a_minimiser_that_is_not_exact_is_not_released():
    X, y = problem()
    with pytest.raises(ConvergenceError, match="not private"):
        PrivateLogisticRegression(tol=1e-30).fit(X, y)


def test_huge_noise_is_solved_relative_to_it():
    X, y = problem(12, n=30)
    model = PrivateHuberSVM(epsilon=1e-7, alpha=1e-3).fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_labels_can_be_declared():
    X, y = problem()
    model = PrivateLogisticRegression(classes=[-1, 1, 3], alpha=1.0).fit(X, y)
    assert model.coef_.shape == (3, 4)
    one_sided = PrivateLogisticRegression(classes=["no", "yes"]).fit(X, np.repeat("yes", len(y)))
    assert one_sided.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="not in classes"):
        PrivateLogisticRegression(classes=[0, 1]).fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        PrivateLogisticRegression().fit(X, np.ones(len(y)))


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0},
        {"epsilon": -1.0},
        {"alpha": 0.0},
        {"alpha": -1e-3},
        {"data_norm": 0.0},
        {"clip": "none"},
        {"method": "input"},
        {"branch": 3},
        {"loss": "hinge"},
        {"h": 0.0},
        {"slack": "loose"},
        {"ledger": 5},
    ],
)
def test_bad_parameters(change):
    X, y = problem()
    with pytest.raises(ValueError, match=next(iter(change))):
        PrivateLinearClassifier(**change).fit(X, y)


@pytest.mark.parametrize("bad", [{"n_samples": 0}, {"alpha": 0}, {"epsilon": 0}, {"data_norm": -1}])
def test_calibration_refuses_nonsense(bad):
    with pytest.raises(ValueError, match="must be positive"):
        calibrate_perturbation("output", **{"n_samples": 5, "alpha": 1, "epsilon": 1, **bad})
    with pytest.raises(ValueError, match="scale"):
        draw_noise(2, np.nan)
    with pytest.raises(ValueError, match="dimension"):
        draw_noise(0, 1.0)


def test_weights_are_refused():
    X, y = problem()
    with pytest.raises(TypeError):
        PrivateLogisticRegression().fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError):
        PrivateLogisticRegression(class_weight="balanced")


def test_no_records():
    with pytest.raises(ValueError, match="0 sample"):
        PrivateLogisticRegression().fit(np.empty((0, 3)), np.empty(0))


def test_probabilities_are_for_the_logistic_loss():
    X, y = problem()
    assert not hasattr(PrivateHuberSVM(), "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        PrivateHuberSVM().fit(X, y).predict_proba(X)


def test_aliases_are_the_general_classifier():
    X, y = problem(13)
    for alias, loss in ((PrivateLogisticRegression, "logistic"), (PrivateHuberSVM, "huber")):
        ours = alias(random_state=4).fit(X, y)
        general = PrivateLinearClassifier(loss=loss, random_state=4).fit(X, y)
        np.testing.assert_array_equal(ours.coef_, general.coef_)
        assert "loss" not in ours.get_params()


def test_models_pickle_and_copy():
    X, y = problem()
    model = PrivateHuberSVM().fit(X, y)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))


def test_several_draws_are_single_draws():
    X, y = problem(14)
    noise = calibrate_perturbation("objective", n_samples=200, alpha=0.01, epsilon=0.5)
    source = NoiseSource(np.random.RandomState(0))
    many = private_minimisers(
        X, y.astype(float), "logistic", 0.01, noise, n_draws=3, random_state=0
    )
    single = [
        private_minimisers(X, y.astype(float), "logistic", 0.01, noise, random_state=source)[0]
        for _ in range(3)
    ]
    np.testing.assert_allclose(many, single, atol=1e-7)
    assert make_loss("log").curvature_bound == 0.25  # the default of the calibration
