"""Compartments against the matrix exponential, mass balance and closed forms; patients."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from octavo.rl import (
    FittedPD,
    PatientVariability,
    PropofolEnv,
    SchniderPK,
    SigmoidPD,
    infusion_rates,
    lean_body_mass,
)


def amounts_system(age, weight, height, male, ke0):
    """Written from the sheet's formulas, in amounts, independently of the class."""
    lean = 1.1 * weight - 128 * (weight / height) ** 2
    if not male:
        lean = 1.07 * weight - 148 * (weight / height) ** 2
    v1, v2, v3 = 4.27, 18.9 - 0.391 * (age - 53), 238.0
    cl1 = 1.89 + 0.0456 * (weight - 77) - 0.0681 * (lean - 59) + 0.0264 * (height - 177)
    cl2, cl3 = 1.29 - 0.024 * (age - 53), 0.836
    A = np.zeros((4, 4))
    A[0, :3] = -(cl1 + cl2 + cl3) / v1, cl2 / v2, cl3 / v3
    A[1, :2] = cl2 / v1, -cl2 / v2
    A[2, 0], A[2, 2] = cl3 / v1, -cl3 / v3
    A[3, 0], A[3, 3] = ke0 / v1, -ke0
    return A, np.array([v1, v2, v3, 1.0]), cl1


@pytest.mark.parametrize("person", [(21, 75, 170, "male"), (60, 58, 162, "f"), (45, 95, 185, "M")])
@pytest.mark.parametrize("dt", [1.0, 5.0, 60.0])
def test_steps_equal_the_matrix_exponential(person, dt):
    u = np.random.RandomState(0).uniform(0, 60, 50)
    A, volumes, _ = amounts_system(*person[:3], person[3].lower().startswith("m"), 0.17)
    block = np.zeros((5, 5))
    block[:4, :4], block[0, 4] = A, 1.0
    step, x, rows = expm(block * dt / 60), np.zeros(5), []
    for rate in u:
        x[4] = rate
        x = step @ x
        rows.append(x[:4] / volumes)
    # fifty products of well conditioned 4 x 4 matrices: a few hundred roundings of 1e-16
    assert np.allclose(SchniderPK(*person).simulate(u, dt), rows, rtol=1e-10, atol=1e-12)


def test_equals_an_integrator():
    pk = SchniderPK(30, 70, 175, "female", ke0=0.456)
    found = pk.simulate([20.0] * 12, 5.0)[-1]
    solved = solve_ivp(
        lambda t, c: pk.matrix @ c + pk.inflow * 20.0, (0, 1), np.zeros(4), rtol=1e-11, atol=1e-13,
        method="DOP853",
    )  # fmt: skip
    assert np.allclose(found, solved.y[:, -1], rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(20, 80), st.floats(50, 100), st.floats(158, 190), st.booleans())
def test_what_went_in_is_inside_or_eliminated(age, weight, height, male):
    pk = SchniderPK(age, weight, height, "male" if male else "female")
    u, dt = np.random.RandomState(age).uniform(0, 60, 200), 5.0
    # the eliminated amount is a fifth state; its exponential is exact, as the others'
    block = np.zeros((6, 6))
    block[:4, :4], block[:4, 5] = pk.matrix, pk.inflow
    block[4, 0] = pk.clearances[0]
    step, x = expm(block * dt / 60), np.zeros(6)
    for rate in u:
        x[5] = rate
        x = step @ x
    inside = pk.volumes @ pk.simulate(u, dt)[-1, :3]
    infused = u.sum() * dt / 60
    assert abs(inside + x[4] - infused) < 1e-10 * infused


def test_steady_state_is_rate_over_clearance():
    pk = SchniderPK(40, 80, 180, "male")
    week = pk.simulate([10.0] * 400, 3600.0)[-1]
    # the slowest compartment fills with a half-life of hours; 400 h leave nothing of it
    assert np.allclose(week, 10.0 / pk.clearances[0], rtol=1e-9)


