"""What every strategy shares: streams and batches, state, sleeping and dropped experts, errors."""

import copy
import math
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from octavo.online import (
    CBMS,
    AdaHedge,
    DoublingAdaHedge,
    FlipFlop,
    FollowTheLeader,
    Hedge,
    NormalHedge,
    VariationMW,
)
from tests.online.games import each_strategy, games, random_losses

pytestmark = pytest.mark.filterwarnings("ignore:one round raised:UserWarning")


# --- streaming, many games, state -------------------------------------------------------------


@each_strategy
@given(losses=games(min_experts=3, max_experts=3))
@settings(max_examples=15, deadline=None)
def test_one_round_at_a_time_is_the_same_game(strategy, losses):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        trace = strategy.run(losses)
        stream = clone(strategy).reset(3)
        for t, row in enumerate(losses):
            np.testing.assert_array_equal(stream.weights(), trace.weights_[t])
            assert stream.update(row) == trace.loss_[t]
    assert stream.n_rounds_ == len(losses)
    np.testing.assert_array_equal(stream.weights(), strategy.weights())


@each_strategy
def test_state_moves_to_another_object(strategy):
    losses = random_losses(8, 80, 3)
    trace = strategy.run(losses)
    first = clone(strategy).reset(3)
    for row in losses[:40]:
        first.update(row)
    state = first.get_state()
    second = clone(strategy).set_state(state)
    third = pickle.loads(pickle.dumps(first))
    first.update(losses[0])  # does not touch the state taken before
    for other in (second, third):
        for t in range(40, 80):
            np.testing.assert_array_equal(other.weights(), trace.weights_[t])
            other.update(losses[t])
    with pytest.raises(ValueError, match="lacks"):
        second.set_state({"memory": state["memory"]})
    with pytest.raises(ValueError, match="not one of"):
        second.set_state({**state, "memory": np.zeros(3)})


@each_strategy
def test_many_games_at_once(strategy):
    losses = np.stack([random_losses(seed, 30, 3) for seed in range(4)])
    strategy = clone(strategy)
    many = strategy.run(losses)
    assert many.regret_.shape == (4, 30)
    assert many.weights_.shape == losses.shape
    assert strategy.n_rounds_ == 0
    for g in range(4):
        one = strategy.run(losses[g])
        np.testing.assert_array_equal(many.weights_[g], one.weights_)
        np.testing.assert_array_equal(many.regret_[g], one.regret_)
        for name, bound in one.bounds().items():
            np.testing.assert_array_equal(many.bounds()[name][g], bound)
    assert "4 x 30 x 3" in repr(many)


def test_trace_totals():
    losses = random_losses(0, 40, 4)
    trace = AdaHedge().run(losses)
    totals = np.cumsum(losses, axis=0)
    np.testing.assert_allclose(trace.cumulative_losses_, totals)
    np.testing.assert_allclose(trace.best_loss_, totals.min(axis=1), rtol=1e-13)
    np.testing.assert_allclose(trace.lowest_loss_, np.cumsum(losses.min(axis=1)))
    np.testing.assert_allclose(trace.highest_loss_, np.cumsum(losses.max(axis=1)), rtol=1e-13)
    np.testing.assert_allclose(trace.loss_, (trace.weights_ * losses).sum(axis=1), rtol=1e-13)
    mean = trace.loss_[:, None]
    np.testing.assert_allclose(trace.variance_, (trace.weights_ * (losses - mean) ** 2).sum(axis=1))
    np.testing.assert_allclose(trace.gap_, np.maximum(trace.loss_ - trace.mixloss_, 0), atol=1e-14)
    np.testing.assert_allclose(trace.eta_[1:], math.log(4) / trace.cumulative_gap_[:-1])
    np.testing.assert_allclose(trace.volume_, np.cumsum(np.abs(losses).max(axis=1)), rtol=1e-13)
    before = np.vstack([np.zeros(4), totals[:-1]])
    led = before == before.min(axis=1, keepdims=True)
    leads = totals == totals.min(axis=1, keepdims=True)
    np.testing.assert_array_equal(trace.leader_changes_, np.cumsum((led & ~leads).any(axis=1)))
    slim = AdaHedge().run(losses, keep_weights=False)
    assert slim.weights_.size == 0
    np.testing.assert_array_equal(slim.regret_, trace.regret_)
    assert pickle.loads(pickle.dumps(trace)).bounds().keys() == trace.bounds().keys()


