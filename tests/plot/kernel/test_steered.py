"""What the pictures of steered maps show is what the models and sessions hold."""

import matplotlib
import numpy as np
import pytest
from matplotlib.backend_bases import KeyEvent, MouseEvent

from octavo import plot
from octavo.kernel import InteractiveSession, KnowledgeKernelPCA

matplotlib.use("Agg")
X = np.random.default_rng(0).standard_normal((30, 4))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


def test_map_shows_points_pins_links_and_labels():
    model = KnowledgeKernelPCA().fit(
        X,
        placements=([0, 1], [[0.2, 0.1], [np.nan, 0.3]], [False, True]),
        links=[(2, 3, 1), (4, 5, -1)],
        labels={6: -1},
    )
    ax = plot.plot_steered_map(model, color=np.arange(30) % 3)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), model.embedding_)
    lines = ax.get_lines()
    assert [line.get_linestyle() for line in lines[:2]] == ["-", ":"]
    np.testing.assert_allclose(lines[0].get_xydata(), model.embedding_[[2, 3]])
    rings = {
        line.get_marker(): line.get_xydata()[0] for line in lines if len(line.get_xydata()) == 1
    }
    np.testing.assert_allclose(rings["o"], [0.2, 0.1])
    np.testing.assert_allclose(rings["s"], [model.embedding_[1, 0], 0.3])
    np.testing.assert_allclose(rings["$-$"], model.embedding_[6])


def test_one_component_is_drawn_on_a_line():
    model = KnowledgeKernelPCA(1).fit(X, placements={0: (0.2,)})
    ax = plot.plot_steered_map(model, color=X[:, 0])
    assert not ax.collections[0].get_offsets()[:, 1].any()


def test_before_and_after():
    session = InteractiveSession(None, X).place(3, (0.3, 0.3))
    left, right = plot.plot_before_and_after(session)
    np.testing.assert_allclose(left.collections[0].get_offsets(), session.baseline)
    np.testing.assert_allclose(right.collections[0].get_offsets(), session.embedding)


def test_distortion_is_the_mean_over_runs():
    ax = plot.plot_map_distortion([0.1, 0.2], {"digits": [[1.0, 2.0], [3.0, 4.0]]})
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [2.0, 3.0])


def test_dragging_pins_the_point_and_keys_undo():
    session = InteractiveSession(None, X)
    ax = plot.plot_draggable_map(session)
    canvas = ax.figure.canvas
    canvas.draw()

    def mouse(name, at, button):
        x, y = ax.transData.transform(at)
        canvas.callbacks.process(name, MouseEvent(name, canvas, x, y, button))

    mouse("button_press_event", session.embedding[7], 1)
    target = session.embedding[7] + [0.05, 0.05]
    mouse("motion_notify_event", target, 1)
    mouse("button_release_event", target, 1)
    (placed,) = session.constraints["placements"]
    assert placed["point"] == 7
    np.testing.assert_allclose(placed["at"], target, atol=1e-6)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), session.embedding)
    mouse("motion_notify_event", target + 0.1, 1)  # nothing is held
    assert len(session.history) == 1
    canvas.draw()
    mouse("button_press_event", session.embedding[7], 3)
    assert session.constraints["placements"] == []
    for key, count in (("z", 1), ("z", 0), ("z", 0), ("y", 1), ("q", 1)):
        canvas.callbacks.process("key_press_event", KeyEvent("key_press_event", canvas, key))
        assert len(session.history) == count