def test_bolus_is_three_exponentials():
    pk = SchniderPK(21, 75, 170, "male")
    rates, modes = np.linalg.eig(pk.matrix)
    minutes = np.arange(1, 61) / 6
    weights = np.linalg.solve(modes, pk.bolus(100.0))
    closed = (modes[3] * weights * np.exp(np.outer(minutes, rates))).sum(axis=1).real
    found = pk.simulate(np.zeros(60), 10.0, start=pk.bolus(100.0))[:, 3]
    assert np.allclose(found, closed, rtol=1e-10)


def test_peak_times_of_figure_5():
    """On the five-second grid 2.42, 2.17 and 2.00 min, which spreads over 25 s."""
    times, peaks = [], []
    for ke0 in (0.1275, 0.17, 0.2125):
        pk = SchniderPK(21, 75, 170, "male", ke0)
        Ce = pk.simulate(np.zeros(120), 5.0, start=pk.bolus(100.0))[:, 3]
        times.append((Ce.argmax() + 1) * 5 / 60)
        peaks.append(Ce.max())
    assert np.round(times, 2).tolist() == [2.42, 2.17, 2.0]
    assert np.round(peaks, 2).tolist() == [2.14, 2.68, 3.16]
    assert np.ptp(SigmoidPD().predict(peaks)) > 20


def test_step_is_simulate():
    pk = SchniderPK(30, 70, 175, "female")
    rows = pk.simulate([10.0, 0.0, 60.0], 5.0)
    assert np.array_equal(rows, [pk.step(u, 5.0) for u in (10.0, 0.0, 60.0)])


@pytest.mark.parametrize("person", [(21, 75, 170, "m"), (70, 52, 160, "f")])
def test_equals_pytci(person):
    propofol = pytest.importorskip("PyTCI.models.propofol")
    peer = propofol.Schnider(*person)
    peer.set_integrator("exact")
    pk = SchniderPK(*person, ke0=60 * peer.keo, constants="rates")
    assert np.allclose(pk.volumes, [peer.v1, peer.v2, peer.v3], rtol=1e-14)
    u, rows = np.random.RandomState(0).uniform(0, 60, 100), []
    for rate in u:
        peer.giveoverseconds(rate / 60, 5)
        rows.append((peer.x1, peer.xeo))
    assert np.allclose(pk.simulate(u, 5.0)[:, [0, 3]], rows, rtol=1e-10, atol=1e-12)
    # Schnider's clearances against the rounded constants: equal to the printed digits
    exact = SchniderPK(*person)
    assert np.allclose(exact.clearances / 4.27, pk.clearances / 4.27, rtol=5e-3)


def test_lean_body_mass_by_hand():
    assert lean_body_mass(75, 170, "male") == pytest.approx(82.5 - 128 * (75 / 170) ** 2)
    assert lean_body_mass(60, 160, "f") == pytest.approx(64.2 - 148 * (60 / 160) ** 2)


@pytest.mark.parametrize(
    ("person", "word"),
    [
        ((10, 70, 175, "male"), "Age"),
        ((40, 30, 175, "male"), "Weight"),
        ((40, 70, 140, "male"), "Height"),
        ((40, 120, 160, "male"), "Body mass index"),
    ],
)
def test_patients_outside_the_model_are_named(person, word):
    with pytest.warns(UserWarning, match=word):
        SchniderPK(*person)


def test_the_prototype_is_inside():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SchniderPK(21, 75, 170, "male")


@pytest.mark.parametrize("u", [[-1.0], [np.nan], [np.inf], ["a"], [[1.0]], None])
def test_bad_rates(u):
    with pytest.raises(ValueError, match=r"^[A-Z].*[.]$"):
        SchniderPK(30, 70, 175, "male").simulate(u, 5.0)


@pytest.mark.parametrize(
    "change", [{"sex": "x"}, {"age": -1}, {"weight": np.nan}, {"ke0": 0}, {"height": "tall"}]
)
def test_bad_patients(change):
    person = {"age": 30, "weight": 70, "height": 175, "sex": "male"} | change
    with pytest.raises(ValueError, match=r"^[A-Z].*[.]$"):
        SchniderPK(**person)


