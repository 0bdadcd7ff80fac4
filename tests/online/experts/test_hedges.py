"""AdaHedge, FlipFlop and their kin against exact arithmetic, the paper's games and its proofs."""

import decimal
import math
import warnings
from decimal import Decimal

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from octavo import plot
from octavo.data import make_expert_game
from octavo.online import (
    CBMS,
    AdaHedge,
    DoublingAdaHedge,
    FlipFlop,
    FollowTheLeader,
    Hedge,
    NormalHedge,
    VariationMW,
    data_bounds,
    flipflop_parameters,
    regret_of_fixed_eta,
    safe_eta,
)
from tests.online.games import against, dyadic, each_strategy, games, random_losses

pytestmark = pytest.mark.filterwarnings("ignore:one round raised:UserWarning")


# --- exact arithmetic -------------------------------------------------------------------------


def decimal_mix(eta, totals):
    """Return weights and the mix loss of cumulative losses in 60 digits (Figure 1)."""
    low = min(totals)
    if eta is None:
        powers = [Decimal(value == low) for value in totals]
        return [p / sum(powers) for p in powers], low
    powers = [(-eta * (value - low)).exp() for value in totals]
    mean = sum(powers) / len(totals)
    return [p / sum(powers) for p in powers], low - mean.ln() / eta


def decimal_rate(name, state, log_k):
    gap, flip, regime, variance, span = state
    if name == "flipflop" and regime == 0:
        return None
    if name in ("adahedge", "flipflop"):
        return log_k / gap if gap else None
    if name == "cbms":
        if not span:
            return None
        power = Decimal(1)
        while power < span:
            power *= 2
        while power / 2 >= span:
            power /= 2
        factor = (2 * (Decimal(2).sqrt() - 1) / (Decimal(1).exp() - 2)).sqrt()
        return min(1 / power, factor * (log_k / variance).sqrt()) if variance else 1 / power
    return Decimal("0.7")


def decimal_game(name, losses):
    """Play a game in 60 digits and return weights, losses and regret as floats."""
    with decimal.localcontext() as context:
        context.prec = 60
        rows = [[Decimal(float(v)) for v in row] for row in losses]
        n = len(rows[0])
        log_k, totals, own = Decimal(n).ln(), [Decimal(0)] * n, Decimal(0)
        gap = flip = variance = span = Decimal(0)
        regime, played, regret = 0, [], []
        for row in rows:
            eta = decimal_rate(name, (gap, flip, regime, variance, span), log_k)
            weights, before = decimal_mix(eta, totals)
            loss = sum(w * v for w, v in zip(weights, row))
            totals = [a + b for a, b in zip(totals, row)]
            delta = loss - (decimal_mix(eta, totals)[1] - before)
            variance += sum(w * (v - loss) ** 2 for w, v in zip(weights, row))
            span = max(span, max(row) - min(row))
            if name == "flipflop" and regime == 0:
                flip += delta
                regime = int(flip > Decimal("2.37") / Decimal("1.243") * gap)
            else:
                gap += delta
                regime = 1 - int(gap > Decimal("1.243") * flip) if name == "flipflop" else 0
            own += loss
            played.append([float(w) for w in weights])
            regret.append(float(own - min(totals)))
        return np.array(played), np.array(regret)


@pytest.mark.parametrize(
    ("name", "strategy"),
    [("hedge", Hedge(0.7)), ("adahedge", AdaHedge()), ("flipflop", FlipFlop()), ("cbms", CBMS())],
)
@pytest.mark.parametrize("kind", ["random", "adversary", "tiny and huge"])
def test_sixty_digit_arithmetic(name, strategy, kind):
    losses = random_losses(3)
    if kind == "adversary":
        losses = against(AdaHedge(), 50, 4)
    elif kind == "tiny and huge":
        losses = losses * np.where(np.arange(50) < 25, 1e-8, 1e8)[:, None]
    weights, regret = decimal_game(name, losses)
    trace = strategy.run(losses)
    np.testing.assert_allclose(trace.weights_, weights, rtol=0, atol=1e-13)
    np.testing.assert_allclose(trace.regret_, regret, rtol=1e-13, atol=1e-15)