def test_huge_totals_cost_no_digits():
    losses = random_losses(0, 3000, 3)
    far = losses + 1e6
    one = AdaHedge().run(losses)
    other = AdaHedge().run(far)  # totals of 3e9; the losses themselves are known to 1e-10
    np.testing.assert_allclose(other.weights_, one.weights_, atol=1e-8)
    np.testing.assert_allclose(other.regret_, one.regret_, atol=1e-7)


# --- experts that sleep, or are dropped -------------------------------------------------------


@each_strategy
def test_everybody_awake_is_the_plain_game(strategy):
    losses = random_losses(1, 60, 3)
    plain = strategy.run(losses)
    masked = strategy.run(losses, awake=np.ones(losses.shape, bool))
    np.testing.assert_allclose(masked.weights_, plain.weights_, atol=1e-14)
    np.testing.assert_allclose(masked.regret_, plain.regret_, atol=1e-13)


@each_strategy
@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_sleeping_experts(strategy, seed):
    rng = np.random.default_rng(seed)
    losses, awake = rng.random((60, 3)), rng.random((60, 3)) < 0.6
    awake[~awake.any(axis=1), 0] = True
    trace = strategy.run(losses, awake)
    assert not trace.weights_[~awake].any()
    np.testing.assert_allclose(trace.weights_.sum(axis=1), 1)
    np.testing.assert_allclose(trace.loss_, (trace.weights_ * losses).sum(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(trace.losses_[awake], losses[awake])
    charged = np.broadcast_to(trace.loss_[:, None], losses.shape)
    np.testing.assert_allclose(trace.losses_[~awake], charged[~awake])
    # The regret to an expert is that of the rounds in which it was awake.
    own = np.where(awake, charged - losses, 0.0).sum(axis=0)
    assert trace.regret_[-1] == pytest.approx(own.max(), abs=1e-10)
    for name, bound in trace.bounds().items():
        assert (trace.regret_ <= bound + 1e-9).all(), name
    stream = clone(strategy).reset(3)
    for t in range(60):
        np.testing.assert_array_equal(stream.weights(awake[t]), trace.weights_[t])
        stream.update(losses[t], awake[t])


def test_sleeping_hedge_by_hand():
    strategy = Hedge(1.0).reset(2)
    assert strategy.update([1.0, 5.0], [True, False]) == 1.0
    np.testing.assert_allclose(strategy.weights(), [0.5, 0.5])  # charged 1.0 as well
    strategy.update([1.0, 0.0])
    first = 1 / (1 + math.e)
    np.testing.assert_allclose(strategy.weights(), [first, 1 - first])


@each_strategy
def test_an_infinite_loss_drops_an_expert(strategy):
    strategy = clone(strategy).set_params(drop_infinite=True)
    losses = random_losses(1, 60, 3)
    losses[20, 1] = np.inf
    losses[40, 1] = 0.3  # whatever it says later
    trace = strategy.run(losses)
    assert not trace.weights_[20:, 1].any()
    assert trace.weights_[:20, 1].any()
    np.testing.assert_allclose(trace.weights_.sum(axis=1), 1)
    finite = losses[:, [0, 2]]
    np.testing.assert_allclose(
        trace.loss_[20:], (trace.weights_[20:, [0, 2]] * finite[20:]).sum(axis=1)
    )
    best = np.cumsum(finite, axis=0).min(axis=1)
    np.testing.assert_allclose(trace.best_loss_[20:], best[20:], rtol=1e-12)
    assert np.isinf(trace.cumulative_losses_[-1, 1])
    stream = clone(strategy).reset(3)
    for t in range(60):
        np.testing.assert_array_equal(stream.weights(), trace.weights_[t]) if t != 20 else None
        stream.update(losses[t])


@pytest.mark.parametrize("strategy", [AdaHedge(), FlipFlop(), FollowTheLeader()], ids=repr)
def test_a_dropped_leader_hands_over_to_the_next(strategy):
    """Losses after the leader left are as if the others had been alone, up to what they owe."""
    strategy = clone(strategy).set_params(drop_infinite=True)
    losses = np.array([[0.0, 1.0, 3.0], [0.0, 1.0, 3.0], [np.inf, 1.0, 0.0], [0.0, 0.5, 1.0]])
    trace = strategy.run(losses)
    totals = np.cumsum(losses[:, 1:], axis=0)
    np.testing.assert_allclose(trace.best_loss_[2:], totals[2:].min(axis=1))
    regret = trace.cumulative_loss_ - np.cumsum(losses, axis=0).min(axis=1)
    np.testing.assert_allclose(trace.regret_[:2], regret[:2])
    np.testing.assert_allclose(trace.gap_, np.maximum(trace.loss_ - trace.mixloss_, 0), atol=1e-14)
    if isinstance(strategy, FollowTheLeader):
        np.testing.assert_array_equal(trace.weights_[2:], [[0, 1, 0], [0, 1, 0]])
        assert trace.mixloss_[2] == 1.0


# --- bad input --------------------------------------------------------------------------------


@each_strategy
def test_bad_losses_are_refused_before_any_state_changes(strategy):
    strategy = clone(strategy)
    strategy.run(random_losses(0, 10, 3))
    before = strategy.get_state()
    good = random_losses(1, 5, 3)
    for value, words in ((np.nan, "NaN"), (np.inf, "finite"), (-np.inf, "finite")):
        bad = good.copy()
        bad[3, 1] = value
        with pytest.raises(ValueError, match=words):
            strategy.run(bad)
        with pytest.raises(ValueError, match=words):
            strategy.update(bad[3])
    with pytest.raises(ValueError, match="3 experts, got losses of 2"):
        strategy.update([0.0, 1.0])
    with pytest.raises(ValueError, match="shape"):
        strategy.update(good)
    with pytest.raises(ValueError, match="shape"):
        strategy.run(good[0])
    with pytest.raises(ValueError, match="empty"):
        strategy.run(np.empty((0, 3)))
    with pytest.raises(ValueError, match="dtype"):
        strategy.run([["a", "b", "c"]])
    with pytest.raises(ValueError, match="dtype"):
        strategy.run(good.astype(complex))
    with pytest.raises(ValueError, match="awake must be a boolean"):
        strategy.run(good, awake=np.ones((5, 2), bool))
    asleep = np.ones((5, 3), bool)
    asleep[2] = False
    with pytest.raises(ValueError, match="No expert is awake and in the game in round 2"):
        strategy.run(good, awake=asleep)
    with pytest.raises(ValueError, match="No expert is awake"):
        strategy.update(good[0], asleep[2])
    after = strategy.get_state()
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)


def test_bad_drops():
    strategy = AdaHedge(drop_infinite=True)
    with pytest.raises(ValueError, match="in the game in round 2"):
        strategy.run([[0, np.inf], [0, 0], [np.inf, 0]])
    with pytest.raises(ValueError, match="-inf"):
        strategy.run([[0, -np.inf]])
    with pytest.raises(ValueError, match="single game"):
        strategy.run(np.zeros((2, 3, 2)))
    strategy.update([0.0, np.inf])
    with pytest.raises(ValueError, match="No expert is awake"):
        strategy.update([np.inf, 0.0])
    with pytest.raises(ValueError, match="No expert is awake"):
        strategy.weights([False, True])
    np.testing.assert_array_equal(strategy.weights(), [1.0, 0.0])


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (Hedge(0.0), "'eta'"),
        (Hedge(-1.0), "'eta'"),
        (Hedge(1.0, prior=[1.0, 2.0]), r"prior must have shape \(3,\)"),
        (Hedge(1.0, prior=[1.0, 2.0, 0.0]), "positive"),
        (Hedge(math.inf, prior=[1.0, 2.0, 1.0]), "no effect"),
        (FlipFlop(phi=1.0), "'phi'"),
        (FlipFlop(alpha=0.0), "'alpha'"),
        (FollowTheLeader(tie_tol=-1.0), "'tie_tol'"),
        (DoublingAdaHedge(eta=0.0), "'eta'"),
        (VariationMW(eta=-1.0), "'eta'"),
        (AdaHedge(gains="yes"), "'gains'"),
    ],
    ids=repr,
)
def test_bad_parameters(strategy, words):
    with pytest.raises(ValueError, match=words):
        strategy.run(random_losses(0, 5, 3))


