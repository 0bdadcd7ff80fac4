"""Perturbed leaders against closed forms, simulation, the lemmas and the adversary of the paper."""

import itertools
import math
import pickle
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from octavo import plot
from octavo.data import fbm
from octavo.online import (
    CBMS,
    PROT,
    AdaHedge,
    CombinedGamma,
    ConstantGamma,
    FlipFlop,
    FollowPerturbedLeader,
    FollowTheLeader,
    Hedge,
    InverseGamma,
    NormalHedge,
    PowerGamma,
    ShiftedGamma,
    VariationMW,
    adversary_prop1,
    fpl_probabilities,
    game_diagnostics,
    ifpl_losses,
    polynomial_bound,
    prot_bound,
    prot_constants,
    trade_zero_sum,
    zero_sum_experts,
)

pytestmark = pytest.mark.filterwarnings("ignore:one round raised:UserWarning")
quiet = pytest.mark.filterwarnings("ignore::UserWarning")


def growing_losses(seed, n_rounds=200, n_experts=3, growth=0.3):
    rng = np.random.default_rng(seed)
    t = np.arange(1, n_rounds + 1)[:, None]
    return rng.standard_t(5, size=(n_rounds, n_experts)) * t**growth


# --- exact probabilities ----------------------------------------------------------------------


def by_inclusion_exclusion(totals, eps):
    """q_i Σ_S (-1)^|S| Π_S q / (|S| + 1) over subsets S of the others."""
    q = np.exp(-eps * (np.asarray(totals, dtype=float) - np.min(totals)))
    out = []
    for i in range(q.size):
        others = np.delete(q, i)
        terms = [
            (-1) ** size / (size + 1) * math.fsum(map(math.prod, subsets))
            for size in range(q.size)
            for subsets in [list(itertools.combinations(others, size))]
        ]
        out.append(q[i] * math.fsum(terms))
    return np.array(out)


@pytest.mark.parametrize("n_experts", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("eps", [0.1, 1.0, 30.0])
def test_probabilities_by_inclusion_and_exclusion(n_experts, eps):
    totals = np.random.default_rng(n_experts).normal(size=n_experts)
    np.testing.assert_allclose(
        fpl_probabilities(totals, eps), by_inclusion_exclusion(totals, eps), atol=2e-12
    )


@given(d=st.floats(0, 50), eps=st.floats(1e-3, 100))
@settings(deadline=None)
def test_two_experts_in_closed_form(d, eps):
    np.testing.assert_allclose(
        fpl_probabilities([0.0, d], eps)[1], 0.5 * math.exp(-eps * d), rtol=1e-12, atol=1e-300
    )


@pytest.mark.parametrize("n_experts", [94, 97, 500])
def test_probabilities_of_many_experts(n_experts):
    """Groups of equal experts: the integral by a fine rule of another kind."""
    rng = np.random.default_rng(0)
    totals = rng.choice([0.0, 0.5, 2.0, 9.0], n_experts)
    q = np.exp(-(totals - totals.min()))
    z = 0.5 * (1 - np.cos(np.linspace(0, np.pi, 10_001)[:-1]))  # dense at both ends
    log_product = np.log1p(-np.outer(z, q)).sum(axis=1)
    expected = np.empty(n_experts)
    for i in range(n_experts):
        f = np.exp(log_product - np.log1p(-z * q[i]))
        expected[i] = q[i] * np.sum(0.5 * (f[1:] + f[:-1]) * np.diff(z))
    found = fpl_probabilities(totals, 1.0)
    np.testing.assert_allclose(found, expected, rtol=2e-5)  # the rule's own error
    assert found.sum() == pytest.approx(1.0, abs=1e-13)


def test_equal_experts_are_equally_likely_however_many():
    np.testing.assert_allclose(fpl_probabilities(np.zeros(100_000), 1.0), 1e-5, rtol=1e-11)


def test_probabilities_by_simulation():
    totals, eps = np.array([0.0, 0.4, 1.0, 3.0, 0.1]), 0.8
    xi = np.random.default_rng(0).exponential(size=(400_000, 5))
    seen = np.bincount(np.argmin(totals - xi / eps, axis=1), minlength=5) / 400_000
    np.testing.assert_allclose(fpl_probabilities(totals, eps), seen, atol=4 * 0.5 / 632)


@given(
    totals=hnp.arrays(float, st.integers(1, 30), elements=st.floats(-1e3, 1e3)),
    eps=st.floats(1e-3, 1e3),
    shift=st.floats(-10, 10),
)
@settings(deadline=None)
def test_probabilities_are_a_distribution(totals, eps, shift):
    found = fpl_probabilities(totals, eps)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0)
    assert np.all(np.diff(found[np.argsort(totals, kind="stable")]) <= 1e-12)
    if abs(shift) > 1e-3:
        np.testing.assert_allclose(fpl_probabilities(totals + shift, eps), found, atol=1e-9)


