"""The engine of expert games: the same bits wherever its arrays lie, and exact quadrature."""

import math

import numpy as np
import pytest

from octavo.engine.games import experts as engine

KINDS = {
    engine.HEDGE: 0.3,
    engine.ADAHEDGE: math.inf,
    engine.DOUBLING: 1.0,
    engine.FLIPFLOP: math.inf,
    engine.SECOND_ORDER: math.inf,
    engine.VARIATION: 0.05,
    engine.NORMAL: math.inf,
    engine.PERTURBED: math.inf,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_experts", [2, 4, 10, 33])
def test_results_do_not_depend_on_where_arrays_lie(kind, n_experts):
    """Neighbouring arrays can make a compiled loop fall back to its scalar form."""
    losses = np.random.default_rng(0).random((30, n_experts))
    rule = engine.GameRule(kind, math.log(n_experts), KINDS[kind], 2.37 / 1.243, 1.243)
    scales = np.ones(30) if kind == engine.PERTURBED else None
    whole = engine.play(rule, engine.new_game(rule, n_experts), losses, scales=scales)
    guarded, scored, normal, nodes = engine._needs(rule, engine.new_game(rule, n_experts), False)
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 1, 4, 3]):
        row, excess, weights, handicap, means = np.zeros((5, n_experts))[order]
        fresh = engine.new_game(rule, n_experts)
        game = engine.Game(
            fresh.memory,
            excess,
            handicap if fresh.handicap.size else fresh.handicap,
            means if fresh.means.size else fresh.means,
        )
        for t in range(30):
            row[:] = losses[t]
            record, flags = np.empty((1, 8)), np.empty((1, 2), dtype=np.int8)
            engine._play(
                rule,
                game,
                row.reshape(1, -1),
                guarded,
                scored,
                None,
                np.empty(0) if scales is None else scales[:1].copy(),
                normal,
                None,
                *nodes,
                weights.reshape(1, -1),
                record,
                flags,
            )
            np.testing.assert_array_equal(record[0], whole.record[t])
            np.testing.assert_array_equal(weights, whole.weights[t])


@pytest.mark.parametrize("n_experts", [1, 2, 3, 10, 94])
def test_quadrature_is_exact_for_the_products(n_experts):
    nodes, weights = engine.quadrature(n_experts)
    for power in {0, (n_experts - 1) // 2, n_experts - 1}:
        assert weights @ nodes**power == pytest.approx(1 / (power + 1), rel=1e-13)


@pytest.mark.parametrize(
    ("x", "power"), [(1.0, 1.0), (1.5, 2.0), (2.0, 2.0), (0.3, 0.5), (1e-9, 2.0**-29)]
)
def test_power_of_two(x, power):
    assert engine._power_of_two_above(x) == power


def test_copies_share_nothing():
    rule = engine.GameRule(engine.VARIATION, math.log(3), 0.1)
    game = engine.new_game(rule, 3)
    copied = engine.copy_game(game)
    engine.play(rule, game, np.array([[0.0, 1.0, 2.0]]))
    assert game.memory[engine.ROUNDS] == 1
    assert not any(array.any() for array in copied[1:])
    assert copied.memory[engine.ROUNDS] == 0
