"""The meter against neighbours counted one by one; pins that spring back, and what holds them."""

import re

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from octavo.app.colours import class_codes, class_hues, colour_by
from octavo.app.controller import MapController
from octavo.app.exported_page import read_constraints, thumbnails, write_page
from octavo.app.map_meter import MapMeter, without_self
from octavo.app.map_sessions import start_session
from octavo.app.map_tables import MapTable, find_pixels
from octavo.app.springs import why_short


def counted(X, Z, codes, k):
    """Neighbours row by row, without trees and without a vote of our own."""
    n, kept, right = len(X), [], []
    for i in range(n):
        others = np.delete(np.arange(n), i)
        far = np.linalg.norm(X[others] - X[i], axis=1)
        near = np.linalg.norm(Z[others] - Z[i], axis=1)
        kept.append(len(set(others[np.argsort(far)[:k]]) & set(others[np.argsort(near)[:k]])) / k)
        named = KNeighborsClassifier(k).fit(Z[others], codes[others]).predict(Z[i : i + 1])
        right.append(named[0] == codes[i])
    return np.mean(kept), np.mean(right)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_meter_counts_neighbours(seed):
    rng = np.random.default_rng(seed)
    codes = np.arange(60) % 3
    X = rng.standard_normal((60, 5)) + np.eye(5)[codes]
    Z = X[:, :2] + 0.3 * rng.standard_normal((60, 2))
    read = MapMeter(X).read(Z, codes)
    np.testing.assert_allclose(read, counted(X, Z, codes, 10), rtol=1e-12)
    assert MapMeter(X).read(Z).separation is None


def test_a_map_that_is_the_table_keeps_every_neighbour():
    X = np.random.default_rng(2).standard_normal((50, 2))
    assert MapMeter(X).read(X).kept == 1.0
    assert MapMeter(X).read(-3.0 * X).kept == 1.0


def test_rows_of_no_known_class_are_not_judged():
    rng = np.random.default_rng(3)
    Z = np.vstack([rng.standard_normal((30, 2)), rng.standard_normal((30, 2)) + 20.0])
    codes = np.repeat([0, 1], 30)
    codes[::7] = -1
    assert MapMeter(Z).read(Z, codes).separation == 1.0


def test_many_rows_are_sampled_and_small_tables_have_fewer_neighbours():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((3000, 2))
    meter = MapMeter(X)
    assert len(meter.rows) == 2000
    assert meter.read(X).kept == 1.0
    assert MapMeter(X[:4]).n_neighbors == 3


def test_a_row_with_many_twins_is_not_its_own_neighbour():
    near = np.array([[0, 1, 2], [5, 6, 7]])
    np.testing.assert_array_equal(without_self(near, np.array([1, 3])), [[0, 2], [5, 6]])
    meter = MapMeter(np.zeros((30, 2)))
    assert not (meter._near == meter.rows[:, None]).any()
    assert 0.0 < meter.read(np.zeros((30, 2))).kept <= 1.0


# --- pins that spring back -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def start():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    X = rng.standard_normal((60, 4)) + 2.0 * np.eye(4)[codes]
    table = MapTable(X, {"kind": codes.astype(str)}, "things", "X = ...\n", "kind")
    return table, start_session(table)


def test_a_pin_that_holds_says_nothing(start):
    session = start[1].fork()
    at = 1.1 * session.baseline[0]
    assert why_short(session.place(0, at), 0, tuple(session.baseline[0])) is None
    assert why_short(session, 1, (0.0, 0.0)) is None  # no pin
    assert why_short(session.place(0, at, hard=True), 0, (0.0, 0.0)) is None


def test_weak_pins_are_the_reason_where_stronger_ones_help(start):
    session = start[1].fork().set_params(lambda_place=0.05, anchor=0.0)
    origin = session.baseline[0]
    at = origin + 0.3
    found = why_short(session.place(0, at), 0, tuple(origin))
    assert found["reason"] == "weak"
    rest = np.linalg.norm(session.embedding[0] - at)
    assert found["share"] == pytest.approx(max(0.0, 1.0 - rest / np.linalg.norm(at - origin)))
    # What it promises of stronger pins is what they do.
    said = re.search(r"With Pins at (\S+) it would go (\d+%)", found["text"])
    stronger = session.fork().set_params(lambda_place=float(said[1]))
    rest = np.linalg.norm(stronger.embedding[0] - at)
    assert f"{1.0 - rest / np.linalg.norm(at - origin):.0%}" == said[2]


def test_an_anchor_that_holds_is_named(start):
    session = start[1].fork().set_params(anchor=300.0)
    origin = session.baseline[0]
    found = why_short(session.place(0, origin + 0.3), 0, tuple(origin))
    assert found["reason"] == "anchor"
    assert "300" in found["text"]