def test_rows_and_limits():
    rows = np.array([[0.0, 1.0], [2.0, 2.0], [3.0, 0.0]])
    found = fpl_probabilities(rows, [1.0, np.inf, np.inf])
    np.testing.assert_allclose(
        found, [[1 - math.exp(-1) / 2, math.exp(-1) / 2], [0.5, 0.5], [0, 1]]
    )
    np.testing.assert_array_equal(fpl_probabilities([0.0, 1e300], 1e10), [1.0, 0.0])


@pytest.mark.parametrize(
    ("totals", "eps", "words"),
    [
        ([], 1.0, "shape"),
        ([[[0.0]]], 1.0, "shape"),
        (["a"], 1.0, "dtype"),
        ([np.nan], 1.0, "finite"),
        ([0.0], 0.0, "positive"),
        ([0.0], np.nan, "positive"),
    ],
)
def test_bad_probabilities(totals, eps, words):
    with pytest.raises(ValueError, match=words):
        fpl_probabilities(totals, eps)


# --- PROT by its definition -------------------------------------------------------------------


@quiet
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("v0", [0.0, 5.0])
def test_prot_by_its_definition(signed, v0):
    losses = growing_losses(0) if signed else np.abs(growing_losses(0))
    trace = PROT("(t+3)**-0.7", a=6.0, signed=signed, v0=v0).run(losses)
    totals, volume = np.zeros(3), v0
    for t, row in enumerate(losses, 1):
        gamma = (t + 3) ** -0.7
        if signed:  # Eq. (5)-(6), both forms
            alpha = 0.5 * (
                1 - math.log(6 * (1 + math.log(3)) / (2 * math.expm1(4 / 6))) / math.log(gamma)
            )
        else:
            alpha = 0.5 * (
                1 - math.log(6 * (1 + math.log(3)) / math.expm1(2 / 6)) / math.log(gamma)
            )
        mu = 6 * gamma**alpha
        weights = np.full(3, 1 / 3) if volume == 0 else fpl_probabilities(totals, 1 / (mu * volume))
        np.testing.assert_allclose(trace.weights_[t - 1], weights, atol=1e-12)
        totals += row
        volume += np.abs(row).max()
        assert trace.volume_[t - 1] == pytest.approx(volume)
    np.testing.assert_allclose(trace.gamma_, (np.arange(1, 201) + 3) ** -0.7)
    np.testing.assert_allclose(trace.fluctuation_, np.abs(losses).max(axis=1) / trace.volume_)
    assert np.isnan(trace.mixloss_).all()


def test_constants():
    for a, k, limit in ((4, 13.75, 0.507), (10, 9.84, 0.058), (20, 8.86, 0.013)):
        np.testing.assert_allclose(prot_constants(2, a)[0], k, atol=5.1e-3)
        np.testing.assert_allclose(prot_constants(2, a)[1], limit, atol=5.1e-4)
    np.testing.assert_allclose(prot_constants(2, 1e6)[0], 8.0, atol=1e-4)
    np.testing.assert_allclose(prot_constants(2, 1e6, signed=False)[0], 2.0, atol=1e-5)
    with pytest.raises(ValueError, match="a > 0"):
        prot_constants(2, 0)


@quiet
@given(seed=st.integers(0, 999), power=st.integers(-300, 300))
@settings(max_examples=20, deadline=None)
def test_scale_of_the_losses_does_not_matter(seed, power):
    losses = growing_losses(seed, 50)
    one, other = PROT().run(losses), PROT().run(losses * 2.0**power)
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=1e-12, atol=1e-15)
    three = PROT(v0=3.0).run(losses)
    np.testing.assert_allclose(PROT(v0=0.3).run(losses / 10).weights_, three.weights_, rtol=1e-9)


