"""A session after any actions holds the map that a fresh fit gives; undo and redo are exact."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

from octavo.kernel import InteractiveSession, KnowledgeKernelPCA

N = 15
X = np.random.default_rng(0).standard_normal((N, 4))
points = st.integers(0, N - 1)
coordinates = st.one_of(st.none(), st.floats(-0.4, 0.4).map(lambda x: round(x, 3)))
places = st.tuples(coordinates, coordinates).filter(lambda at: at != (None, None))
actions = st.one_of(
    st.tuples(st.just("place"), points, places, st.booleans()),
    st.tuples(st.just("move"), points, places),
    st.tuples(st.just("release"), points),
    st.tuples(st.just("link"), points, points, st.sampled_from([1, -1])),
    st.tuples(st.just("unlink"), points, points),
    st.tuples(st.just("label"), points, st.sampled_from([1, -1, (0, 1), (-1, 1), None])),
    st.tuples(
        st.just("set_params"),
        st.sampled_from(["lambda_place", "lambda_link", "lambda_label", "anchor"]),
        st.sampled_from([0.0, 0.1, 1.0, 30.0]),
    ),
    st.tuples(st.just("undo")),
    st.tuples(st.just("redo")),
    st.tuples(st.just("clear")),
)


def perform(session, action):
    """Do one action; those that cannot be done must leave the session as it was."""
    name, *rest = action
    before, known = session.embedding.copy(), session.constraints
    try:
        if name == "place":
            session.place(rest[0], rest[1], hard=rest[2])
        elif name == "set_params":
            session.set_params(**{rest[0]: rest[1]})
        else:
            getattr(session, name)(*rest)
    except ValueError:
        assert np.array_equal(session.embedding, before)
        assert session.constraints == known


def fresh(session, data):
    """Return the map that the session's own code makes."""
    scope = {"X": data}
    exec(session.code(), scope)
    return scope["embedding"]


