"""Paths of coefficients equal what partial fits give."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from octavo.rl import BRM, FPKF, GPTD, GTD2, LSPE, LSTD, TD, TDC, Transitions, coefficient_path
from tests.rl.batches import random_batch

pytestmark = pytest.mark.filterwarnings("ignore:BRM has 3 transitions")

MODELS = [
    TD(0.9, 0.5),
    TDC(0.9, 0.5, average=True),
    GTD2(0.9),
    LSTD(0.9, 0.5, solver="recursive"),
    LSTD(0.9, penalty="l2"),
    LSPE(0.9, learning_rate=0.1),
    FPKF(0.9),
    BRM(0.9, 0.5),
    GPTD(0.9),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_a_path_is_a_chain_of_partial_fits(model):
    batch = random_batch(0, off_policy=False)
    path = coefficient_path(model, batch, [3, 10, 32])
    assert not hasattr(model, "coef_")
    for time, coef in zip(path.times, path.coefs):
        np.testing.assert_allclose(coef, model.fit(batch[:time]).coef_, rtol=1e-9, atol=1e-12)


def test_times():
    batch = random_batch(0)
    np.testing.assert_array_equal(coefficient_path(LSTD(), batch, 4).times, [8, 16, 24, 32])
    for times in ([0, 3], [3, 3], [40], []):
        with pytest.raises(ValueError, match="times must increase"):
            coefficient_path(LSTD(), batch, times)


def test_after_divergence_the_path_stays():
    X, Y = np.ones((4000, 1)), np.full((4000, 1), 2.0)
    batch = Transitions(X, np.ones(4000), Y)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        path = coefficient_path(TD(0.9, learning_rate=0.5), batch, 4)
    assert abs(path.coefs[-1, 0]) > 1e10
    assert path.coefs[-1] == path.coefs[-2]
