"""Generators of segments have the sizes and the means that the paper gives."""

import numpy as np
import pytest

from octavo.data import make_block_image, make_speaker_series, make_texture_mosaic


def test_blocks_have_their_means():
    X, coords, labels = make_block_image(random_state=0)
    for k, mean in enumerate((5.0, 40.0, 60.0)):
        rows = X[labels == k]
        assert abs(rows.mean() - mean) < 5 * 10 / np.sqrt(len(rows))
    assert coords.max() == 31
    with pytest.raises(ValueError, match="at least 8"):
        make_block_image(4)


def test_speakers_take_turns():
    X, coords, labels = make_speaker_series(random_state=0)
    assert np.bincount(labels).tolist() == [113, 184, 191]
    assert abs((X - X[labels == 0].mean(axis=0))[labels == 0].std() - 1.0) < 0.1
    assert (np.diff(coords) == 1).all()


def test_mosaic_is_cut_from_its_textures():
    textures = [np.zeros((40, 40)), np.ones((40, 40))]
    image, labels = make_texture_mosaic(textures, 30, n_regions=6, random_state=1)
    assert (image == labels).all()
    with pytest.raises(ValueError, match="at least 50 x 50"):
        make_texture_mosaic(textures, 50)
