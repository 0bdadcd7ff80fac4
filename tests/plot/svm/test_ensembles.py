"""Pictures of ensembles."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs, make_moons

from octavo.plot import (
    plot_ensemble_boundary,
    plot_ensemble_tradeoff,
    plot_machine_correlation,
    plot_oob_error,
    plot_shared_support,
)
from octavo.svm import EnsembleSVC

X, Y = make_moons(200, noise=0.2, random_state=0)
X3, Y3 = make_blobs(150, centers=3, random_state=0)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module", params=[2, 3])
def model(request):
    rows, labels = (X, Y) if request.param == 2 else (X3, Y3)
    return EnsembleSVC(5, max_samples=40, oob_score=True, random_state=0).fit(rows, labels)


def test_tradeoff_draws_a_line_a_size_and_the_single_machine():
    accuracy, seconds = np.array([[0.8, 0.85], [0.9, 0.95]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    left, right = plot_ensemble_tradeoff([1, 5], [10, 20], accuracy, seconds, single=(0.97, 9.0))
    assert_allclose(left.lines[1].get_ydata(), [0.85, 0.95])
    assert_allclose(right.lines[0].get_ydata(), [1, 3])
    assert_allclose(left.lines[2].get_ydata(), 0.97)
    assert right.get_yscale() == "log"


@pytest.mark.filterwarnings("ignore:.*in the sample of every machine")
def test_support_is_counted_as_machines_are_added(model):
    total, distinct = plot_shared_support(model).lines
    assert total.get_ydata()[-1] == model.n_support_total_
    assert distinct.get_ydata()[-1] == len(model.support_indices_)
    for count in range(1, 6):
        first = model.prune((np.arange(5) < count).astype(float))
        assert distinct.get_ydata()[count - 1] == len(first.support_indices_)
        assert total.get_ydata()[count - 1] == first.n_support_total_


def test_error_out_of_bag_ends_with_that_of_all(model):
    (line,) = plot_oob_error(model).lines
    assert len(line.get_ydata()) == 5
    assert_allclose(line.get_ydata()[-1], 100 * (1 - model.oob_score_))
    assert_allclose(plot_oob_error(model, [2, 5]).lines[0].get_xdata(), [2, 5])


def test_correlations_are_those_of_the_machines(model):
    rows = X if len(model.classes_) == 2 else X3
    image = plot_machine_correlation(model, rows).images[0].get_array()
    values = model.base_decision_function(rows)
    flat = values if values.ndim == 2 else np.concatenate(list(values.transpose(2, 0, 1)))
    assert image.shape == (5, 5)
    assert_allclose(image[0, 3], np.corrcoef(flat[:, 0], flat[:, 3])[0, 1])


def test_boundary_draws_every_machine_and_the_ensemble(model):
    if len(model.classes_) == 3:
        with pytest.raises(ValueError, match="two classes"):
            plot_ensemble_boundary(model, X3, Y3)
        return
    ax = plot_ensemble_boundary(model, X, Y, n_grid=20)
    widths = [c.get_linewidth()[0] for c in ax.collections]
    assert sorted(widths) == [0.4] * 5 + [2.0]
