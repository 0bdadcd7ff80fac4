"""Roll-outs in lock step are those of a loop over rows."""

import numpy as np

from octavo.engine.dynamic_programs.rollouts import roll_out


def test_rows_end_on_their_own():
    starts = np.array([[0.0], [2.0], [9.0]])

    def step(states, actions):
        following = states + actions[:, None]
        return following, states[:, 0], following[:, 0] >= 4.0

    found = roll_out(
        step, lambda rows, s, t: np.ones(len(rows)), starts, 10, gamma=0.5, record=True
    )
    assert found.lengths.tolist() == [4, 2, 1]
    np.testing.assert_allclose(found.totals, [0 + 0.5 + 0.5 + 0.375, 2 + 1.5, 9.0])
    assert found.states[0, :5, 0].tolist() == [0, 1, 2, 3, 4]
    assert found.rewards[1, :3].tolist() == [2, 3, 0]
    assert found.last.ravel().tolist() == [4, 4, 10]


def test_the_horizon_cuts():
    found = roll_out(
        lambda s, a: (s, np.ones(len(s)), np.zeros(len(s), bool)),
        lambda rows, s, t: np.zeros(len(rows)),
        np.zeros((2, 1)),
        7,
        record=True,
    )
    assert found.totals.tolist() == found.lengths.tolist() == [7, 7]
    assert found.states.shape == (2, 8, 1)  # the first, and one after each step
    assert found.rewards.tolist() == [[1.0] * 7] * 2
