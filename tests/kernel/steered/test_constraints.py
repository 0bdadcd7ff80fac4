"""Placements that no double can hold are met by a sentence."""

import numpy as np
import pytest

from octavo.kernel import KnowledgeKernelPCA

X = np.random.default_rng(0).normal(size=(20, 3))


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("place", [1e155, -1e308])
def test_far_pins_are_refused(place, hard):
    with pytest.raises(ValueError, match=r"Point 0 must be placed within 1e\+150 of the origin"):
        KnowledgeKernelPCA(2).fit(X, placements=([0], [[place, 0.0]], [hard]))
