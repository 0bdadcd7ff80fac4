"""Gestures lead to the actions of a session that they stand for, or to a sentence."""

import base64
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.app.controller import MapController
from octavo.app.map_sessions import start_session
from octavo.app.map_tables import MapTable
from octavo.kernel import InteractiveSession

N = 40


def make_table():
    rng = np.random.default_rng(0)
    kind = np.array(["a", "b"])[(np.arange(N) % 2)]
    X = rng.standard_normal((N, 3)) + 2.0 * (kind == "a")[:, None]
    return MapTable(X, {"kind": kind, "size": X[:, 0]}, "things", "X = ...\n", "kind")


TABLE = make_table()
START = start_session(TABLE)


@pytest.fixture
def tab():
    return MapController(TABLE, START.fork())


@pytest.fixture
def peer():
    """Return a session of one's own, on its own decomposition."""
    return InteractiveSession(START._model, TABLE.X)


def drag(i, *path, number=1, **more):
    return [
        {"kind": "pin", "index": i, "x": x, "y": y, "live": True, "drag": number, **more}
        for x, y in path
    ]


def do(tab, *gestures):
    replies = [tab.handle(gesture) for gesture in gestures]
    assert all(reply.ok for reply in replies), [reply.message for reply in replies]
    return replies


def assert_same(tab, peer):
    assert tab.session.constraints == peer.constraints
    assert tab.session.params == peer.params
    # The two solve the same equations in the same order.
    np.testing.assert_allclose(tab.session.embedding, peer.embedding, atol=1e-12)


def test_every_gesture_is_its_action(tab, peer):
    do(tab, *drag(3, (0.1, 0.2), (0.4, -0.1)))
    peer.place(3, (0.4, -0.1))
    assert_same(tab, peer)
    do(tab, {"kind": "link", "indices": [1, 2], "sign": 1})
    do(tab, {"kind": "link", "indices": [5, 2], "sign": -1})
    peer.link(1, 2, 1).link(5, 2, -1)
    assert_same(tab, peer)
    do(tab, {"kind": "label", "indices": [7, 9], "name": "cat"})
    do(tab, {"kind": "label", "indices": [8], "name": "dog"})
    do(tab, {"kind": "label", "indices": [10], "name": "cow"})
    peer.label(7, 1).label(9, 1).label(8, -1).label(10, (0, 1))
    assert_same(tab, peer)
    do(tab, {"kind": "strength", "name": "lambda_link", "value": 7})
    peer.set_params(lambda_link=7.0)
    assert_same(tab, peer)
    do(tab, {"kind": "unlink", "indices": [2, 1]}, {"kind": "unlabel", "indices": [9, 11]})
    do(tab, {"kind": "release", "indices": [3, 4]})
    peer.unlink(1, 2).label(9, None).release(3)
    assert_same(tab, peer)
    do(tab, {"kind": "clear"})
    assert_same(tab, peer.clear())


def test_a_drag_is_one_action_and_the_next_drag_another(tab, peer):
    do(tab, *drag(3, (0.1, 0.2), (0.2, 0.1), (0.4, -0.1), number=1))
    do(tab, *drag(3, (0.3, 0.0), (-0.2, 0.1), number=2))
    assert len(tab.session.history) == 2
    do(tab, {"kind": "undo"})
    assert_same(tab, peer.place(3, (0.4, -0.1)))
    do(tab, {"kind": "undo"})
    assert np.array_equal(tab.session.embedding, tab.session.baseline)
    assert not tab.session.can_undo
    do(tab, {"kind": "redo"})
    assert_same(tab, peer)


def test_a_slide_is_one_action(tab):
    before = tab.session.params["anchor"]
    for value in (1.5, 2.0, 8.0):
        gesture = {"kind": "strength", "name": "anchor", "value": value, "live": True, "drag": "s"}
        do(tab, gesture)
    assert tab.session.params["anchor"] == 8.0
    do(tab, {"kind": "undo"})
    assert tab.session.params["anchor"] == before
    assert not tab.session.can_undo


def test_a_look_at_a_row_does_not_break_a_drag(tab):
    first, second = drag(3, (0.1, 0.2), (0.2, 0.1))
    do(tab, first, {"kind": "row", "index": 4}, second)
    assert len(tab.session.history) == 1


def test_undo_within_a_drag_is_kept(tab):
    first, second = drag(3, (0.1, 0.2), (0.2, 0.1))
    do(tab, first, {"kind": "undo"}, second)
    assert len(tab.session.history) == 1
    assert tab.session.constraints["placements"][0]["at"] == [0.2, 0.1]