def test_normal_hedge_solves_its_equation():
    losses = random_losses(0, 200, 5)
    trace = NormalHedge().run(losses)
    regrets = np.zeros(5)
    for t in range(200):
        positive = np.maximum(regrets, 0.0)
        expected = np.full(5, 0.2)
        if positive.max() > 0:
            top = positive.max() ** 2
            c = brentq(
                lambda c: np.log(np.mean(np.exp(positive**2 / (2 * c)))) - 1,  # noqa: B023
                top / (2 * (1 + np.log(5))) * (1 - 1e-12),
                top,
                xtol=1e-300,
                rtol=1e-14,
            )
            expected = positive / c * np.exp(positive**2 / (2 * c))
            expected /= expected.sum()
        np.testing.assert_allclose(trace.weights_[t], expected, atol=1e-11)
        regrets += expected @ losses[t] - losses[t]


def test_variation_mw_by_its_definition():
    losses = random_losses(1, 60, 4)
    eta = 0.05
    score, trace = np.zeros(4), VariationMW(eta).run(losses)
    for t in range(60):
        weights = np.exp(-eta * (score - score.min()))
        np.testing.assert_allclose(trace.weights_[t], weights / weights.sum(), rtol=1e-12)
        score += losses[t] + 4 * eta * (losses[t] - losses[: t + 1].mean(axis=0)) ** 2
    assert np.isnan(trace.mixloss_).all()


def test_variation_mw_sets_its_rate_in_hindsight():
    losses = make_expert_game(3, 200)
    seen = 0.0
    for t in range(1, 201):
        totals = losses[:t].sum(axis=0)
        for k in np.flatnonzero(totals == totals.min()):
            seen = max(seen, t * losses[:t, k].var())
    strategy = VariationMW()
    strategy.run(losses)
    assert strategy.eta_ == pytest.approx(min(math.sqrt(math.log(2) / (4 * seen)), 0.1))
    with pytest.raises(ValueError, match="hindsight"):
        VariationMW().update([0.0, 1.0])
    strategy.update([0.0, 1.0])  # after run the rate is known


def test_doubling_blocks_begin_again():
    losses = against(AdaHedge(), 300, 3)
    trace = DoublingAdaHedge(2.0).run(losses)
    log_k = math.log(3)
    start = 0
    for block in range(trace.regime_[-1] + 1):
        rows = np.flatnonzero(trace.regime_ == block)
        assert rows[0] == start
        alone = Hedge(2.0 / 2**block).run(losses[rows])
        np.testing.assert_allclose(trace.weights_[rows], alone.weights_, rtol=1e-12)
        gap = alone.cumulative_gap_
        assert (gap[:-1] * 2.0 / 2**block <= log_k).all()
        if block < trace.regime_[-1]:
            assert gap[-1] * 2.0 / 2**block > log_k
        start = rows[-1] + 1
    assert trace.regime_[-1] >= 3


def test_river_has_the_same_fixed_rate_weights():
    river = pytest.importorskip("river")
    from river import ensemble

    class Constant(river.base.Regressor):
        def __init__(self, value):
            self.value = value

        def learn_one(self, x, y):
            pass

        def predict_one(self, x):
            return self.value

    values = [0.1, 0.4, 0.9]
    peer = ensemble.EWARegressor([Constant(v) for v in values], learning_rate=0.3)
    ours = Hedge(0.3).reset(3)
    for y in np.random.default_rng(0).random(40):
        peer.learn_one({}, y)
        ours.update([(v - y) ** 2 for v in values])
    np.testing.assert_allclose(ours.weights(), peer.weights, rtol=1e-12)


# --- the paper's games ------------------------------------------------------------------------

TABLE = {  # FTL, Hedge 1, safe Hedge, AdaHedge, FlipFlop, NormalHedge, Theorem 8
    1: (499.75, 122.587, 9.548, 13.170, 31.673, 27.595, 32.02),
    2: (0.5, 75.488, 10.241, 13.384, 0.5, 0.5, 32.02),
    3: (0.5, 2.035, 13.505, 14.660, 0.5, 0.5, 32.02),
    4: (0.5, 1.252, 11.764, 1.472, 0.5, 0.5, 31.97),
}
TOTALS = {1: (499.5, 500), 2: (501, 499), 3: (508, 492), 4: (532, 468)}