# --- lemmas and bounds ------------------------------------------------------------------------


@st.composite
def volume_games(draw):
    """Return losses whose fluctuation is at most that of γ, by making each round fit."""
    n_rounds, n_experts = draw(st.integers(1, 60)), draw(st.integers(2, 6))
    rows = draw(hnp.arrays(float, (n_rounds, n_experts), elements=st.floats(-1, 1)))
    delta = draw(st.sampled_from([0.3, 0.5, 0.9]))
    gamma = np.arange(1, n_rounds + 1) ** -delta
    share = draw(hnp.arrays(float, n_rounds, elements=st.floats(0, 1)))
    losses, volume = np.zeros_like(rows), 0.0
    for t in range(n_rounds):
        top = np.abs(rows[t]).max()
        # Δv / (v + Δv) <= γ; the first round may be anything.
        most = 1.0 if t == 0 else volume * gamma[t] / (1 - gamma[t]) * (1 - 1e-9)
        losses[t] = rows[t] / top * share[t] * most if top > 0 else 0.0
        volume += np.abs(losses[t]).max()
    return losses, f"t**-{delta}"


@given(game=volume_games(), a=st.sampled_from([1.0, 4.0, 10.0, 40.0]), signed=st.booleans())
@settings(max_examples=60, deadline=None)
def test_bounds_and_lemmas(game, a, signed):
    losses, gamma = game
    if not signed:
        losses = np.abs(losses)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="the scaled fluctuation")
        trace = PROT(gamma, a=a, signed=signed).run(losses)
    assert trace.gamma_ok_
    slack = 1e-9 * (1 + trace.volume_[-1])
    bounds = trace.bounds()
    for name, bound in bounds.items():
        assert (trace.regret_ <= bound + slack).all(), name
    infeasible = np.cumsum(ifpl_losses(losses, gamma, a, signed))
    n_experts = losses.shape[1]
    cost = 1 + math.log(n_experts)
    mu = np.sqrt(prot_constants(n_experts, a, signed).K / cost * trace.gamma_)
    sizes = np.abs(losses).max(axis=1)
    best = np.cumsum(losses, axis=0).min(axis=1)
    assert (infeasible <= best + cost * np.cumsum(mu * sizes) + slack).all()  # Lemma 4
    proven = trace.gamma_ <= prot_constants(n_experts, a, signed).A
    factor = 2 * math.expm1(4 / a) if signed else math.expm1(2 / a)
    spill = np.where(proven, factor * a * trace.gamma_ / mu, (2 if signed else 1)) * sizes
    expected = np.cumsum(trace.loss_)
    assert (expected <= infeasible + np.cumsum(spill) + slack).all()  # Lemma 3


@quiet
@given(losses=hnp.arrays(float, (25, 3), elements=st.floats(-100, 100)), v0=st.sampled_from([0, 7]))
@settings(max_examples=80, deadline=None)
def test_one_bound_holds_whatever_the_fluctuation(losses, v0):
    trace = PROT(0.01, v0=v0).run(losses)  # γ is far too small
    bounds = trace.bounds()
    assert (trace.regret_ <= bounds["lemmas 3 and 4"] + 1e-9 * (1 + trace.volume_[-1])).all()
    alone = prot_bound(losses, 0.01, v0=v0)
    np.testing.assert_allclose(alone["lemmas 3 and 4"], bounds["lemmas 3 and 4"], rtol=1e-9)
    np.testing.assert_array_equal(np.isinf(alone["theorem 2"]), np.isinf(bounds["theorem 2"]))
    if not trace.gamma_ok_:
        assert np.isinf(bounds["theorem 2"][-1])


@pytest.mark.parametrize("signed", [True, False])
def test_theorem_2_in_a_bounded_game(signed):
    """Section 4: losses in [0, 1] beside an expert that always loses 1, so that v_t = t."""
    rng = np.random.default_rng(0)
    losses = np.column_stack([rng.random((2000, 4)), np.ones(2000)])
    trace = PROT(PowerGamma(1.0), a=4.0, signed=signed).run(losses)
    np.testing.assert_allclose(trace.volume_, np.arange(1, 2001))
    k = prot_constants(5, 4.0, signed).K
    # Eq. (37) with γ = 1/t: a half is Lemma 4's, the other at most Lemma 3's.
    whole = 2 * math.sqrt(k * (1 + math.log(5))) * np.sum(np.arange(1, 2001) ** -0.5)
    lemmas = trace.bounds()["lemmas 3 and 4"][-1]
    assert 0.5 * whole < lemmas <= whole
    # Σ t^(-1/2) <= 2 √T: the form 4 √(K (1 + ln N) T) of Section 4.
    assert whole <= 4 * math.sqrt(k * (1 + math.log(5)) * 2000)
    assert 0 < trace.regret_[-1] <= lemmas