def test_unplayed_strategies_say_so():
    strategy = AdaHedge()
    for use in (strategy.weights, strategy.get_state, lambda: strategy.predict([1.0])):
        with pytest.raises(NotFittedError, match="has not played yet"):
            use()
    with pytest.raises(ValueError, match="at least 1, got 0"):
        strategy.reset(0)
    np.testing.assert_array_equal(strategy.reset(4).weights(), np.full(4, 0.25))
    assert not hasattr(strategy.reset(), "_game")


def test_prediction_is_the_weighted_mean():
    strategy = Hedge(1.0).reset(2)
    strategy.update([0.0, 1.0])
    w = strategy.weights()
    assert strategy.predict([10.0, 20.0]) == pytest.approx(w @ [10, 20])
    np.testing.assert_allclose(strategy.predict(np.eye(2)), w)
    with pytest.raises(ValueError, match="2 entries"):
        strategy.predict([1.0, 2.0, 3.0])


def test_a_jump_of_the_range_is_told_once():
    strategy = AdaHedge().reset(2)
    strategy.update([0.0, 1.0])
    with pytest.warns(UserWarning, match="1e\\+07-fold"):
        strategy.update([0.0, 1e7])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strategy.update([0.0, 1e15])


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e150, 1e300])
@pytest.mark.parametrize("strategy", [AdaHedge(), FlipFlop(), NormalHedge(), CBMS()], ids=repr)
def test_extreme_scales(strategy, scale):
    """Powers of two, so that only over- and underflow can make a difference."""
    if isinstance(strategy, CBMS) and not 1e-150 < scale < 1e151:
        return  # the squares in its learning rate leave the range of doubles
    scale = 2.0 ** round(math.log2(scale))
    losses = np.round(random_losses(0, 40, 3) * 64) / 64
    one, other = strategy.run(losses), strategy.run(losses * scale)
    np.testing.assert_allclose(other.weights_, one.weights_, atol=1e-12)