@pytest.mark.parametrize("experiment", TABLE)
def test_regrets_in_the_papers_games(experiment):
    losses = make_expert_game(experiment)
    np.testing.assert_array_equal(losses.sum(axis=0), TOTALS[experiment])
    strategies = [FollowTheLeader(), Hedge(1.0), Hedge(safe_eta(2, 1000)), AdaHedge(), FlipFlop()]
    found = [s.run(losses).regret_[-1] for s in [*strategies, NormalHedge()]]
    np.testing.assert_allclose(found, TABLE[experiment][:-1], atol=5.1e-4)
    bound = AdaHedge().run(losses).bounds()["theorem 8"][-1]
    assert bound == pytest.approx(TABLE[experiment][-1], abs=5.1e-3)


def test_the_games_follow_their_targets():
    for experiment, target in enumerate([lambda t: 0, lambda t: 1.5, lambda t: t**0.4], 1):
        totals = np.cumsum(make_expert_game(experiment, 300), axis=0)
        t = np.arange(2, 301)
        assert np.all(np.abs(totals[1:, 0] - totals[1:, 1] - target(t)) <= 1.0)
    np.testing.assert_array_equal(
        make_expert_game(2, 6), [[1, 0], [1, 0], [0, 1], [1, 0], [0, 1], [1, 0]]
    )
    with pytest.raises(ValueError, match="1, 2, 3 or 4, got 5"):
        make_expert_game(5)
    with pytest.raises(ValueError, match="at least 1, got 0"):
        make_expert_game(1, 0)


def test_flipflop_switches():
    trace = FlipFlop().run(make_expert_game(1))
    np.testing.assert_array_equal(trace.switches_, [1, 2, 4, 17, 21, 100, 109, 550, 572])
    for experiment in (2, 3, 4):  # "flop" with a gap of zero: the leader is followed
        trace = FlipFlop().run(make_expert_game(experiment))
        np.testing.assert_array_equal(trace.switches_, [1])
        assert np.isinf(trace.eta_).all()


@pytest.mark.parametrize("experiment", TABLE)
def test_fixed_rate_curve(experiment):
    losses = make_expert_game(experiment, 200)
    etas = [0.01, 0.3, 2.0, np.inf]
    single = [Hedge(eta).run(losses).regret_[-1] for eta in etas]
    np.testing.assert_array_equal(regret_of_fixed_eta(losses, etas), single)


def test_flipflop_parameters_minimise_the_larger_factor():
    best = flipflop_parameters()
    phi, alpha = np.meshgrid(np.linspace(1.5, 4, 501), np.linspace(0.5, 3, 501))
    first = phi * alpha / (phi - 1) + 2 * alpha + 1
    second = phi / (phi - 1) + phi / alpha + 2
    grid = np.maximum(first, second)
    assert grid.min() >= best.factor - 1e-12
    assert grid.min() == pytest.approx(best.factor, abs=0.01)  # half a step of the grid
    assert round(best.phi, 2) == 2.37
    assert round(best.alpha, 3) == 1.243
    assert round(best.factor, 2) == 5.64


# --- invariances ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "strategy", [AdaHedge(), FlipFlop(), FollowTheLeader(), NormalHedge()], ids=repr
)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_experts=st.integers(1, 7),
    sigma=st.floats(-8, 8).map(lambda e: 10.0**e),
    shift=st.floats(-100, 100),
)
@settings(max_examples=25, deadline=None)
def test_scaling_and_shifting_change_nothing(strategy, seed, n_experts, sigma, shift):
    """Theorem 17; generic losses, so that no tie depends on rounding."""
    rng = np.random.default_rng(seed)
    losses = rng.normal(size=(200, n_experts)) + 0.1 * rng.normal(size=n_experts)
    tau = shift * rng.normal(size=(200, 1))
    one, other = strategy.run(losses), strategy.run(sigma * (losses + tau))
    np.testing.assert_allclose(other.weights_, one.weights_, rtol=0, atol=1e-12 * (1 + abs(shift)))
    np.testing.assert_allclose(other.regret_ / sigma, one.regret_, atol=1e-10 * (1 + abs(shift)))


@pytest.mark.parametrize("strategy", [AdaHedge(), FlipFlop()], ids=repr)
def test_long_invariance(strategy):
    losses = random_losses(5, 5000, 10)
    one = strategy.run(losses)
    for sigma, tau in ((1e-8, 0.0), (3e7, 0.0), (0.1, -7.0)):
        other = strategy.run(sigma * losses + tau * sigma)
        np.testing.assert_allclose(other.weights_, one.weights_, rtol=0, atol=1e-12)


