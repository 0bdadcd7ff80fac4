"""Pictures of matrices of fixed rank show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.data import make_fixed_rank_targets
from octavo.metric import FixedRankPSDRegressor
from octavo.plot import plot_cost_descent, plot_error_by_rank, plot_form_ellipse, plot_learned_map


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_points_of_an_exact_fit_lie_on_the_ellipse():
    A, y, _ = make_fixed_rank_targets(40, 3, 2, noise=0.0, random_state=0)
    model = FixedRankPSDRegressor(2, tol=1e-14, max_iter=20_000).fit(A, y)
    points, ellipse = (line.get_xydata() for line in plot_form_ellipse(model, A, y).lines)
    form = model.R_ @ model.R_.T
    for drawn in (points, ellipse):
        np.testing.assert_allclose(np.einsum("ni,ij,nj->n", drawn, form, drawn), 1.0, atol=1e-2)
    with pytest.raises(ValueError, match="rank 2"):
        plot_form_ellipse(FixedRankPSDRegressor(1).fit(A, y), A, y)


def test_curves_and_maps_hold_their_numbers():
    ax = plot_cost_descent({"a": [3.0, 2.0], "b": [1.0]})
    assert [len(line.get_xdata()) for line in ax.lines] == [2, 1]
    ax = plot_error_by_rank([1, 2], {"a": [5.0, 4.0]})
    assert ax.lines[0].get_ydata().tolist() == [5.0, 4.0]
    ax = plot_learned_map([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert [len(line.get_xdata()) for line in ax.lines] == [1, 2]
