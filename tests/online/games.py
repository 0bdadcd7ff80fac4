"""Games for the tests of strategies: random, exact in binary, adversarial."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

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

ALL = [
    Hedge(0.7),
    Hedge(0.7, prior=[3.0, 1.0, 2.0]),
    FollowTheLeader(),
    AdaHedge(),
    DoublingAdaHedge(),
    FlipFlop(),
    NormalHedge(),
    CBMS(),
    VariationMW(0.05),
]
each_strategy = pytest.mark.parametrize("strategy", ALL, ids=repr)
# Multiples of 1/64, which add without rounding: ties are ties.
dyadic = st.integers(-128, 128).map(lambda n: n / 64)


@st.composite
def games(draw, max_rounds=40, max_experts=6, elements=dyadic, min_experts=1):
    """Return losses: arbitrary, or against the heaviest expert of a past AdaHedge."""
    shape = (draw(st.integers(1, max_rounds)), draw(st.integers(min_experts, max_experts)))
    losses = draw(hnp.arrays(float, shape, elements=elements))
    if draw(st.booleans()):
        victim = draw(st.sampled_from([AdaHedge(), FlipFlop(), FollowTheLeader(), CBMS()]))
        losses = against(victim, *shape)
    if draw(st.booleans()):  # the scale of the losses may change on the way
        losses = losses * draw(hnp.arrays(float, (shape[0], 1), elements=st.sampled_from(SCALES)))
    return losses


SCALES = [0.0, 2.0**-27, 1.0, 8.0, 2.0**27]  # up to 1e±8


def against(strategy, n_rounds, n_experts):
    """Let an adversary charge the expert that the strategy trusts most."""
    strategy = clone(strategy).reset(n_experts)
    losses = np.zeros((n_rounds, n_experts))
    for t in range(n_rounds):
        losses[t, np.argmax(strategy.weights())] = 1.0
        strategy.update(losses[t])
    return losses


def random_losses(seed, n_rounds=50, n_experts=3):
    rng = np.random.default_rng(seed)
    return rng.random((n_rounds, n_experts)) + 0.2 * np.arange(n_experts)