def same(ours, theirs, free):
    """Compare columns; one whose sign is free may differ in it."""
    for a, b, either in zip(ours.T, theirs.T, free):
        gap = np.abs(a - b).max()
        gap = min(gap, np.abs(a + b).max()) if either else gap
        assert gap < 1e-8


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"average": False, "anchor": 1.0},
        {"variant": "norm", "orthogonality": "soft"},
        {"low_rank": 9},
    ],
    ids=["plain", "session", "norm", "low-rank"],
)
@settings(max_examples=25, deadline=None)
@given(sequence=st.lists(actions, max_size=12))
def test_any_sequence_of_actions_equals_a_fresh_fit(params, sequence):
    model = KnowledgeKernelPCA(gamma=0.3, n_neighbors=4, **params)
    session = InteractiveSession(model, X)
    for action in sequence:
        perform(session, action)
    fitted = session.to_model()
    same(session.embedding, fresh(session, X), fitted.hard_case_)
    # The constraints go through JSON and give the same map in another session.
    other = InteractiveSession(model.set_params(**session.params), X, None)
    other.load(json.loads(json.dumps(session.constraints)))
    same(session.embedding, other.embedding, fitted.hard_case_)
    assert other.constraints == session.constraints
    assert np.allclose(fitted.transform(X), session.embedding, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(sequence=st.lists(actions, min_size=1, max_size=10))
def test_undoing_everything_leads_back_and_redoing_forward(sequence):
    session = InteractiveSession(None, X)
    start = session.embedding
    for action in sequence:
        perform(session, action)
    end, known = session.embedding, session.constraints
    count = 0
    while session.can_undo:
        session.undo()
        count += 1
    assert session.embedding is start
    assert session.history == []
    for _ in range(count):
        session.redo()
    assert session.embedding is end
    assert session.constraints == known


def test_baseline_is_kernel_pca_and_never_changes():
    session = InteractiveSession(None, X)
    peer = KernelPCA(2, kernel="rbf").fit_transform(X)
    peer *= np.sign(peer[np.abs(peer).argmax(axis=0), [0, 1]])
    assert np.allclose(session.baseline, peer, atol=1e-8)
    assert np.allclose(session.embedding, peer, atol=1e-8)
    session.place(0, (0.5, 0.5))
    assert np.allclose(session.baseline, peer, atol=1e-8)
    assert not np.allclose(session.embedding, peer, atol=1e-3)


def test_a_drag_is_one_step_of_the_history():
    session = InteractiveSession(None, X).place(3, (0.1, 0.1))
    before = session.embedding
    for t in np.linspace(0.1, 0.4, 10):
        session.move(3, (t, 0.1), drag=True)
    assert [action.name for action in session.history] == ["place", "move"]
    assert session.undo().embedding is before
    session.redo().move(3, (0.0, 0.0)).move(3, (0.1, 0.0), drag=True)
    assert [action.name for action in session.history] == ["place", "move", "move", "move"]
    session.place(5, (0.1, 0.0), drag=True).place(5, (0.2, 0.0), drag=True)
    session.move(5, (0.3, 0.0), drag=True).place(6, (0.1, 0.1), drag=True)
    assert [(a.name, a.detail) for a in session.history[-2:]] == [("place", "5"), ("place", "6")]


def test_moving_keeps_how_a_point_is_pinned():
    session = InteractiveSession(None, X).place(3, (0.1, 0.1), hard=True).move(3, (0.2, 0.0))
    assert session.constraints["placements"] == [
        {"point": 3, "at": [0.2, 0.0], "hard": True, "weight": 1.0}
    ]
    assert np.allclose(session.embedding[3], [0.2, 0.0], atol=1e-10)


def test_small_moves_make_small_changes():
    # No flips while a point is dragged across both axes.
    session = InteractiveSession(None, X)
    i = int(np.argmax(np.abs(session.baseline[:, 0])))
    x, y = session.baseline[i]
    session.place(i, (x, y))
    path = [session.embedding]
    for t in np.linspace(1.0, -0.5, 151):
        path.append(session.move(i, (t * x, t * y), drag=True).embedding)
    step = 0.01 * np.hypot(x, y)
    largest = max(np.abs(b - a).max() for a, b in pairwise(path))
    assert largest < 5 * step


def test_actions_are_timed_and_named():
    session = InteractiveSession(None, X).place(1, (0.1, 0.2)).link(2, 3, -1)
    assert [(a.name, a.detail) for a in session.history] == [("place", "1"), ("link", "2, 3")]
    assert all(action.seconds > 0 for action in session.history)


def test_two_sessions_do_not_see_each_other():
    model = KnowledgeKernelPCA(gamma=0.3)
    one, two = InteractiveSession(model, X), InteractiveSession(model, X)
    one.place(0, (0.3, 0.3)).set_params(lambda_place=5.0)
    assert two.constraints["placements"] == []
    assert two.params["lambda_place"] == 1.0 == model.lambda_place
    assert not hasattr(model, "embedding_")


def test_a_fork_goes_its_own_way():
    session = InteractiveSession(None, X).place(0, (0.4, 0.1)).link(1, 2)
    other = session.fork()
    np.testing.assert_array_equal(other.embedding, session.embedding)
    other.place(3, (-0.5, 0.2)).label(4, 1)
    before = session.embedding.copy()
    session.unlink(1, 2)
    assert len(other.constraints["placements"]) == 2
    assert len(session.constraints["placements"]) == 1
    fresh = InteractiveSession(None, X, other.constraints)
    np.testing.assert_allclose(other.embedding, fresh.embedding, atol=1e-8)
    other.undo().undo()
    np.testing.assert_array_equal(other.embedding, before)


def test_the_embedding_cannot_be_written_to():
    session = InteractiveSession(None, X)
    with pytest.raises(ValueError, match="read-only"):
        session.embedding[0] = 0.0


def test_code_names_what_is_not_default():
    session = InteractiveSession(KnowledgeKernelPCA(3, gamma=0.3, low_rank=10), X)
    session.place(0, (0.1, None, 0.2)).place(1, (0.1, 0.1, 0.1), hard=True)
    session.link(4, 2, -1, component=1).label(6, -1)
    code = session.code()
    for part in ("low_rank=10", "random_state=0", "(2, 4, -1, 1)"):
        assert part in code
    assert "lambda_link" not in code
    assert np.allclose(fresh(session, X), session.embedding, atol=1e-8)


def test_precomputed_kernel():
    K = rbf_kernel(X, gamma=0.3)
    session = InteractiveSession(KnowledgeKernelPCA(kernel="precomputed"), K).place(0, (0.3, 0.1))
    rows = InteractiveSession(KnowledgeKernelPCA(gamma=0.3), X).place(0, (0.3, 0.1))
    assert np.allclose(session.embedding, rows.embedding, atol=1e-9)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (lambda s: s.undo(), "nothing to undo"),
        (lambda s: s.redo(), "nothing to do again"),
        (lambda s: s.move(0, (0, 0)), "place it first"),
        (lambda s: s.release(0), "not placed"),
        (lambda s: s.unlink(0, 1), "not linked"),
        (lambda s: s.label(0, None), "has no label"),
        (lambda s: s.label(0, 3), "got 3"),
        (lambda s: s.place(N, (0, 0)), "numbered 0 to 14; got 15"),
        (lambda s: s.place(0, (0, 0, 0)), "2 coordinate"),
        (lambda s: s.place(0, (99.0, 0), hard=True), "radius of at least"),
        (lambda s: s.set_params(kernel="linear"), "cannot change 'kernel'"),
        (lambda s: s.set_params(lambda_place=-1.0), "lambda_place"),
    ],
)
def test_what_cannot_be_done_says_so_and_changes_nothing(action, words):
    session = InteractiveSession(None, X)
    before = session.embedding
    with pytest.raises(ValueError, match=words):
        action(session)
    assert session.embedding is before
    assert session.history == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n_components": 3, "placements": []}, "3 components"),
        ({"pins": []}, "no field 'pins'"),
        ({"format": 9}, "format 9"),
        ({"n_components": "2"}, "positive integer"),
        ({"links": {}}, "must be a list"),
        ({"links": [{"points": [1]}]}, "'sign'"),
        ({"links": [{"points": [1], "sign": 1}]}, "two points"),
        ({"links": [{"points": [1, 2], "sign": "x"}]}, "got 'x'"),
        ({"placements": [{"point": 1, "at": ["a", 1]}]}, "number"),
        ({"placements": [{"point": "1", "at": [0, 1]}]}, "row number"),
        ({"placements": [{"point": 1, "at": [0, 1], "hard": 1}]}, "hard"),
        ({"placements": [{"point": 1, "at": [0, 1], "weight": None}]}, "weight"),
        ({"placements": [{"point": 99, "at": [0, 1]}]}, "got 99"),
        ({"labels": [{"point": 1, "label": "x"}]}, "got 'x'"),
    ],
)
def test_malformed_constraints_say_what_is_wrong(change, words):
    session = InteractiveSession(None, X).place(0, (0.1, 0.1))
    known = session.constraints
    with pytest.raises(ValueError, match=words):
        session.load({**known, **change})
    with pytest.raises(ValueError, match="dictionary"):
        session.load([known])
    assert session.constraints == known