@pytest.mark.parametrize(("growth", "delta"), [(0.1, 1.0), (0.6, 0.4), (0.0, 0.9)])
def test_corollary_8(growth, delta):
    t = np.arange(1.0, 1001.0)
    worst = np.sum(t ** (growth - delta / 2))  # Σ γ^(1/2) Δv for the largest losses allowed
    factor = 2 * math.sqrt(prot_constants(3, 10.0).K * (1 + math.log(3)))
    bound = polynomial_bound(1000, 3, growth, delta)
    assert factor * worst <= bound
    assert bound <= 1.8 * factor * worst
    if growth < delta / 2:  # as printed, Eq. (43) is too small
        assert factor * worst > factor * 1000 ** (1 - delta / 2 + growth)
    with pytest.raises(ValueError, match="delta > 0"):
        polynomial_bound(10, 2, 0.1, 0.0)
    with pytest.raises(ValueError, match="1 - delta/2"):
        polynomial_bound(10, 2, 0.0, 3.0)


@pytest.mark.parametrize("epsilon", [0.05, 0.9, 3.0, "adaptive"])
@given(
    losses=hnp.arrays(
        float, st.tuples(st.integers(1, 60), st.integers(1, 5)), elements=st.floats(0, 1)
    )
)
@settings(max_examples=40, deadline=None)
def test_bounds_of_the_classic_leader(epsilon, losses):
    trace = FollowPerturbedLeader(epsilon).run(losses)
    [bound] = trace.bounds().values()
    assert (trace.regret_ <= bound + 1e-9).all()
    assert np.isfinite(bound).all()
    [void] = FollowPerturbedLeader(epsilon).run(losses - 1.5).bounds().values()
    assert np.isinf(void).all()


def test_the_quoted_bound_of_kalai_and_vempala_is_too_small():
    """(1 + ε) L* + ln N / ε, as quoted for 0 < ε < 1: two experts, losses (0, 1) for ever."""
    trace = FollowPerturbedLeader(0.9).run(np.tile([0.0, 1.0], (200, 1)))
    loss = trace.cumulative_loss_[-1]
    assert loss == pytest.approx(0.5 / -math.expm1(-0.9), rel=1e-9)
    assert loss > math.log(2) / 0.9
    assert loss == pytest.approx(0.8426, abs=5e-5)


def test_adaptive_rate():
    losses = np.random.default_rng(0).random((30, 4))
    trace = FollowPerturbedLeader("adaptive").run(losses)
    np.testing.assert_allclose(trace.eta_, np.sqrt(math.log(4) / (2 * np.arange(1, 31))))
    fixed = FollowPerturbedLeader(0.3).run(losses)
    before = np.vstack([np.zeros(4), np.cumsum(losses, axis=0)[:-1]])
    np.testing.assert_allclose(fixed.weights_, fpl_probabilities(before, 0.3), atol=1e-13)


# --- random play ------------------------------------------------------------------------------


def random_players(seed):
    return [
        PROT(derandomize=False, random_state=seed),
        PROT(derandomize=False, random_state=seed, perturbation="once"),
        FollowPerturbedLeader(0.5, derandomize=False, random_state=seed),
    ]


@quiet
@pytest.mark.parametrize("player", random_players(3), ids=repr)
def test_random_play_round_by_round_is_the_same_game(player):
    losses = growing_losses(1, 60)
    trace = player.run(losses)
    assert set(np.unique(trace.weights_)) == {0.0, 1.0}
    chosen = np.argmax(trace.weights_, axis=1)
    np.testing.assert_allclose(trace.loss_, losses[np.arange(60), chosen], atol=1e-14)
    stream = clone(player).reset(3)
    for t in range(60):
        if t % 3 == 0:  # asking is free, also twice
            assert stream.choose() == stream.choose() == chosen[t]
        assert stream.update(losses[t]) == trace.loss_[t]
        if t == 20:
            stream = clone(player).set_state(stream.get_state())
        if t == 40:
            stream = pickle.loads(pickle.dumps(stream))


