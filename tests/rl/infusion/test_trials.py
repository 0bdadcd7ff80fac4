"""Measures by hand, controllers against their definitions, trials against a Python loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.rl import (
    EffectSiteTCI,
    PatientVariability,
    PIDController,
    PropofolEnv,
    SchniderPK,
    SigmoidPD,
    WatkinsQLambda,
    acceptance_table,
    controlled_share,
    infusion_rates,
    maintenance_mask,
    ohara_metrics,
    run_trial,
    simulate_patients,
    varvel_metrics,
)


def test_measures_by_hand():
    found = varvel_metrics([50, 52, 46, 60, 50], 50, [0, 1, 2, 3, 4])
    # performance errors 0, 4, -8, 20, 0
    assert found.mdpe == 0.0
    assert found.mdape == 4.0
    assert found.wobble == 4.0
    assert found.rmse == pytest.approx(np.sqrt((4 + 16 + 100) / 5))
    assert found.controlled == 80.0
    # |PE| = 0, 4, 8, 20, 0: slope (−2·0 − 4 + 20 + 0)/10 a minute
    assert found.divergence == pytest.approx(60 * 16 / 10)
    falling = varvel_metrics([50, 49, 48], 50, [0, 60, 120])  # away from it, below
    assert falling.divergence == pytest.approx(2.0)


def test_what_comes_after_the_steady_state_is_no_overshoot():
    bis, t = [95, 60, 47, 49, 50, 50, 50, 30], np.arange(8)
    found = ohara_metrics(bis, 50, t, window=2)
    assert (found.t_sp, found.t_ss, found.t_peak) == (2.0, 2.0, 2.0)
    assert (found.bis_peak, found.overshoot) == (47.0, 3.0)
    never = ohara_metrics(bis, 50, t, window=7)  # steady too late: all of it is looked at
    assert np.isnan(never.t_ss)
    assert (never.t_peak, never.overshoot) == (7.0, 20.0)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(1, 100), min_size=1, max_size=30), st.floats(10, 90), st.floats(-5, 5))
def test_properties_of_the_measures(bis, target, shift):
    t = np.arange(len(bis)) / 12
    one, two = varvel_metrics(bis, target, t), varvel_metrics(np.add(bis, shift), target, t)
    assert one.mdape >= abs(one.mdpe) - 1e-9
    assert two.wobble == pytest.approx(one.wobble, abs=1e-9)
    flat = varvel_metrics(np.full(len(bis), target + shift), target, t)
    assert flat.divergence == pytest.approx(0.0, abs=1e-9)
    assert flat.rmse == pytest.approx(abs(shift))


def test_scale_of_the_measures():
    bis, t = np.random.RandomState(0).uniform(40, 60, 50), np.arange(50.0)
    one = varvel_metrics(bis, 50, t)
    for factor in (1e5, 1e-5):
        two = varvel_metrics(bis * factor, 50 * factor, t)
        assert two.mdape == pytest.approx(one.mdape)
        assert two.rmse == pytest.approx(one.rmse * factor)


@pytest.mark.parametrize(
    "call",
    [([50], 0, [0]), ([50], -3, [0]), ([], 50, []), ([np.nan], 50, [0]), ([50, 51], 50, [0])],
)
def test_bad_measurements(call):
    with pytest.raises(ValueError, match=r"^[A-Z].*[.]$"):
        varvel_metrics(*call)


def test_ohara_by_hand():
    t = np.arange(9.0)
    found = ohara_metrics([95, 70, 48, 42, 46, 50, 51, 50, 50], 50, t, window=2)
    assert (found.t_sp, found.t_peak, found.t_ss) == (2.0, 3.0, 4.0)
    assert (found.bis_peak, found.overshoot) == (42.0, 8.0)
    up = ohara_metrics([40, 50, 61, 67, 64, 58, 60, 60, 60], 60, t, window=3)
    assert (up.t_sp, up.t_peak, up.bis_peak, up.t_ss) == (2.0, 3.0, 67.0, 4.0)
    never = ohara_metrics([90, 80, 80], 50, [0, 1, 2])
    assert np.isnan([never.t_sp, never.t_peak, never.t_ss, never.bis_peak]).all()


def test_maintenance_begins_again_with_each_target():
    bis = [95, 60, 52, 49, 50, 51, 48, 60, 61]
    target = [50] * 5 + [60] * 4
    mask = maintenance_mask(bis, target, np.arange(9.0), window=2)
    assert mask.tolist() == [False, False, True, True, True, False, False, True, True]


def test_controlled_by_hand():
    assert controlled_share([45, 55, 55.1, 44], 50) == 50.0
    assert controlled_share([40, 60, 39], 50, within=10) == pytest.approx(200 / 3)


def test_pid_by_hand():
    pid = PIDController(2.0, 1.0, 3.0, time_constant=0.0, lag=1, dt=60.0)
    assert pid.act(52.0, 50.0) == pytest.approx(2 * 2 + 2)
    # integral 2 + 3, change 1 a minute
    assert pid.act(53.0, 50.0) == pytest.approx(2 * 3 + 5 + 3)


def test_the_integral_does_not_wind_up():
    pid = PIDController(1.0, 1.0, 0.0, time_constant=0.0, highest=10.0)
    step = 1.0 * 5 / 60  # what an error of one adds to the integral in five seconds
    for _ in range(1000):
        assert pid.act(95.0, 50.0) == 10.0
    # the proportional part alone was above the limit: the integral is still empty
    assert pid.act(52.0, 50.0) == pytest.approx(2 + 2 * step)
    assert pid.reset().act(20.0, 50.0) == 0.0
    for _ in range(1000):
        assert pid.act(20.0, 50.0) == 0.0
    assert pid.act(52.0, 50.0) == pytest.approx(2 + 2 * step)


def test_missing_bis_holds_the_rate_and_is_counted():
    pid = PIDController()
    rate = pid.act(60.0, 50.0)
    assert pid.act(float("nan"), 50.0) == rate
    assert pid.held_ == 1


@pytest.mark.parametrize("person", [(21, 75, 170, "male"), (60, 60, 160, "female")])
def test_effect_site_reaches_its_goal_and_stays(person):
    pk = SchniderPK(*person)
    goals = np.repeat([3.0, 4.0, 2.0], 360)
    rates = EffectSiteTCI().rates(pk, goals)
    Ce = pk.simulate(rates, 5.0)[:, 3]
    assert rates.min() >= 0
    assert rates.max() <= 60
    assert Ce[:360].max() <= 3.0 + 1e-9
    # kept by steps of five seconds, each of which aims at the goal exactly
    assert np.abs(Ce[200:360] - 3.0).max() < 1e-6
    assert np.abs(Ce[600:720] - 4.0).max() < 1e-6
    # nothing takes the drug out: downwards the pump stops until the goal is near
    assert (rates[720:760] == 0).all()


def test_open_loop_step_by_step_is_the_plan():
    tci, pk = EffectSiteTCI(), SchniderPK(21, 75, 170, "male")
    tci.reset(pk)
    goal = SigmoidPD().inverse(50.0)
    step = [tci.act(70.0, 50.0) for _ in range(100)]
    assert np.allclose(step, tci.rates(pk, [goal] * 100), atol=1e-9)


class Wrapped:
    """A controller that the trial cannot compile."""

    def __init__(self, inner):
        self.inner = inner

    def reset(self, patient):
        self.inner.reset(patient)

    def act(self, bis, target):
        rate = self.inner.act(bis, target)
        self.held_ = self.inner.held_
        return rate


@pytest.mark.parametrize("controller", [PIDController(), EffectSiteTCI()])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_compiled_trials_are_the_python_loop(controller, dropout):
    options = {"variability": PatientVariability(dropout=dropout), "minutes": 30, "random_state": 3}
    one = simulate_patients(controller, 2, **options)
    two = simulate_patients(Wrapped(controller), 2, **options)
    assert np.array_equal(one.target, two.target)
    # the last bits of products differ; a stable loop does not grow them
    assert np.allclose(one.rate, two.rate, atol=1e-7)
    assert np.allclose(one.smoothed, two.smoothed, atol=1e-7)
    assert np.allclose(one.measured, two.measured, atol=1e-7, equal_nan=True)
    assert np.array_equal(one.held, two.held)
    if dropout and isinstance(controller, PIDController):
        assert one.held.sum() > 0


def test_policy_in_a_trial_is_the_policy_in_the_environment():
    """Without noise and shifts, a patient of the trial is the environment's patient."""
    agent = WatkinsQLambda(random_state=0).fit(PropofolEnv(exploring=True), 200)
    calm = PatientVariability(
        0, sensitivity=(0, 0), procedure=(0, 0), noise=0.0, magnitude=(0, 0), ke0=(0.17, 0.17)
    )
    record = simulate_patients(agent, 1, variability=calm, targets=[50], minutes=20, random_state=0)
    env = PropofolEnv(record.patients[0].pharmacokinetics(), 50, noise=0.0)
    seen, _ = env.reset(seed=0)
    for t in range(240):
        seen, _, _, _, info = env.step(agent.predict([seen])[0])
        assert info["rate"] == record.rate[0, t]
        assert info["bis"] == pytest.approx(record.bis[0, t], abs=1e-9)
    assert set(record.rate[0]) <= set(infusion_rates())


