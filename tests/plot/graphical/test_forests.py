"""Pictures of forest densities show what the models hold."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from octavo.data import make_connected_subgraphs
from octavo.graphical import ForestDensityEstimator, RefitGraphicalLasso
from octavo.plot import (
    plot_density_scores,
    plot_forest,
    plot_heldout_edges,
    plot_mutual_information,
    plot_pair_density,
)


@pytest.fixture(scope="module")
def fitted():
    X = make_connected_subgraphs(6, 120, random_state=0).X
    second = np.arange(60, 120)
    forest = ForestDensityEstimator(holdout=second, grid=32).fit(X)
    return X, forest, RefitGraphicalLasso(holdout=second, n_alphas=6).fit(X)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_curve_and_path(fitted):
    _, forest, lasso = fitted
    ax = plot_heldout_edges(forest, glasso=lasso)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), forest.heldout_curve_)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "forest",
        "graphical lasso",
        "refitted lasso",
    ]


def test_forest_and_informations(fitted):
    _, forest, _ = fitted
    ax = plot_forest(forest, names=["$a_", "b", "c", "d", "e", "f"])
    assert len(ax.lines) == forest.n_edges_
    assert len(ax.texts) == 6
    ax = plot_mutual_information(forest)
    assert len(ax.patches) == 2 * forest.n_edges_


def test_pairs_and_scores(fitted):
    X, forest, lasso = fitted
    i, _ = forest.edges_[0]
    assert plot_pair_density(forest, X).get_xlabel() == f"column {i}"
    ax = plot_density_scores(forest, X, X[::-1] * 1.5)
    assert ax.get_legend() is not None
    for bars, rows in zip(ax.containers, (X, X[::-1] * 1.5), strict=True):
        left = np.array([bar.get_x() for bar in bars] + [bars[-1].get_x() + bars[-1].get_width()])
        shares = [bar.get_height() * bar.get_width() for bar in bars]
        counts, _ = np.histogram(forest.score_samples(rows), left)
        np.testing.assert_allclose(shares, counts / len(rows), atol=1.5 / len(rows))
    assert plot_density_scores(lasso, X).get_legend() is None
