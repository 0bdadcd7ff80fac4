"""Pictures of features show the fitted numbers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from octavo.bayes import IBPCategorical, comorbidity_report
from octavo.data import make_hidden_causes
from octavo.plot import (
    plot_buffet_sweeps,
    plot_feature_matrix,
    plot_feature_pairs,
    plot_feature_patterns,
    plot_feature_profiles,
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X, _ = make_hidden_causes(60, n_columns=6, n_features=2, random_state=0)
    model = IBPCategorical(n_iter=10, burn_in=5, k_init=2, random_state=0).fit(X)
    return model, comorbidity_report(model)


def test_matrix_and_sweeps(fitted):
    image = plot_feature_matrix(fitted[0]).images[0].get_array()
    assert np.asarray(image).sum() == fitted[0].Z_.sum()
    ax = plot_buffet_sweeps(fitted[0])
    assert_allclose(ax.lines[0].get_ydata(), fitted[0].log_evidences_)


@pytest.mark.parametrize("ratio", [False, True])
def test_profiles(fitted, ratio):
    ax = plot_feature_profiles(fitted[1], 1, ratio=ratio)
    tables = fitted[1].ratios if ratio else fitted[1].profiles
    assert_allclose(ax.lines[0].get_ydata(), [t[0, 1] for t in tables])


def test_pairs_and_patterns(fitted):
    assert_allclose(plot_feature_pairs(fitted[1]).images[0].get_array(), fitted[1].z_scores)
    bars = plot_feature_patterns(fitted[1], 3).patches
    assert [bar.get_height() for bar in bars] == fitted[1].pattern_counts[:3].tolist()
