"""Bounds before the data: by hand, and by exact tails and simulation."""

import numpy as np
import pytest
from scipy import stats

from octavo.linear import (
    calibrate_perturbation,
    excess_objective_bound,
    noise_norm_bound,
    private_minimisers,
    required_samples,
)

pytestmark = pytest.mark.filterwarnings("ignore::octavo.linear.ReproducibleNoiseWarning")


@pytest.mark.parametrize("k", [1, 2, 10, 100])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-4])
def test_lemma_17_holds_for_the_exact_tail(k, delta):
    bound = noise_norm_bound(k, 0.3, delta)
    assert bound == pytest.approx(k * 0.3 * np.log(k / delta))
    assert stats.gamma(k, scale=0.3).sf(bound) <= delta * (1 + 1e-9)
    if k == 1:  # an exponential variable: the bound is its quantile
        assert stats.gamma(k, scale=0.3).sf(bound) == pytest.approx(delta)


def test_lemmas_16_and_19_by_hand():
    n, d, alpha, delta, epsilon, c = 500, 6, 0.05, 0.1, 0.8, 0.25
    public = {"n_samples": n, "alpha": alpha}
    paper = {**public, "tol": 0.0}
    log2 = np.log(d / delta) ** 2
    output = calibrate_perturbation("output", epsilon=epsilon, **paper)
    assert excess_objective_bound(output, n_features=d, delta=delta, **public) == pytest.approx(
        2 * d**2 * (c + alpha) * log2 / (alpha * n * epsilon) ** 2
    )
    objective = calibrate_perturbation("objective", epsilon=epsilon, **paper)
    prime = epsilon - 2 * np.log(1 + c / (n * alpha))
    assert excess_objective_bound(objective, n_features=d, delta=delta, **public) == pytest.approx(
        4 * d**2 * log2 / (alpha * n**2 * prime**2)
    )


@pytest.mark.parametrize("method", ["output", "objective"])
@pytest.mark.parametrize("B", [1.0, 3.0])
@pytest.mark.slow
def test_private_models_stay_within_the_bound(method, B):
    """400 draws: more than δ of them may not exceed it, up to a binomial tail of 1e-6."""
    rng = np.random.default_rng(0)
    n, d, delta = 300, 3, 0.2
    alpha = 0.05 * B**2
    X = rng.normal(size=(n, d))
    X *= B / np.linalg.norm(X, axis=1)[:, None]
    y = np.where(X[:, 0] > 0.1 * B * rng.normal(size=n), 1.0, -1.0)
    public = {"n_samples": n, "alpha": alpha, "data_norm": B}

    def objective(f):
        return np.logaddexp(0, -y * (X @ f)).mean() + alpha / 2 * f @ f

    noise = calibrate_perturbation(method, epsilon=0.5, **public)
    none = calibrate_perturbation(method, epsilon=np.inf, **public)
    best = objective(private_minimisers(X, y, "logistic", alpha, none)[0])
    models = private_minimisers(X, y, "logistic", alpha, noise, n_draws=400, random_state=1)
    excess = np.array([objective(f) for f in models]) - best
    bound = excess_objective_bound(noise, n_features=d, delta=delta, **public)
    assert (excess >= -1e-12).all()
    assert stats.binom(400, delta).sf((excess > bound).sum() - 1) > 1e-6
    assert excess_objective_bound(none, n_features=d, delta=delta, **public) == 0


def test_lemma_19_needs_the_first_branch():
    public = {"n_samples": 20, "alpha": 1e-3}
    noise = calibrate_perturbation("objective", epsilon=0.1, **public)
    with pytest.raises(ValueError, match="without added penalty"):
        excess_objective_bound(noise, n_features=3, delta=0.1, **public)


def test_sample_sizes_by_hand():
    norm, excess, d, epsilon, delta, c = 4.0, 0.1, 20, 0.5, 0.05, 2.25
    spread = d * np.log(d / delta)
    learning = norm**2 * np.log(1 / delta) / excess**2
    common = {"norm": norm, "excess": excess, "n_features": d, "epsilon": epsilon, "curvature": c}
    output = required_samples("output", delta=delta, **common)
    assert output == pytest.approx(
        max(
            learning,
            spread * norm / (excess * epsilon),
            spread * np.sqrt(c) * norm**2 / (excess**1.5 * epsilon),
        )
    )
    objective = required_samples("objective", delta=delta, constant=3.0, **common)
    assert objective == pytest.approx(
        3 * max(learning, c * norm**2 / (excess * epsilon), spread * norm / (excess * epsilon))
    )
    free = required_samples("output", **{**common, "epsilon": np.inf})
    assert free == pytest.approx(learning)


def test_harder_problems_favour_the_objective():
    """The ratio of the privacy terms grows like √c ‖f₀‖ / √ε_g (Section 4)."""
    for norm in (10, 100):
        need = {"norm": norm, "excess": 0.01, "n_features": 50, "epsilon": 0.01, "curvature": 0.25}
        ratio = required_samples("output", **need) / required_samples("objective", **need)
        assert ratio == pytest.approx(0.5 * norm / 0.1)


@pytest.mark.parametrize(
    "bad", [{"delta": 0}, {"delta": 1.5}, {"norm": 0}, {"excess": -1}, {"epsilon": 0}]
)
def test_bad_input(bad):
    need = {"norm": 1.0, "excess": 0.1, "n_features": 5, "epsilon": 1.0}
    with pytest.raises(ValueError, match=next(iter(bad))):
        required_samples("output", **{**need, **bad})
    with pytest.raises(ValueError, match="method"):
        required_samples("input", **need)