def test_a_long_session_keeps_its_size_and_its_answers():
    from octavo.kernel.steered.interactive_session import KEPT_ACTIONS

    session, n = InteractiveSession(None, X), KEPT_ACTIONS + 150
    for k in range(n):
        session.place(k % N, (0.01 * (k % 7), 0.1))
    assert len(session._past) == KEPT_ACTIONS + 1
    assert len(session.history) == KEPT_ACTIONS
    fresh = InteractiveSession(None, X, session.constraints)
    np.testing.assert_allclose(session.embedding, fresh.embedding, atol=1e-8)
    now = session.embedding.copy()
    for _ in range(KEPT_ACTIONS):
        session.undo()
    assert not session.can_undo
    with pytest.raises(ValueError, match="nothing to undo"):
        session.undo()
    begin = InteractiveSession(None, X)
    for k in range(n - KEPT_ACTIONS):
        begin.place(k % N, (0.01 * (k % 7), 0.1))
    np.testing.assert_array_equal(session.embedding, begin.embedding)
    for _ in range(KEPT_ACTIONS):
        session.redo()
    np.testing.assert_array_equal(session.embedding, now)


def test_large_maps_keep_fewer_actions(monkeypatch):
    from octavo.kernel.steered import interactive_session

    session = InteractiveSession(None, X)
    monkeypatch.setattr(interactive_session, "KEPT_BYTES", 1)
    for k in range(60):
        session.place(k % N, (0.1, 0.1))
    assert len(session.history) == 20