def test_a_step_that_is_refused_leaves_the_step_before(tab):
    first, second, third = drag(3, (0.1, 0.1), (1e3, 1e3), (0.2, 0.1), exact=True)
    do(tab, first)
    before = tab.session.embedding
    refused = tab.handle(second)
    assert not refused.ok
    assert "radius" in refused.message
    assert np.array_equal(tab.session.embedding, before)
    do(tab, third)
    assert len(tab.session.history) == 1
    # An exact pin holds exactly.
    np.testing.assert_allclose(tab.session.embedding[3], (0.2, 0.1), atol=1e-8)


def test_many_labels_are_one_action(tab):
    do(tab, {"kind": "label", "indices": [1, 2, 3, 4], "name": "x"}, {"kind": "undo"})
    assert not tab.session.can_undo


def test_tabs_do_not_see_each_other(tab):
    other = MapController(TABLE, START.fork())
    do(tab, *drag(3, (0.1, 0.2)), {"kind": "label", "indices": [1], "name": "x"})
    assert other.session.constraints["placements"] == []
    assert other.classes == {}
    assert np.array_equal(other.session.embedding, START.baseline)
    assert not START.can_undo
    do(other, {"kind": "link", "indices": [1, 2], "sign": 1})
    assert tab.session.constraints["links"] == []


def test_exported_constraints_come_back(tab, peer):
    do(tab, *drag(3, (0.1, 0.2)), {"kind": "link", "indices": [1, 2], "sign": -1})
    do(tab, {"kind": "label", "indices": [6], "name": "z"})
    text = json.dumps(tab.state()["constraints"])
    other = MapController(TABLE, START.fork())
    (reply,) = do(other, {"kind": "import", "text": text, "name": "c.json"})
    assert reply.detail == "3 constraints"
    assert_same(other, peer.load(json.loads(text)))
    # A class without a name is called by its direction, and its name can be used.
    assert other.state()["classes"] == [["→", "→", [1, 0]]]
    do(other, {"kind": "label", "indices": [7], "name": "→"})
    assert other.session.constraints["labels"][1]["label"] == [1.0, 0.0]
    do(other, {"kind": "label", "indices": [8], "name": "new"})
    assert other.session.constraints["labels"][2]["label"] == [-1.0, 0.0]


def test_the_code_makes_the_map(tab):
    do(tab, *drag(3, (0.1, 0.2)), {"kind": "link", "indices": [1, 2], "sign": 1})
    (reply,) = do(tab, {"kind": "code"})
    assert reply.result.startswith(TABLE.code)
    scope = {"TABLE": TABLE}
    exec(reply.result.replace("X = ...", "X = TABLE.X"), scope)
    np.testing.assert_allclose(scope["embedding"], tab.session.embedding, atol=1e-8)


@pytest.mark.parametrize(
    ("gesture", "says"),
    [
        ({"kind": "import", "text": "{nonsense", "name": "f.txt"}, "f.txt holds no constraints"),
        ({"kind": "import", "text": "[" * 100_000, "name": "deep"}, "deep holds no constraints"),
        ({"kind": "import", "text": "[]", "name": "f"}, "must be a dictionary"),
        ({"kind": "import", "text": '{"n_components": 3}', "name": "f"}, "3 components"),
        (
            {
                "kind": "import",
                "text": '{"n_components": 2, "labels": [{"point": 99, "label": [1, 0]}]}',
                "name": "f",
            },
            "f was not imported. Points are numbered 0 to 39; got 99",
        ),
        (
            {
                "kind": "import",
                "text": '{"n_components": 2, "placements": [{"point": 1, "at": [1e400, 0]}]}',
                "name": "f",
            },
            "finite",
        ),
        ({"kind": "undo"}, "nothing to undo"),
        ({"kind": "link", "indices": [1], "sign": 1}, "Select two points first; 1 are selected"),
        ({"kind": "unlink", "indices": [1, 2]}, "not linked"),
        ({"kind": "label", "indices": [1], "name": "  "}, "Type the name"),
        ({"kind": "label", "indices": [], "name": "x"}, "Select"),
        ({"kind": "release", "indices": [1]}, "pinned"),
        ({"kind": "strength", "name": "gamma", "value": 1}, "no strength 'gamma'"),
        ({"kind": "strength", "name": "anchor", "value": -1}, "anchor"),
        ({"kind": "colour", "column": "no"}, "no column 'no'"),
        ({"kind": "row", "index": 40}, "0 to 39"),
        ({"kind": "pin", "index": 41, "x": 0, "y": 0}, "0 to 39"),
        ({"kind": "pin", "index": 4, "x": None, "y": None}, "finite"),
        ({"kind": "pin", "index": 4}, "incomplete"),
        ({"kind": "picture", "format": "gif"}, "gif"),
        ({"kind": "fly"}, "not known: 'fly'"),
        ([], "not known: None"),
        (None, "not known: None"),
    ],
    ids=lambda part: json.dumps(part)[:60] if isinstance(part, dict) else None,
)
def test_what_makes_no_sense_is_answered_with_a_sentence(tab, gesture, says):
    before = tab.session.embedding
    reply = tab.handle(gesture)
    assert not reply.ok
    assert says in reply.message
    assert tab.session.embedding is before
    assert not tab.session.can_undo


