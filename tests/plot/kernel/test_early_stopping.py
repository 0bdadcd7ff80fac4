"""Pictures of early stopping show the numbers that they were given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.data import make_kinked_curve
from octavo.kernel import KernelGDRegressor, bias_variance, sobolev_kernel
from octavo.plot import (
    plot_bias_variance,
    plot_critical_crossing,
    plot_error_path,
    plot_stopped_fits,
)

X, Y, F = make_kinked_curve(100, random_state=0)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def fitted():
    return KernelGDRegressor(
        sobolev_kernel(1), step=0.25, noise=1.0, fit_intercept=False, scale_y=False
    ).fit(X, Y)


def test_error_path_marks_the_times():
    ax = plot_error_path([3.0, 1.0, 2.0], {"rule": 1, "late": 9})
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [3.0, 1.0, 2.0])
    assert ax.lines[1].get_xdata() == [1]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "rule: t = 1",
        "late: t = 9",
    ]


def test_crossing_is_where_the_rule_stops():
    model = fitted()
    ax = plot_critical_crossing(model)
    complexity, threshold = (line.get_ydata() for line in ax.lines[:2])
    below = complexity <= threshold
    assert below[: model.n_iter_].all()
    assert not below[model.n_iter_ :].any()


def test_bias_and_variance_add_up():
    curves = bias_variance([0.5, 0.1], [2.0, 0.3], 1.0, np.ones(5))
    ax = plot_bias_variance(curves)
    top = ax.collections[1].get_paths()[0].vertices[:, 1].max()
    assert top == max(curves.bias + curves.variance)


def test_fits_before_at_and_after_the_time():
    model = fitted()
    ax = plot_stopped_fits(model, X, Y, truth=F)
    np.testing.assert_allclose(ax.lines[3].get_ydata(), model.predict(X))
    assert len(ax.lines) == 5
