"""Grids in blocks, and sentences with chunks."""

import numpy as np
import pytest

from octavo.data import make_label_grids, make_tagged_chunks


def test_blocks_have_one_label_and_observations_their_noise():
    X, y = make_label_grids(200, (4, 6), n_labels=3, block=2, sigma=0.5, random_state=0)
    for labels in y:
        for r, c in np.ndindex(2, 3):
            assert np.unique(labels[2 * r : 2 * r + 2, 2 * c : 2 * c + 2]).size == 1
    noise = np.concatenate([(x - np.eye(3)[t]).ravel() for x, t in zip(X, y)])
    # 14,400 draws: four standard errors of the spread are 4 · 0.5 / √28800 = 0.012.
    assert abs(noise.std() - 0.5) < 0.012
    with pytest.raises(ValueError, match="must be positive"):
        make_label_grids(0)


def test_tags_are_well_formed():
    _, y = make_tagged_chunks(100, random_state=0)
    for tags in y:
        for before, tag in zip(["O", *tags], tags):
            assert not tag.startswith("I-") or before[2:] == tag[2:]
    assert {str(tag) for tags in y for tag in tags} == {"B-a", "B-b", "I-a", "I-b", "O"}
    with pytest.raises(ValueError, match="must be positive"):
        make_tagged_chunks(0)
