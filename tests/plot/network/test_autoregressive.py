"""Pictures of graphs to come show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.data import make_autoregressive_graphs
from octavo.network import AutoregressiveLinkPredictor
from octavo.plot import (
    plot_auc_by_length,
    plot_graph_forecast,
    plot_graph_spectrum,
    plot_phase_transition,
    plot_var_coefficients,
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    series = make_autoregressive_graphs(15, 2, 6, random_state=0)
    return AutoregressiveLinkPredictor(1e-3, 1e-4, 1e-3, rank=2).fit(series.snapshots)


def test_both_matrices_in_one_order():
    A = np.array([[0.0, 1.0], [3.0, 2.0]])
    left, right = plot_graph_forecast(A, A.T)
    assert left.images[0].get_array().tolist() == [[3.0, 2.0], [0.0, 1.0]]
    assert right.images[0].get_array().tolist() == [[1.0, 2.0], [0.0, 3.0]]


def test_curves_and_maps_hold_their_numbers():
    ax = plot_auc_by_length([2, 5], {"a": [0.5, 0.9], "b": [[0.4, 0.6], [0.7, 0.9]]})
    assert ax.lines[0].get_ydata().tolist() == [0.5, 0.9]
    assert ax.containers[1][0].get_ydata() == pytest.approx([0.5, 0.8])
    ax = plot_phase_transition([2, 4], [3, 6, 9], [[0.5, 0.6, 0.7], [0.4, 0.5, 0.6]])
    assert ax.images[0].get_array().shape == (2, 3)


def test_spectrum_and_coefficients_are_the_models(model):
    heights = plot_graph_spectrum(model).containers[0].markerline.get_ydata()
    assert heights == pytest.approx(model.singular_values_)
    ax = plot_var_coefficients(model)
    assert np.asarray(ax.images[0].get_array()) == pytest.approx(model.var_coef_)