@quiet
@pytest.mark.parametrize("perturbation", ["fresh", "once"])
def test_random_play_has_the_expected_frequencies(perturbation):
    losses = growing_losses(2, 12)
    expected = PROT().run(losses).weights_
    seen = np.zeros_like(expected)
    for seed in range(1500):
        player = PROT(derandomize=False, random_state=seed, perturbation=perturbation)
        seen += player.run(losses).weights_
    np.testing.assert_allclose(seen / 1500, expected, atol=4.5 * 0.5 / math.sqrt(1500))


@quiet
def test_random_play_approaches_its_expectation():
    """Theorem 5: with Σ γ² finite, (s - E s) / v tends to zero."""
    losses = growing_losses(0, 20_000, growth=0.1)
    gamma = PowerGamma(0.6)
    expected = PROT(gamma).run(losses)
    played = PROT(gamma, derandomize=False, random_state=0).run(losses)
    gap = np.abs(played.cumulative_loss_ - expected.cumulative_loss_) / expected.volume_
    # The variance of the gap is at most Σ (Δv)² / v²; five standard deviations.
    spread = np.sqrt(np.cumsum(expected.sizes_**2)) / expected.volume_
    assert gap[-1] <= 5 * spread[-1]
    assert spread[-1] < 0.02


def test_choosing_without_random_play():
    player = PROT(random_state=0).reset(2)
    assert player.choose() in (0, 1)
    with pytest.raises(NotFittedError):
        PROT().choose()
    with pytest.raises(ValueError, match="No expert is awake"):
        player.choose([False, False])
    assert player.choose([False, True]) == 1


def test_a_tie_is_broken_at_random_before_the_first_loss():
    counts = np.zeros(3)
    for seed in range(300):
        counts[PROT(derandomize=False, random_state=seed).reset(3).choose()] += 1
    assert counts.min() > 60  # about 5 standard deviations below 100


# --- γ ----------------------------------------------------------------------------------------


def test_gamma_library():
    assert PowerGamma(0.5, c=3.0)(6) == 1 / 3
    assert ConstantGamma(0.2)(9) == 0.2
    np.testing.assert_array_equal(ConstantGamma(0.2)(np.arange(3)), [0.2] * 3)
    assert InverseGamma(lambda t: t**2)(4) == 1 / 16
    assert ShiftedGamma(PowerGamma(1.0), 4)(1) == 0.2
    for bad in (lambda: PowerGamma(0.0), lambda: PowerGamma(1.0, -1.0), lambda: ConstantGamma(0)):
        with pytest.raises(ValueError, match="got"):
            bad()


@pytest.mark.parametrize(
    "family",
    [
        [PowerGamma(1.0), PowerGamma(0.25)],
        [PowerGamma(0.1)],
        lambda i: PowerGamma(1.0 / (i + 1)),
        lambda i: PowerGamma(1.0, c=float(i) ** 3),
    ],
)
def test_combined_gamma_never_rises_and_dominates(family):
    gamma = CombinedGamma(family)
    t = np.unique(np.geomspace(1, 1e12, 400).astype(np.int64))
    values = gamma(t)
    assert (np.diff(values) <= 0).all()
    assert (values > 0).all()
    assert values[0] <= 1
    assert values[-1] < values[0]
    members = [family(i) for i in range(2)] if callable(family) else family
    for member in members:
        assert values[-1] >= member(float(t[-1])) * (1 - 1e-12)
    short = CombinedGamma(family)(np.arange(1, 300))
    assert (np.diff(short) <= 0).all()


def test_combined_gamma_refuses_a_member_that_stays():
    with pytest.raises(ValueError, match="does not fall"):
        CombinedGamma([ConstantGamma(0.9)])(10**6)


@quiet
@pytest.mark.parametrize(
    "gamma",
    ["t**-0.5", "t ** -.5", PowerGamma(0.5), lambda t: t**-0.5, lambda t: 1 / math.sqrt(t)],
)
def test_ways_to_write_gamma(gamma):
    losses = growing_losses(0, 20)
    np.testing.assert_allclose(PROT(gamma).run(losses).weights_, PROT().run(losses).weights_)