def test_effect_and_its_inverse():
    pd = SigmoidPD()
    assert pd.predict(0.0) == 95.0
    assert pd.predict(2.6) == pytest.approx(55.0)
    assert pd.inverse(pd.predict(3.1)) == pytest.approx(3.1, rel=1e-12)
    with pytest.raises(ValueError, match="no concentration"):
        pd.inverse(10.0)


def test_fits_recover_a_curve():
    Ce = np.linspace(0, 8, 300)
    truth = SigmoidPD(93.0, 70.0, 3.0, 2.5)
    found = SigmoidPD.fit(Ce, truth.predict(Ce))
    assert np.allclose([found.E0, found.Emax, found.C50, found.g], [93, 70, 3, 2.5], rtol=1e-4)
    # a falling curve is its own isotonic fit; between 300 points it is linear
    assert np.allclose(
        FittedPD().fit(Ce, truth.predict(Ce)).predict(Ce), truth.predict(Ce), atol=0.1
    )
    net = FittedPD("mlp", random_state=0).fit(Ce, truth.predict(Ce))
    assert (np.diff(net.bis_) <= 0).all()
    assert np.abs(net.predict(Ce) - truth.predict(Ce)).mean() < 2.0


def test_stimuli_have_the_rate_length_and_sign_that_is_asked():
    many = PatientVariability(0, interval=30.0, duration=(1.0, 1.0), magnitude=(10.0, 10.0))
    x = many.stimuli(12 * 60 * 2000)
    n = 2000 * 60 / 30
    share = np.abs(x).sum() / 10 / len(x)
    # n events of 12 steps; overlaps add with their signs, of which 0.8² + 0.2² agree
    assert share == pytest.approx(n * 12 / len(x), rel=0.06)
    assert x.sum() / np.abs(x).sum() == pytest.approx(0.6, abs=0.06)


def test_patients_stay_in_their_ranges():
    draws = [PatientVariability(s).draw() for s in range(200)]
    assert all(0.1275 <= p.ke0 <= 0.2125 and p.procedure >= 0 for p in draws)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for p in draws:
            p.pharmacokinetics()


def test_environment_follows_the_compartments():
    env, actions = PropofolEnv(noise=0.0, time_constant=0.0), [14] * 12 + [3] * 60
    observation, _ = env.reset(seed=0)
    assert observation.tolist() == [45.0, 0.0]
    rows = []
    for a in actions:
        observation, reward, terminated, truncated, info = env.step(a)
        rows.append((info["Ce"], *observation, reward))
    pk = SchniderPK(21, 75, 170, "male")
    Ce = pk.simulate(infusion_rates()[actions], 5.0)[:, 3]
    bis = SigmoidPD().predict(Ce)
    padded = np.concatenate([[95.0, 95.0], bis])
    rows = np.array(rows)
    assert np.allclose(rows[:, 0], Ce, rtol=1e-12)
    assert np.allclose(rows[:, 1], bis - 50, atol=1e-10)
    assert np.allclose(rows[1:, 2], (padded[2:] - padded[:-2])[1:], atol=1e-10)
    assert np.allclose(rows[:, 3], -np.abs(bis - 50), atol=1e-10)
    assert not terminated
    assert not truncated


def test_missing_measurements_repeat_the_last_observation():
    env = PropofolEnv(variability=PatientVariability(0, dropout=1.0))
    first, _ = env.reset(seed=1)
    for _ in range(3):
        seen, _, _, _, info = env.step(14)
        assert np.isnan(info["measured"])
        assert seen[0] == first[0]


@pytest.mark.parametrize(
    "options",
    [
        {"target": 0}, {"target": np.nan}, {"noise": -1}, {"dt": 0}, {"patient": 3}, {"lag": 0},
        {"variability": "a"}, {"pd": 1}, {"horizon": 1.5}, {"exploring": 2},
    ],
)  # fmt: skip
def test_bad_environments(options):
    with pytest.raises(ValueError, match=r"^[A-Z].*[.]$"):
        PropofolEnv(**options)


@pytest.mark.parametrize("action", [-1, 15, 2.5, np.nan, "a", None])
def test_bad_actions(action):
    env = PropofolEnv()
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"^[A-Z].*[.]$"):
        env.step(action)
    with pytest.raises(ValueError, match="reset"):
        PropofolEnv().step(0)
