"""Pictures of networks show the arcs and bounds they are given."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest

from octavo.graphical import (
    BayesianNetworkStructureLearner,
    DynamicBNLearner,
    ParentSetCache,
    cpdag,
    forbidden_arc,
    make_bayesian_network,
    required_arc,
)
from octavo.plot import (
    plot_anytime_bounds,
    plot_bayesian_network,
    plot_cache_sizes,
    plot_cpdag,
    plot_two_slices,
)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def learner():
    X = make_bayesian_network(6, 8, concentration=2.0, random_state=1).sample(300, random_state=0)
    rules = [required_arc(0, 1), forbidden_arc(2, 3)]
    return BayesianNetworkStructureLearner(
        constraints=rules, method="bnb", on_constant="isolate", random_state=0
    ).fit(X)


def arrows(ax):
    return [text for text in ax.texts if getattr(text, "arrow_patch", None) is not None]


def test_networks_show_required_and_forbidden_arcs(learner):
    ax = plot_bayesian_network(learner)
    n_forbidden = len(set(learner.forbidden_arcs_) - {(b, a) for a, b in learner.dag_.edges})
    assert len(arrows(ax)) == learner.dag_.number_of_edges() + n_forbidden
    colors = [matplotlib.colors.to_hex(a.arrow_patch.get_edgecolor()) for a in arrows(ax)]
    assert colors.count(matplotlib.colors.to_hex("C0")) == 1
    assert {text.get_text() for text in ax.texts} >= {str(node) for node in learner.dag_.nodes}


def test_classes_have_arrows_and_lines():
    ax = plot_cpdag(cpdag(nx.DiGraph([("a", "c"), ("b", "c"), ("e", "f")])))
    styles = [type(a.arrow_patch.get_arrowstyle()).__name__ for a in arrows(ax)]
    assert len(styles) == 3
    assert styles.count("Curve") == 1


def test_bounds_are_drawn_as_they_came(learner):
    ax = plot_anytime_bounds(learner)
    lower, upper = (line.get_ydata() for line in ax.lines)
    np.testing.assert_array_equal(lower, [point.lower for point in learner.history_])
    assert (upper >= lower).all()
    assert upper[-1] == learner.score_


def test_bars_are_the_counts():
    X = make_bayesian_network(5, 6, random_state=0).sample(100, random_state=0)
    caches = {p: ParentSetCache.build(X, pruning=p) for p in ("none", "all")}
    ax = plot_cache_sizes(caches)
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == [c.n_evaluated for c in caches.values()] + [len(c) for c in caches.values()]
    assert ax.get_yscale() == "log"


def test_two_slices_stand_side_by_side():
    rng = np.random.default_rng(0)
    learner = DynamicBNLearner().fit([rng.integers(0, 2, (20, 3)) for _ in range(10)])
    ax = plot_two_slices(learner)
    assert len(arrows(ax)) == learner.dag_.number_of_edges()
    places = {t.get_text(): t.get_position()[0] for t in ax.texts if t.get_text()}
    assert {places[f"{k}[t-1]"] for k in range(3)} == {0.0}
    assert {places[f"{k}[t]"] for k in range(3)} == {2.0}