@pytest.mark.parametrize(
    ("gamma", "words"),
    [
        ("t**0.5", "must read like"),
        ("exp(t)", "must read like"),
        (0.0, "'gamma'"),
        (1.5, "'gamma'"),
        (lambda t: 0.0 * t, r"\(0, 1\], got 0.0 at t=1"),
        (lambda t: 0.01 * t, "must not increase, but does at t=2"),
        (lambda t: np.nan * t, r"\(0, 1\], got nan"),
    ],
)
def test_bad_gamma(gamma, words):
    with pytest.raises(ValueError, match=words):
        PROT(gamma, v0=100.0).run(growing_losses(0, 20))


def test_a_bad_gamma_leaves_the_game_alone():
    player = PROT(v0=100.0)
    player.run(growing_losses(0, 10))
    before = player.weights()
    with pytest.raises(ValueError, match="gamma must lie"):
        player.set_params(gamma=lambda t: 2.0 * t).run(growing_losses(0, 20))
    np.testing.assert_array_equal(player.set_params(gamma="t**-0.5").weights(), before)


@quiet
def test_pictures_show_the_game():
    prices = 100 + fbm(60, 0.3, 0)
    run = trade_zero_sum(prices, AdaHedge(), cost=0.001)
    ax = plot.plot_trading(run)
    np.testing.assert_allclose(ax.lines[2].get_ydata(), np.cumsum(run.gain))
    np.testing.assert_allclose(ax.lines[3].get_ydata(), run.net)
    np.testing.assert_allclose(ax.lines[4].get_ydata(), run.trace.volume_)
    found = game_diagnostics(growing_losses(0, 50), 0.05)
    ax = plot.plot_fluctuation(found)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), found.fluctuation)
    assert len(ax.lines[2].get_ydata()) == found.exceeds.sum()
    trace = PROT().run(growing_losses(0, 50))
    ax = plot.plot_normalized_regret({"PROT": trace})
    drawn = ax.lines[0].get_ydata()
    np.testing.assert_array_equal(np.isnan(drawn), trace.normalized_regret_ <= 0)
    ax = plot.plot_leader_probability({"PROT": trace})
    totals = np.cumsum(trace.losses_, axis=0)
    assert ax.lines[0].get_ydata()[10] == trace.weights_[11, np.argmin(totals[10])]
    plt.close("all")


def test_gamma_may_not_rise_between_rounds():
    player = PROT(lambda t: 0.5 if t < 3 else 0.6, v0=1e9).reset(2)
    player.update([0.0, 1.0])
    player.update([0.0, 1.0])
    before = player.get_state()
    with pytest.raises(ValueError, match="must not increase, but does at t=3"):
        player.update([0.0, 1.0])
    np.testing.assert_array_equal(player.get_state()["excess"], before["excess"])


def test_a_violated_gamma_is_told_once():
    player = PROT().reset(2)
    player.update([0.0, 1.0])
    assert player.gamma_ok_
    with pytest.warns(UserWarning, match="fluctuation 0.952 exceeds gamma=0.707"):
        player.update([0.0, 20.0])
    assert not player.gamma_ok_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        player.update([0.0, 1000.0])
    with pytest.warns(UserWarning, match="exceeds gamma"):
        trace = PROT().run([[0.0, 1.0], [0.0, 20.0]])
    assert not trace.gamma_ok_
    with pytest.warns(UserWarning, match="exceeds gamma"):
        PROT().run([[[0.0, 1.0], [0.0, 20.0]]])


def test_diagnostics():
    losses = growing_losses(3, 300, growth=0.2)
    found = game_diagnostics(losses, 0.4, v0=2.0)
    sizes = np.abs(losses).max(axis=1)
    np.testing.assert_allclose(found.increments, sizes)
    np.testing.assert_allclose(found.volume, 2 + np.cumsum(sizes))
    np.testing.assert_allclose(found.fluctuation, sizes / found.volume)
    np.testing.assert_array_equal(found.exceeds, found.fluctuation > 0.4)
    t = np.arange(2, 301)
    assert (found.fluctuation[1:] <= t**-found.delta * (1 + 1e-12)).all()
    assert (found.fluctuation[1:] > t ** -(found.delta + 1e-6)).any()
    np.testing.assert_allclose(found.squared_fluctuation, np.cumsum(found.fluctuation**2))
    np.testing.assert_allclose(found.squared_gamma, 0.16 * np.arange(1, 301))
    np.testing.assert_allclose(
        found.mean_root_gamma, np.cumsum(math.sqrt(0.4) * sizes) / found.volume
    )
    with pytest.raises(ValueError, match="v0"):
        game_diagnostics(losses, v0=-1.0)


