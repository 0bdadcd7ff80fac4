"""The artificial examples have the distributions that the paper gives."""

import numpy as np
import pytest
from scipy.stats import kstest

from octavo.data import make_cyclists, make_relevant_features, make_students, make_two_arms


def test_examples_are_what_the_text_says():
    X, y = make_cyclists(150, random_state=0)
    assert sorted(y.tolist()) == list(range(1, 151))
    assert X[:, :9].min() >= 1
    assert X[:, :9].max() <= 100
    X, y = make_students(300, random_state=0)
    mean = X.mean(axis=1)
    assert ((mean < 55) == (y == 1)).all()
    assert ((mean > 65) == (y == 3)).all()
    X, y = make_two_arms(2000, random_state=0)
    for arm, shape, scale in ((0, 0.5, 1.0), (1, 5.0, 4.0)):
        times = y["time"][X[:, 1] == arm]
        assert kstest(times, "weibull_min", (shape, 0, scale)).pvalue > 0.01
    X, y, coef = make_relevant_features(20, 30, 10, random_state=0)
    np.testing.assert_allclose(y, X @ coef)
    assert np.flatnonzero(coef).tolist() == list(range(10))
    with pytest.raises(ValueError, match="n_relevant"):
        make_relevant_features(10, 5, 6)
    with pytest.raises(ValueError, match="at least 2"):
        make_two_arms(1)
