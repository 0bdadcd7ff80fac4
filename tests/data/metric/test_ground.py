"""Grouped histograms hold what they say."""

import numpy as np
import pytest

from octavo.data import make_grouped_histograms


def test_shares_of_groups_follow_their_classes():
    X, y, groups = make_grouped_histograms(4000, random_state=0)
    np.testing.assert_allclose(X.sum(axis=1), 1.0)
    assert X.min() >= 0.0
    shares = np.stack([X[:, groups == g].sum(axis=1) for g in range(6)], axis=1)
    own = np.where(y[:, None] == 0, np.arange(6) < 3, np.arange(6) >= 3)
    # means of a Dirichlet: 2.5 and 1 in 10.5; 5 standard errors of at most 0.5/√12000 each
    assert shares[own].mean() == pytest.approx(2.5 / 10.5, abs=0.023)
    assert shares[~own].mean() == pytest.approx(1.0 / 10.5, abs=0.023)
    assert abs(np.bincount(y) - 2000).max() == 0


def test_classes_need_groups():
    with pytest.raises(ValueError, match="at least as many groups"):
        make_grouped_histograms(10, n_groups=2, n_classes=3)