@each_strategy
def test_layout_and_type_of_the_losses_do_not_matter(strategy):
    losses = np.round(random_losses(3, 30, 3) * 8)
    expected = strategy.run(losses).weights_
    fixed = losses.copy()
    fixed.flags.writeable = False
    wide = np.zeros((30, 6))
    wide[:, ::2] = losses
    forms = [fixed, np.asfortranarray(losses), wide[:, ::2], losses.astype(int), losses.tolist()]
    for form in forms:
        np.testing.assert_array_equal(strategy.run(form).weights_, expected)
    stream = clone(strategy).reset(3)
    for t in range(30):
        stream.update(np.broadcast_to(wide[t, ::2], (3,)))
    np.testing.assert_array_equal(stream.weights(), strategy.weights())


def test_a_bad_prior_leaves_the_game_alone():
    strategy = Hedge(1.0, prior=[1.0, 2.0, 3.0])
    strategy.run(random_losses(0, 5, 3))
    before = strategy.weights()
    with pytest.raises(ValueError, match="prior must have shape"):
        strategy.run(random_losses(0, 5, 2))
    np.testing.assert_array_equal(strategy.weights(), before)


def test_copies_are_independent():
    strategy = AdaHedge().reset(2)
    other = copy.deepcopy(strategy)
    strategy.update([0.0, 1.0])
    assert other.n_rounds_ == 0