def test_trials_are_paired_and_repeat():
    one = run_trial(PIDController(), 5, minutes=60, random_state=7)
    again = run_trial(PIDController(), 5, minutes=60, random_state=7)
    other = run_trial(EffectSiteTCI(), 5, minutes=60, random_state=7)
    for name in one:
        assert np.array_equal(one[name], again[name], equal_nan=True)
    for name in ("age", "weight", "ke0", "sensitivity", "procedure"):
        assert np.array_equal(one[name], other[name])
    assert {len(v) for v in one.values()} == {5}


def test_criteria():
    trial = run_trial(PIDController(), 20, random_state=1)
    table = acceptance_table(trial)
    assert table["mdape"]["criterion"] == 7.5
    assert table["mdape"]["median"] == np.median(trial["mdape"])
    assert table["controlled"]["met"] == (np.median(trial["controlled"]) >= 80)
    with pytest.raises(ValueError, match="run_trial"):
        acceptance_table({})


@pytest.mark.parametrize(
    ("controller", "options"),
    [
        (3, {}), (WatkinsQLambda(), {}), (PIDController(), {"n_patients": 0}),
        (PIDController(), {"targets": [0]}), (PIDController(), {"minutes": -1}),
        (PIDController(), {"variability": 1}), (PIDController(), {"pd": 2}),
    ],
)  # fmt: skip
def test_bad_trials(controller, options):
    with pytest.raises(ValueError, match=r"^[A-Z].*[.]$"):
        run_trial(controller, **options)


def test_a_step_of_the_target_is_in_the_change_that_a_policy_perceives():
    """Section 3.1.2: the change is E(t) - E(t - 2), and E is the distance from the target."""
    agent = WatkinsQLambda(random_state=0).fit(PropofolEnv(exploring=True), 20_000)
    record = simulate_patients(agent, 4, targets=[60, 40], minutes=20, random_state=0)
    # signals are those after a step; what is decided next sees them and the new target
    error = record.smoothed[:, :-1] - record.target[:, 1:]
    change = error[:, 2:] - error[:, :-2]
    stepped = record.target[:, 3:] != record.target[:, 1:-2]
    assert stepped.any()
    seen = np.stack([error[:, 2:], change], axis=-1)
    rates = infusion_rates()[agent.predict(seen.reshape(-1, 2))].reshape(change.shape)
    assert np.array_equal(record.rate[:, 3:][stepped], rates[stepped])
    assert np.array_equal(record.rate[:, 3:], rates)