# --- the adversary ----------------------------------------------------------------------------


@pytest.mark.parametrize("eps", [0.05, 0.3, 0.9])
@pytest.mark.parametrize(
    "strategy",
    [
        PROT(),
        PROT(derandomize=False, random_state=0),
        FollowPerturbedLeader(0.1),
        AdaHedge(),
        AdaHedge(gains=True),
        FlipFlop(),
        FollowTheLeader(),
        NormalHedge(),
        Hedge(1e-3),
        CBMS(),
        VariationMW(0.01),
    ],
    ids=repr,
)
def test_nobody_is_consistent_against_the_adversary(strategy, eps):
    n_rounds = int(600 / math.log(1 + 4 / eps))
    game = adversary_prop1(strategy, eps, min(n_rounds, 80))
    assert (game.fluctuation >= 1 - eps).all()
    assert (game.normalized_regret >= 0.5 * (1 - eps)).all()
    np.testing.assert_allclose(game.volume, 1 + np.cumsum(game.losses.max(axis=1)))


def test_bad_adversary():
    with pytest.raises(ValueError, match="eps"):
        adversary_prop1(AdaHedge(), 1.0, 5)
    with pytest.raises(ValueError, match="range of doubles; got 1000"):
        adversary_prop1(AdaHedge(), 0.5, 1000)


# --- edges ------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", [PROT(), FollowPerturbedLeader("adaptive")], ids=repr)
def test_edges(strategy):
    one = strategy.run(np.ones((5, 1)))
    np.testing.assert_array_equal(one.weights_, np.ones((5, 1)))
    nothing = strategy.run(np.zeros((5, 3)))
    np.testing.assert_allclose(nothing.weights_, 1 / 3)
    np.testing.assert_array_equal(nothing.regret_, 0.0)
    np.testing.assert_array_equal(nothing.fluctuation_, 0.0)
    np.testing.assert_array_equal(nothing.normalized_regret_, 0.0)
    bounds = nothing.bounds()
    assert all(np.isfinite(b).all() or "theorem" in name for name, b in bounds.items())
    many = strategy.run(np.random.default_rng(0).random((2, 8, 3)))
    assert many.regret_.shape == (2, 8)


@pytest.mark.parametrize(
    ("strategy", "losses", "words"),
    [
        (PROT(signed=False), [[0.0, -1.0]], "must not be negative, got -1"),
        (PROT(signed=False, gains=True), [[0.0, 1.0]], "gains count as negative losses"),
        (PROT(), [[0.0, np.nan]], "NaN"),
        (PROT(a=0.0), [[0.0, 1.0]], "'a'"),
        (PROT(v0=-1.0), [[0.0, 1.0]], "'v0'"),
        (PROT(perturbation="twice"), [[0.0, 1.0]], "'perturbation'"),
        (FollowPerturbedLeader(0.0), [[0.0, 1.0]], "'epsilon'"),
        (FollowPerturbedLeader("fast"), [[0.0, 1.0]], "'epsilon'"),
        (PROT(derandomize=False), [[[0.0, 1.0]]], "derandomize=True"),
    ],
    ids=str,
)
def test_bad_input(strategy, losses, words):
    with pytest.raises(ValueError, match=words):
        strategy.run(losses)


@quiet
def test_sleeping_and_dropped_experts():
    losses = growing_losses(0, 40)
    awake = np.random.default_rng(0).random(losses.shape) < 0.6
    awake[~awake.any(axis=1)] = True
    for player in (PROT(), PROT(derandomize=False, random_state=0)):
        trace = player.run(losses, awake)
        assert not trace.weights_[~awake].any()
        np.testing.assert_allclose(trace.weights_.sum(axis=1), 1)
        stream = clone(player).reset(3)
        for t in range(40):
            if not player.derandomize:
                assert trace.weights_[t, stream.choose(awake[t])] == 1
            stream.update(losses[t], awake[t])
    losses[10, 2] = np.inf
    trace = PROT(drop_infinite=True).run(losses)
    assert not trace.weights_[10:, 2].any()
    assert np.isfinite(trace.volume_).all()


