"""Schedules of step sizes."""

import numpy as np
import pytest

from octavo.rl import step_sizes


@pytest.mark.parametrize("schedule", ["constant", "power", "harmonic", "adaptive"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"t": [1, np.nan]}, "t must hold finite"),
        ({"t": [1j]}, "t must hold real"),
        ({"t": [0, 1]}, "t must be counted from 1"),
        ({"step": np.nan}, "step must be a finite"),
        ({"decay": np.inf}, "decay must be a finite"),
        ({"power": np.nan}, "power must be a finite"),
    ],
)
def test_numbers_that_are_none(schedule, change, words):
    with pytest.raises(ValueError, match=words):
        step_sizes(**({"t": [1, 2], "step": 0.1, "schedule": schedule} | change))