@each_strategy
@given(losses=games(min_experts=3, max_experts=3), where=st.integers(0, 40), value=dyadic)
@settings(max_examples=15, deadline=None)
def test_rounds_with_equal_losses_change_nothing(strategy, losses, where, value):
    if isinstance(strategy, VariationMW):
        return  # its means are over all rounds: it is not timeless
    where = min(where, len(losses))
    longer = np.insert(losses, where, value, axis=0)
    trace, more = strategy.run(losses), strategy.run(longer)
    np.testing.assert_array_equal(np.delete(more.weights_, where, axis=0), trace.weights_)
    assert more.regret_[-1] == pytest.approx(trace.regret_[-1], rel=1e-12, abs=1e-12)


@each_strategy
@given(losses=games(min_experts=3, max_experts=3), order=st.permutations(range(3)))
@settings(max_examples=10, deadline=None)
def test_names_of_experts_do_not_matter(strategy, losses, order):
    if getattr(strategy, "prior", None) is not None:
        return
    one, other = strategy.run(losses), strategy.run(losses[:, order])
    np.testing.assert_allclose(other.weights_, one.weights_[:, order], rtol=1e-9, atol=1e-12)


def test_gains_are_losses_with_the_other_sign():
    losses = random_losses(2)
    one, other = AdaHedge().run(losses), AdaHedge(gains=True).run(-losses)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    assert AdaHedge(gains=True).update([1.0, 3.0]) == 2.0


# --- Lemma 1 ----------------------------------------------------------------------------------


@given(losses=games(), eta=st.sampled_from([1e-3, 0.1, 1.0, 30.0, math.inf]))
@settings(max_examples=60, deadline=None)
def test_mix_loss_of_a_constant_rate(losses, eta):
    trace = Hedge(eta).run(losses)
    low, high = losses.min(axis=1), losses.max(axis=1)
    slack = 1e-12 * (1 + np.abs(losses).max()) * max(1.0, 1 / eta)
    for smaller, larger in ((low, trace.mixloss_), (trace.mixloss_, trace.loss_)):
        assert (smaller <= larger + slack).all()
    assert (trace.loss_ <= high + slack).all()
    best = losses.sum(axis=0).min()
    total = trace.cumulative_mixloss_[-1]
    slack *= len(losses)
    assert best - slack <= total <= best + math.log(losses.shape[1]) / eta + slack
    if math.isfinite(eta):  # telescopes
        low_total = losses.sum(axis=0) - best
        exact = best - np.log(np.mean(np.exp(-eta * low_total))) / eta
        assert total == pytest.approx(exact, rel=1e-9, abs=slack)
        faster = Hedge(2 * eta).run(losses).cumulative_mixloss_[-1]
        assert faster <= total + slack  # M is non-increasing in η
    assert trace.gap_.min() >= 0
    assert (trace.gap_ <= trace.range_ + slack).all()


# --- bounds -----------------------------------------------------------------------------------

BOUNDED = [Hedge(0.3), FollowTheLeader(), AdaHedge(), DoublingAdaHedge(), FlipFlop(), CBMS()]


@pytest.mark.parametrize("strategy", BOUNDED, ids=repr)
@given(losses=games())
@settings(max_examples=60, deadline=None)
def test_every_bound_holds_after_every_round(strategy, losses):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # jumps of the range are meant
        trace = strategy.run(losses)
    bounds = trace.bounds()
    assert bounds
    slack = 1e-11 * (1 + np.abs(losses).max() * len(losses))
    for name, bound in bounds.items():
        assert (trace.regret_ <= bound + slack).all(), name


@pytest.mark.parametrize("strategy", [*BOUNDED, VariationMW(), VariationMW(0.05)], ids=repr)
@pytest.mark.parametrize("n_experts", [2, 10])
def test_bounds_in_long_games(strategy, n_experts):
    rng = np.random.default_rng(7)
    for losses in (
        against(strategy if not isinstance(strategy, VariationMW) else CBMS(), 1500, n_experts),
        rng.random((2000, n_experts)),
        (rng.random((2000, n_experts)) < np.linspace(0.3, 0.7, n_experts)).astype(float),
    ):
        trace = strategy.run(losses)
        for name, bound in trace.bounds().items():
            assert (trace.regret_ <= bound + 1e-9).all(), name
            assert np.isfinite(bound).any() or strategy == VariationMW(0.05)


