"""Tables with hidden causes have the shares and the shapes that they claim."""

import numpy as np
import pytest

from octavo.data import make_composite_images, make_disorder_survey, make_hidden_causes


def test_shares():
    X, Z = make_hidden_causes(4000, n_levels=4, share=0.2, random_state=0)
    assert X.shape == (4000, 20)
    assert set(np.unique(X)) == {0, 1, 2, 3}
    assert (np.abs(Z.mean(axis=0) - 0.2) < 4.5 * np.sqrt(0.16 / 4000)).all()


def test_black_stays_black_and_white_is_kept_half_of_the_time():
    X, Z, bases = make_composite_images(2000, random_state=0)
    white = Z @ bases > 0
    assert not X[~white].any()
    assert abs(X[white].mean() - 0.5) < 4.5 * 0.5 / np.sqrt(white.sum())


def test_survey_has_the_shares_of_table_1():
    _, Z = make_disorder_survey(20_000, random_state=0)
    p = np.array([0.0748, 0.0330, 0.0227])
    assert (np.abs(Z.mean(axis=0) - p) < 4.5 * np.sqrt(p * (1 - p) / 20_000)).all()


def test_refusals():
    with pytest.raises(ValueError, match="n_levels must be at least 2"):
        make_hidden_causes(n_levels=1)
    with pytest.raises(ValueError, match="share must be between"):
        make_composite_images(share=2.0)
    with pytest.raises(ValueError, match="n_samples"):
        make_disorder_survey(0)
