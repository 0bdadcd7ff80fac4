"""What the pictures of ellipsoids show is what the objects hold."""

import matplotlib
import numpy as np
import pytest

from octavo import plot
from octavo.data import make_anchor_corpus, make_separable
from octavo.decomposition import AnchorTopics, EllipsoidalRoundingNMF, min_volume_ellipsoid

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("centered", [True, False])
def test_ellipse_is_the_boundary(centered):
    points = np.random.default_rng(0).standard_normal((40, 2)) + 3
    found = min_volume_ellipsoid(points, centered=centered)
    center = None if centered else found.center
    ax = plot.plot_contact_ellipsoid(points, found.L, found.active, center=center)
    lines = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    np.testing.assert_allclose(lines["points of contact"], points[found.active])
    assert ("mirror images" in lines) is centered
    z = ax.get_lines()[-1].get_xydata() - found.center
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", z, found.L, z), 1.0)


def test_surface_in_three_dimensions():
    shape = np.diag([1.0, 4.0, 9.0]) + 0.1
    from octavo.plot.decomposition.separable import _surface

    surface = _surface(shape, np.ones(3)).reshape(3, -1).T - 1
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", surface, shape, surface), 1.0)
    ax = plot.plot_contact_ellipsoid(np.eye(3), shape, [0, 1])
    assert ax.name == "3d"


def test_other_dimensions_are_refused():
    with pytest.raises(ValueError, match="2 or 3 columns"):
        plot.plot_contact_ellipsoid(np.eye(4), np.eye(4), [0])


def test_contact_values_count_every_point():
    sample = make_separable(200, 30, n_components=4, noise=0.2, random_state=0)
    model = EllipsoidalRoundingNMF(4).fit(sample.X)
    ax = plot.plot_contact_values(model)
    assert sum(bar.get_height() for bar in ax.patches) == 200
    np.testing.assert_allclose(
        ax.get_lines()[0].get_xdata(), model.contact_values_[model.candidate_indices_]
    )


def test_recovery_pairs_colours():
    names = ["ER-SPA", "SPA", "ER-XRAY(max)", "XRAY(max)"]
    ax = plot.plot_recovery([0.0, 0.1], {name: [1.0, 0.5] for name in names})
    lines = ax.get_lines()
    assert [line.get_label() for line in lines] == names
    assert lines[0].get_color() == lines[1].get_color() != lines[2].get_color()
    np.testing.assert_allclose(lines[0].get_ydata(), [100, 50])


def test_anchor_words_table():
    corpus = make_anchor_corpus(200, 60, n_topics=3, random_state=0)
    model = AnchorTopics(3).fit(corpus.counts)
    ax = plot.plot_anchor_words(model, n_words=2)
    (table,) = ax.tables
    cells = {place: cell.get_text().get_text() for place, cell in table.get_celld().items()}
    for i, (anchor, words) in enumerate(zip(model.anchor_words_, model.top_words(2)), start=1):
        assert [cells[i, j] for j in range(3)] == [str(anchor), *map(str, words)]