# --- trading and fractional Brownian motion ---------------------------------------------------


@given(
    prices=hnp.arrays(float, st.integers(2, 40), elements=st.floats(1, 100)), c=st.floats(0.1, 9)
)
@settings(max_examples=60, deadline=None)
def test_gains_are_the_difference_of_volatilities(prices, c):
    game = zero_sum_experts(prices, c)
    np.testing.assert_array_equal(game.gains[:, 1], -game.gains[:, 0])
    total = c * (game.macro_volatility - game.micro_volatility)
    assert game.gains[:, 0].sum() == pytest.approx(total, rel=1e-9, abs=1e-6)


@quiet
def test_trading_by_hand():
    prices = np.array([10.0, 11.0, 13.0, 12.0, 15.0])
    run = trade_zero_sum(prices, AdaHedge(), C=2.0, cost=0.01)
    weights = run.trace.weights_
    held = 4.0 * (prices[:-1] - 10.0) * (weights[:, 0] - weights[:, 1])
    np.testing.assert_allclose(run.position, held)
    np.testing.assert_allclose(run.gain, held * np.diff(prices))
    np.testing.assert_allclose(run.gain, -run.trace.loss_, atol=1e-12)
    changes = np.abs(np.diff(held, prepend=0.0)) * prices[:-1]
    changes[-1] += abs(held[-1]) * 15.0
    np.testing.assert_allclose(run.cost, 0.01 * changes)
    assert run.net[-1] == pytest.approx(run.gain.sum() - run.cost.sum())
    same = trade_zero_sum(prices, AdaHedge(gains=True), C=2.0)
    np.testing.assert_allclose(same.position, run.position)
    assert trade_zero_sum(prices).trace.rule.by_volume  # PROT by default


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: zero_sum_experts([1.0]), "at least two"),
        (lambda: zero_sum_experts([[1.0, 2.0]]), "vector"),
        (lambda: zero_sum_experts(["a", "b"]), "dtype"),
        (lambda: zero_sum_experts([1.0, np.nan]), "finite, got nan"),
        (lambda: zero_sum_experts([1.0, 2.0], C=0.0), "C must be positive"),
        (lambda: trade_zero_sum([1.0, 2.0], cost=1.0), "cost"),
        (lambda: fbm(0, 0.5), "n must be at least 1"),
        (lambda: fbm(5, 1.0), "hurst"),
        (lambda: fbm(5, 0.5, length=0.0), "length"),
    ],
)
def test_bad_trading(attempt, words):
    with pytest.raises(ValueError, match=words):
        attempt()


@pytest.mark.parametrize("hurst", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.slow
def test_covariance_of_fractional_brownian_motion(hurst, n):
    n_paths = 20_000
    generator = np.random.RandomState(0)
    paths = np.array([fbm(n, hurst, generator, length=3.0) for _ in range(n_paths)])
    assert (paths[:, 0] == 0).all()
    t = 3.0 * np.arange(n + 1) / n
    exact = 0.5 * (
        t[:, None] ** (2 * hurst)
        + t[None, :] ** (2 * hurst)
        - np.abs(t[:, None] - t[None, :]) ** (2 * hurst)
    )
    found = paths.T @ paths / n_paths
    # Standard error of a product of normals: √((c_ii c_jj + c_ij²) / n).
    error = np.sqrt((np.outer(np.diag(exact), np.diag(exact)) + exact**2) / n_paths)
    assert (np.abs(found - exact) <= 5 * error + 1e-12).all()


def test_fbm_package_draws_from_the_same_law():
    package = pytest.importorskip("fbm")
    np.random.seed(0)  # noqa: NPY002 (its only source of randomness)
    theirs = np.array([package.FBM(64, 0.8, 1.0).fbm() for _ in range(1500)])
    ours = np.array([fbm(64, 0.8, seed) for seed in range(1500)])
    for a, b in ((16, 16), (64, 64), (16, 64)):
        one, other = np.mean(theirs[:, a] * theirs[:, b]), np.mean(ours[:, a] * ours[:, b])
        scale = math.sqrt(2 * np.mean(ours[:, a] ** 2) * np.mean(ours[:, b] ** 2) * 2 / 1500)
        assert abs(one - other) <= 5 * scale
