"""Rows whose squares overflow are refused; nothing learnt is ever NaN."""

import numpy as np
import pytest
import scipy.sparse as sp

from octavo.online import AROW, NAROW, NHERD, OGDClassifier, SecondOrderPerceptron

LEARNERS = [AROW, NAROW, NHERD, OGDClassifier, SecondOrderPerceptron]
RNG = np.random.default_rng(0)
X, y = RNG.normal(size=(40, 3)), np.arange(40) % 2


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("learner", LEARNERS)
def test_squares_that_overflow_are_refused(learner, form):
    with pytest.raises(ValueError, match="squared lengths"):
        learner().fit(form(X * 1e155), y)
    with pytest.raises(ValueError, match="squared lengths"):
        learner().partial_fit(form(X * 1e155), y, classes=[0, 1])
    model = learner().fit(form(X), y)
    with pytest.raises(ValueError, match="squared lengths"):
        model.learn_one(X[0] * 1e155, 1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scale", [1e-155, 1e-100, 1e50, 1e100, 1e140, 1e150, 1e153])
@pytest.mark.parametrize("learner", LEARNERS)
def test_answers_are_finite_or_refused(learner, scale, classes):
    labels = np.arange(40) % classes
    refusal, scores = "", np.zeros(1)
    try:
        scores = learner().fit(X * scale, labels).decision_function(X * scale)
    except ValueError as error:
        refusal = str(error)
    assert np.isfinite(scores).all()
    if scale <= 1e50:
        assert refusal == ""
    elif refusal:
        assert refusal.endswith(".")