def test_bound_of_variation_mw_says_when_it_does_not_apply():
    losses = 2 * random_losses(0)
    [bound] = VariationMW().run(losses).bounds().values()
    assert np.isinf(bound[-1])


@given(losses=games(min_experts=2))
@settings(max_examples=60, deadline=None)
def test_lemmas_5_7_and_13(losses):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ada, flip = AdaHedge().run(losses), FlipFlop().run(losses)
    log_k, span = math.log(losses.shape[1]), ada.largest_range_
    slack = 1e-11 * (1 + (np.abs(losses).max() * len(losses)) ** 2)
    gap, variance = ada.cumulative_gap_, ada.cumulative_variance_
    assert (gap**2 <= variance * log_k + (2 / 3 * log_k + 1) * span * gap + slack).all()
    flop = flip.regime_ == 1
    gap, variance = np.cumsum(flip.gap_ * flop), np.cumsum(flip.variance_ * flop)
    assert (gap**2 <= variance * log_k + (2 / 3 * log_k + 1) * span * gap + slack).all()
    above, below = ada.highest_loss_ - ada.best_loss_, ada.best_loss_ - ada.lowest_loss_
    total = above + below
    ratio = np.divide(above * below, total, out=np.zeros_like(total), where=total > 0)
    ahead = ada.regret_ >= 0
    bound = span * ratio + 2 * span * ada.cumulative_gap_
    assert (ada.cumulative_variance_ <= bound + slack)[ahead].all()


def test_bounds_of_the_losses_alone():
    losses = against(AdaHedge(), 200, 3)
    bounds = data_bounds(losses)
    ada, flip = AdaHedge().run(losses), FlipFlop().run(losses)
    np.testing.assert_allclose(bounds["adahedge"], ada.bounds()["theorem 8"], rtol=1e-12)
    np.testing.assert_allclose(
        bounds["adahedge, ranges"], ada.bounds()["corollary 9, ranges"], rtol=1e-12
    )
    both = [flip.bounds()["theorem 15, leader"], flip.bounds()["theorem 15, losses"]]
    np.testing.assert_allclose(bounds["flipflop"], np.min(both, axis=0), rtol=1e-12)
    assert bounds["hedge, best rate"][-1] == pytest.approx(math.sqrt(200 * math.log(3) / 2))
    # Section 2.2: the parabola of Theorem 8 is never above that of CBMS, and 4 against 2.
    leading = bounds["adahedge"] - ada.largest_range_ * (16 / 3 * math.log(3) + 2)
    assert (2 * leading <= bounds["cbms, leading term"] + 1e-9).all()


def test_corollary_16_prints_the_constants_of_theorem_15():
    trace = FlipFlop().run(make_expert_game(1))
    leader = trace.bounds()["theorem 15, leader"]
    slope = (leader[-1] - leader[-500]) / (trace.leader_regret_[-1] - trace.leader_regret_[-500])
    assert round(slope, 2) == 5.64
    assert leader[-1] - slope * trace.leader_regret_[-1] == pytest.approx(3.73, abs=5.1e-3)
    c1 = 2.37 / 1.37 + 2.37 / 1.243 + 2
    assert round(c1 * (c1 + 2 / 3), 2) == pytest.approx(35.53, abs=0.011)
    assert round(c1 + 1, 2) == 6.64


