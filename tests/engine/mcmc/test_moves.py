import numpy as np
import pytest
from scipy import stats

from octavo.engine.mcmc.chains import check_schedule
from octavo.engine.mcmc.diagnostics import monte_carlo_error
from octavo.engine.mcmc.enumeration import all_subsets, exact_law, frequencies, total_variation
from octavo.engine.mcmc.joint_test import geweke_joint_test
from octavo.engine.mcmc.metropolis import AdaptiveScale, random_walk_metropolis
from octavo.engine.mcmc.subsets import (
    SWAP,
    birth_probability,
    choose_move,
    death_probability,
    walk_over_subsets,
)


def log_gamma(x):
    return 2.0 * np.log(x[0]) - x[0] if x[0] > 0.0 else -np.inf


def test_a_random_walk_draws_from_its_target():
    target = stats.gamma(3.0)
    walk = random_walk_metropolis(
        lambda x: target.logpdf(x[0]),
        [1.0],
        check_schedule(12_000, 1_000),
        np.random.default_rng(0),
    )
    for power in (1, 2):
        moments = walk.draws[:, 0] ** power
        assert abs(moments.mean() - target.moment(power)) < 4 * monte_carlo_error(moments)
    assert 0.3 < walk.acceptance < 0.6


def test_a_frozen_scale_stays():
    step = AdaptiveScale(1.0)
    step.record(True)
    step.freeze()
    held = step.scale
    assert held > 1.0
    step.record(False)
    assert step.scale == held
    assert step.acceptance == 0.0


def test_a_start_outside_the_support_is_refused():
    with pytest.raises(ValueError, match="finite log density"):
        random_walk_metropolis(
            lambda x: -np.inf, [1.0], check_schedule(2, 1), np.random.default_rng(0)
        )


def test_moves_are_chosen_as_often_as_they_should():
    u = (np.arange(10_000) + 0.5) / 10_000
    for k in range(6):
        share = np.bincount([choose_move(v, k, 5, 4, True) for v in u], minlength=4) / u.size
        birth, death = birth_probability(k, 4), death_probability(k, 4)
        np.testing.assert_allclose(share[:3], [birth, death, 1 - birth - death], atol=2e-4)
        search = np.bincount([choose_move(v, k, 5, 4, False) for v in u], minlength=4) / u.size
        assert search[1] == pytest.approx(0.6 * k / 5, abs=2e-4)
        assert search[SWAP] == pytest.approx(0.4 if 0 < k < 5 else 0.0, abs=2e-4)


@pytest.mark.parametrize("jump", [True, False])
@pytest.mark.parametrize("k_max", [1, 3, 4])
@pytest.mark.slow
def test_subsets_come_as_often_as_their_exact_law_says(jump, k_max):
    """Σ √(p(1-p)) / √(2 N τ) with τ about ten is 0.008 for these laws: 0.03 is far outside."""
    rng = np.random.default_rng(7)
    pull = rng.normal(size=(4, 4))

    def log_post(mask):
        return float(mask @ pull @ mask)

    states = all_subsets(4, k_max)
    draws = walk_over_subsets(log_post, 4, k_max, 40_000, rng, jump=jump)
    seen = frequencies(draws.masks, states)
    assert total_variation(seen, exact_law(log_post, states)) < 0.03
    assert np.all(draws.accepted <= draws.proposed)


def test_the_enumeration_oracle_refuses_a_stranger():
    with pytest.raises(ValueError, match="1 draws are none"):
        frequencies(np.array([[True, True]]), all_subsets(2, 1))


def normal_model(shrink):
    def transition(state, rng):
        return rng.normal(shrink * state[1], np.sqrt(0.5)), state[1]

    return geweke_joint_test(
        prior=lambda rng: (rng.normal(), 0.0),
        simulate=lambda state, rng: (state[0], rng.normal(state[0], 1.0)),
        transition=transition,
        statistics=lambda state: (state[0], state[0] ** 2, state[0] * state[1]),
        n_draws=20_000,
        rng=np.random.default_rng(3),
    )


def test_the_joint_test_passes_what_is_right_and_fails_what_is_wrong():
    assert np.abs(normal_model(0.5).z).max() < 4
    assert np.abs(normal_model(0.6).z).max() > 6