def test_other_constraints_that_hold_are_named(start):
    session = start[1].fork().set_params(lambda_link=1000.0)
    origin, other = session.baseline[0], session.baseline[3]
    session.place(3, other, hard=True).link(0, 3, 1).place(0, origin + 0.35)
    found = why_short(session, 0, tuple(origin))
    assert found["reason"] == "others"


def test_a_place_out_of_reach_is_said_to_be(start):
    session = start[1].fork()
    found = why_short(session.place(0, (80.0, 80.0)), 0, tuple(session.baseline[0]))
    assert not found["exact"]
    assert "Not even an exact pin" in found["text"]


# --- what the page asks for ----------------------------------------------------------------------


def test_the_controller_tells_now_before_and_plain(start):
    tab = MapController(start[0], start[1].fork())
    first = tab.handle({"kind": "meter"}).result
    assert first["kept"]["now"] == first["kept"]["plain"] == first["kept"]["before"]
    assert first["column"] == "kind"
    tab.handle({"kind": "pin", "index": 0, "x": 3.0, "y": -3.0})
    second = tab.handle({"kind": "meter"}).result
    again = tab.handle({"kind": "meter"}).result
    assert second == again
    assert second["kept"]["plain"] == second["kept"]["before"] == first["kept"]["now"]
    codes = class_codes(start[0].columns["kind"])
    expected = MapMeter(start[0].X).read(tab.session.embedding, codes)
    assert (second["kept"]["now"], second["separation"]["now"]) == expected
    tab.handle({"kind": "undo"})
    third = tab.handle({"kind": "meter"}).result
    assert third["kept"]["before"] == second["kept"]["now"]
    assert third["kept"]["now"] == first["kept"]["now"]


def test_more_classes_than_nine_keep_their_colours():
    names = np.array([f"class {k:02d}" for k in range(26)])
    found = colour_by(np.repeat(names, 3))
    assert len({colour for _, colour in found.entries}) == 26
    assert [name for name, _ in found.entries] == list(names)
    assert len(np.unique(found.rgba, axis=0)) == 26
    # Those before do not change when more come, and no two are nearly the same.
    assert class_hues(26)[:12] == class_hues(12)
    rgb = np.array([list(bytes.fromhex(hue[1:])) for hue in class_hues(64)], dtype=float)
    apart = np.linalg.norm(rgb[:, None] - rgb[None], axis=2)
    assert apart[np.triu_indices(64, 1)].min() > 25.0


def test_a_label_of_whole_numbers_is_a_class_and_a_column_is_not():
    values = np.arange(26, dtype=float).repeat(2)
    table = MapTable(np.eye(52), {"letter": values}, "t", "", "letter")
    assert MapController(table, start_session(table)).colouring.ramp == []
    assert colour_by(values).ramp


def test_pictures_are_found_by_their_columns():
    pixels = {f"pixel{k}": np.arange(3.0) + k for k in range(16)}
    found = find_pixels({"label": np.array(["a", "b", "c"]), **pixels})
    assert found.shape == (3, 4, 4)
    np.testing.assert_allclose(found[1, 2], np.array([9.0, 10.0, 11.0, 12.0]) / 17.0)
    assert find_pixels({f"{r}x{c}": np.ones(2) for r in range(5) for c in range(5)}).shape[1] == 5
    del pixels["pixel3"]
    assert find_pixels(pixels) is None
    assert find_pixels({f"pixel{k}": np.array([-1.0, 1.0]) for k in range(16)}) is None


def test_thumbnails_are_small():
    pixels = np.zeros((5, 28, 28))
    pixels[2, :2, :2] = 1.0
    table = MapTable(np.eye(5), {}, "t", "", None, [], pixels)
    found = thumbnails(table)
    assert (found["height"], found["width"]) == (14, 14)
    assert thumbnails(MapTable(np.eye(5), {}, "t", "")) is None


def test_an_exported_page_brings_its_constraints_back(start):
    pytest.importorskip("jinja2")
    tab = MapController(start[0], start[1].fork())
    tab.handle({"kind": "pin", "index": 0, "x": 0.3, "y": -0.2})
    tab.handle({"kind": "link", "indices": [1, 2], "sign": -1})
    page = write_page(tab)
    assert read_constraints(page) == tab.session.constraints
    other = MapController(start[0], start[1].fork())
    reply = other.handle({"kind": "import", "name": "octavo-map.html", "text": page})
    assert reply.ok, reply.message
    assert other.session.constraints == tab.session.constraints
    bad = other.handle({"kind": "import", "name": "x.html", "text": "<!DOCTYPE html><p>"})
    assert not bad.ok
    assert "none that octavo exported" in bad.message
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