@given(
    steps=st.lists(st.sampled_from([(0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (1.0, 1.0)]), min_size=1),
    eta=st.sampled_from([0.1, 1.0, 5.0]),
)
@settings(max_examples=100, deadline=None)
def test_theorem_18(steps, eta):
    """Two experts, losses 0 or 1: each return to a tie costs Hedge σ(η) - 1/2, Appendix B."""
    losses = np.array(steps)
    difference = np.cumsum(losses[:, 0] - losses[:, 1])
    moved = losses[:, 0] != losses[:, 1]
    returns = np.sum(moved & (difference == 0))
    hedge, leader = Hedge(eta).run(losses), FollowTheLeader().run(losses)
    cost = 1 / (1 + math.exp(-eta)) - 0.5
    assert hedge.regret_[-1] >= returns * cost - 1e-12
    assert leader.regret_[-1] <= returns + 1
    assert FlipFlop().run(losses).regret_[-1] <= 5.64 * leader.regret_[-1] + 3.74


# --- limits -----------------------------------------------------------------------------------


@given(losses=games())
@settings(max_examples=30, deadline=None)
def test_infinite_rate_follows_the_leader(losses):
    one, other = Hedge(math.inf).run(losses), FollowTheLeader().run(losses)
    np.testing.assert_array_equal(one.weights_, other.weights_)
    np.testing.assert_array_equal(one.regret_, other.regret_)
    np.testing.assert_array_equal(other.regret_, other.leader_regret_)
    np.testing.assert_allclose(other.cumulative_gap_, other.regret_, atol=1e-12)  # Lemma 10
    sizes = np.abs(losses)[losses != 0]
    if sizes.size and sizes.max() / sizes.min() > 2.0**40:
        return  # the plain sums below would round, and lose leads
    totals = np.vstack([np.zeros(losses.shape[1]), np.cumsum(losses, axis=0)[:-1]])
    leads = totals == totals.min(axis=1, keepdims=True)
    np.testing.assert_allclose(other.weights_, leads / leads.sum(axis=1, keepdims=True))
    if (sizes > 1e-3).all():  # then a large finite rate is enough
        np.testing.assert_allclose(Hedge(1e8).run(losses).weights_, other.weights_, atol=1e-12)


@each_strategy
def test_one_expert_has_no_regret(strategy):
    if getattr(strategy, "prior", None) is not None:
        return
    trace = strategy.run(random_losses(0, 20, 1))
    np.testing.assert_array_equal(trace.weights_, np.ones((20, 1)))
    np.testing.assert_array_equal(trace.regret_, np.zeros(20))


@each_strategy
def test_equal_experts_share_equally(strategy):
    if getattr(strategy, "prior", None) is not None:
        return
    trace = strategy.run(np.tile(random_losses(0, 20, 1), 7))
    np.testing.assert_allclose(trace.weights_, 1 / 7, rtol=1e-14)
    np.testing.assert_allclose(trace.regret_, 0, atol=1e-13)


def test_a_prior_counts_copies_of_an_expert():
    losses = random_losses(4, 60, 2)
    copies = Hedge(0.9).run(losses[:, [0, 1, 1, 1]])
    trace = Hedge(0.9, prior=[1, 3]).run(losses)
    np.testing.assert_allclose(trace.weights_[:, 0], copies.weights_[:, 0], rtol=1e-12)
    np.testing.assert_allclose(trace.mixloss_, copies.mixloss_, rtol=1e-12)
    [bound] = trace.bounds().values()
    assert (trace.regret_ <= bound).all()


def test_leaders_within_a_tolerance_share():
    losses = [[0.1, 0.3], [0.2, 0.0], [0.0, 0.0]]  # 0.1 + 0.2 is not 0.3 in binary
    strict, loose = FollowTheLeader().run(losses), FollowTheLeader(tie_tol=1e-12).run(losses)
    assert sorted(strict.weights_[2]) == [0.0, 1.0]
    np.testing.assert_array_equal(loose.weights_[2], [0.5, 0.5])


def test_helpers_refuse_nonsense():
    with pytest.raises(ValueError, match="n_experts >= 2"):
        safe_eta(1, 10)
    with pytest.raises(ValueError, match="positive"):
        regret_of_fixed_eta([[0, 1]], [0.0])
    with pytest.raises(ValueError, match="NaN"):
        data_bounds([[0, np.nan]])


def test_pictures_show_the_trace():
    losses = make_expert_game(1, 120)
    trace = FlipFlop().run(losses)
    ax = plot.plot_regret({"FlipFlop": trace, "AdaHedge": AdaHedge().run(losses)}, top=9.0)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), trace.regret_)
    assert ax.get_ylim()[1] == 9.0
    ax = plot.plot_learning_rate(trace)
    drawn = ax.lines[0].get_ydata()
    np.testing.assert_array_equal(np.isnan(drawn), np.isinf(trace.eta_))
    bands = sum(patch.get_width() for patch in ax.patches)
    assert bands == pytest.approx(np.isinf(trace.eta_).sum())
    ax = plot.plot_expert_weights(trace, ["one", "two"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
    ax = plot.plot_regret_bounds(trace, ["lemma 12, flop"])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), trace.bounds()["lemma 12, flop"])
    ax = plot.plot_fixed_eta_regret([0.1, 1.0], [2.0, 3.0], leader=4.0)
    assert ax.lines[1].get_ydata() == [4.0]
    plt.close("all")
