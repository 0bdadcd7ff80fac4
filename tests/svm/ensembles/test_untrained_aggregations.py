"""What is not trained takes no data to be trained on."""

import numpy as np
import pytest

from octavo.svm import EnsembleSVC

RNG = np.random.default_rng(0)
X, y = RNG.normal(size=(60, 3)), np.arange(60) % 2


@pytest.mark.parametrize("aggregation", ["vote", "mean", "logistic"])
def test_data_that_would_be_ignored_are_refused(aggregation):
    model = EnsembleSVC(n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="nothing to train and would ignore X and y"):
        model.with_aggregation(aggregation, X, y)
    model.with_aggregation(aggregation)
    model.with_aggregation("logistic_regression", X, y)