def test_nine_classes_are_one_too_many(tab):
    for k in range(8):
        do(tab, {"kind": "label", "indices": [k], "name": f"class {k}"})
    reply = tab.handle({"kind": "label", "indices": [8], "name": "class 8"})
    assert not reply.ok
    assert "8 classes" in reply.message
    assert len({tuple(e["label"]) for e in tab.session.constraints["labels"]}) == 8


def test_what_is_drawn_is_where_the_points_are(tab):
    do(tab, *drag(3, (0.1, 0.2)), {"kind": "link", "indices": [1, 2], "sign": 1})
    do(tab, {"kind": "link", "indices": [4, 5], "sign": -1})
    do(tab, {"kind": "label", "indices": [6], "name": "z"})
    Z, drawn = tab.session.embedding, tab.drawing()
    assert drawn["pins"] == {"x": [0.1], "y": [0.2], "marker": ["circle"]}
    assert [drawn["threads"][k][0] for k in ("x0", "y0", "x1", "y1")] == [*Z[3], 0.1, 0.2]
    assert [drawn["together"][k][0] for k in ("x0", "y0", "x1", "y1")] == [*Z[1], *Z[2]]
    assert [drawn["apart"][k][0] for k in ("x0", "y0", "x1", "y1")] == [*Z[4], *Z[5]]
    assert drawn["labels"] == {"x": [Z[6, 0]], "y": [Z[6, 1]], "text": ["z"]}
    json.dumps({**tab.state(), "drawing": drawn})
    assert np.array_equal(tab.points, Z.astype(np.float32))


def test_a_free_coordinate_is_drawn_at_the_point(tab):
    text = '{"n_components": 2, "placements": [{"point": 3, "at": [0.3, null], "hard": true}]}'
    do(tab, {"kind": "import", "text": text})
    drawn = tab.drawing()
    assert drawn["pins"]["y"] == [tab.session.embedding[3, 1]]
    assert drawn["pins"]["marker"] == ["square"]


@pytest.mark.parametrize("kind", ["png", "svg"])
@pytest.mark.parametrize("beside", [False, True])
def test_pictures(tab, kind, beside):
    do(tab, *drag(3, (0.1, 0.2)), {"kind": "link", "indices": [1, 2], "sign": 1})
    do(tab, {"kind": "label", "indices": [6], "name": "zebra"})
    gesture = {"kind": "picture", "format": kind, "beside": beside}
    for column in ("size", "kind"):
        do(tab, {"kind": "colour", "column": column})
        (reply,) = do(tab, gesture)
        content = base64.b64decode(reply.result["base64"])
        if kind == "png":
            assert content.startswith(b"\x89PNG")
        else:
            assert b"zebra" in content
            assert (b"plain kernel PCA" in content) == beside
            assert column.encode() in content


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.integers(0, 5), st.integers(1, 3), st.floats(-0.5, 0.5)),
            st.sampled_from(["undo", "redo"]),
        ),
        max_size=15,
    )
)
def test_interleaved_drags_and_undos_keep_the_session_of_a_fresh_fit(steps):
    tab = MapController(TABLE, START.fork())
    for step in steps:
        if isinstance(step, str):
            tab.handle({"kind": step})
        else:
            i, number, x = step
            do(tab, *drag(i, (x, 0.1), number=number))
    peer = START.fork().load(tab.session.constraints)
    np.testing.assert_allclose(tab.session.embedding, peer.embedding, atol=1e-9)
