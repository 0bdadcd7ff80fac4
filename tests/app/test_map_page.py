"""The page in a real browser, against an `InteractiveSession` given the same actions."""

import http.client
import json
import re
import urllib.error
import urllib.request
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("bokeh")
pytest.importorskip("pandas")
sync_api = pytest.importorskip("playwright.sync_api")

from octavo.app.colours import class_codes  # noqa: E402
from octavo.app.map_meter import MapMeter  # noqa: E402
from octavo.app.map_sessions import start_session  # noqa: E402
from octavo.app.map_tables import load_table  # noqa: E402
from tests.app.browser import Served, Tab, open_browser, wait_until  # noqa: E402


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    X = rng.standard_normal((90, 4)) + 2.5 * np.eye(4)[kind]
    path = tmp_path_factory.mktemp("data") / "flowers <b>.csv"
    lines = [",".join(f"{v:.4f}" for v in x) + f",sort {k}" for x, k in zip(X, kind)]
    path.write_text("a,b,c,d,<i>sort</i>\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = open_browser(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(data):
    served = Served(str(data), "--label", "<i>sort</i>")
    yield served
    served.process.kill()
    served.process.communicate()


@pytest.fixture
def tab(browser, served):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(20_000)
    tab = Tab(page, served.url)
    page.check("#beside")  # at once, so that plots keep their size
    page.wait_for_function("octavo.view.frame.bbox.width < 400")
    yield tab
    assert tab.errors == []
    page.close()


@pytest.fixture
def peer(data):
    """Return a session of its own on the same table."""
    return start_session(load_table(data, "<i>sort</i>"))


def assert_shows(tab, peer):
    """The page has the constraints of the session and draws its map, in single precision."""
    assert tab.constraints() == peer.constraints
    scale = np.abs(peer.embedding).max()
    np.testing.assert_allclose(tab.points(), peer.embedding, atol=4 * scale * 2.0**-24)


def test_the_page_starts_with_plain_kernel_pca(tab, peer):
    assert_shows(tab, peer)
    np.testing.assert_array_equal(tab.points(), peer.baseline.astype(np.float32))
    assert tab.page.title() == "flowers <b>.csv · octavo"
    assert tab.page.inner_text("header .about b") == "flowers <b>.csv"
    assert tab.page.is_disabled("#undo")


def test_a_point_is_dragged_and_the_map_moves(tab, peer):
    before = tab.points()
    (i,) = tab.loners(1)
    tab.drag(i, 90, -60)
    placed = tab.constraints()["placements"]
    assert [p["point"] for p in placed] == [i]
    assert_shows(tab, peer.place(i, placed[0]["at"]))
    # The pin is where the mouse let go: 90 pixels to the right, 60 up.
    unit = tab.page.evaluate(
        "octavo.view.frame.x_scale.invert(1) - octavo.view.frame.x_scale.invert(0)"
    )
    np.testing.assert_allclose(placed[0]["at"], before[i] + [90 * unit, 60 * unit], atol=2 * unit)
    assert np.abs(tab.points() - before).max(axis=1).min() > 0  # every point moves
    assert tab.drawn("pins")["x"] == [placed[0]["at"][0]]
    # One action, however many steps, and each was timed.
    assert len(peer.history) == 1
    (entry,) = tab.page.evaluate("octavo.log.map(({action, steps}) => ({action, steps}))")
    assert entry["action"] == "pin"
    assert min(entry["steps"]) > 0
    assert "row" in tab.page.inner_text("#log tr")
    tab.press("undo")
    assert_shows(tab, peer.undo())
    np.testing.assert_array_equal(tab.points(), before.astype(np.float32))
    assert tab.page.is_disabled("#undo")
    tab.press("redo")
    assert_shows(tab, peer.redo())


def test_two_points_are_linked_separated_and_unlinked(tab, peer):
    i, j, k = tab.loners(3)
    tab.click(i)
    assert tab.page.is_disabled("#link")
    tab.click(j)
    assert tab.page.inner_text("#selected") == f"rows {i} and {j}"
    tab.press("link")
    assert_shows(tab, peer.link(i, j, 1))
    assert len(tab.drawn("together")["x0"]) == 1
    # The next two clicks are to mean the next two points.
    assert tab.page.inner_text("#selected") == "none"
    tab.click(i)
    tab.page.keyboard.press("Escape")
    assert tab.page.inner_text("#selected") == "none"
    tab.page.evaluate("([i, k]) => { octavo.models.points.selected.indices = [i, k]; }", [i, k])
    tab.press("separate")
    assert_shows(tab, peer.link(i, k, -1))
    assert len(tab.drawn("apart")["x0"]) == 1
    tab.page.evaluate("([i, k]) => { octavo.models.points.selected.indices = [i, k]; }", [i, k])
    tab.press("unlink")
    assert_shows(tab, peer.unlink(i, k))
    tab.page.keyboard.press("Control+z")
    tab.settle()
    assert_shows(tab, peer.undo())
    tab.press("clear")
    assert_shows(tab, peer.clear())


def test_classes_are_typed_and_strengths_slide(tab, peer):
    i, j, k = tab.loners(3)
    for rows, name in (([i, j], "red <b>"), ([k], "blue")):
        tab.page.evaluate("(rows) => { octavo.models.points.selected.indices = rows; }", rows)
        tab.page.fill("#class", name)
        tab.press("label")
    peer.label(i, (1, 0)).label(j, (1, 0)).label(k, (-1, 0))
    assert_shows(tab, peer)
    assert sorted(tab.drawn("labels")["text"]) == ["blue", "red <b>", "red <b>"]
    tab.page.focus("#strength-lambda_label")
    for _ in range(3):
        tab.page.keyboard.press("ArrowRight")
        tab.settle()
    value = tab.page.evaluate("octavo.state.strengths.lambda_label")
    assert value == pytest.approx(10**0.15)
    assert_shows(tab, peer.set_params(lambda_label=value))
    tab.page.evaluate("(rows) => { octavo.models.points.selected.indices = rows; }", [i])
    tab.page.fill("#class", "   ")
    tab.press("label")
    assert "Type the name of a class" in tab.page.inner_text("#message")
    assert_shows(tab, peer)


def test_constraints_leave_and_come_back(tab, peer, browser, served, tmp_path):
    i, j, k = tab.loners(3)
    tab.drag(i, -40, 30)
    tab.page.check("#exact")
    tab.drag(j, 10, 10)
    tab.page.evaluate("(rows) => { octavo.models.points.selected.indices = rows; }", [i, k])
    tab.press("link")
    path = tab.download("#save", tmp_path)
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert [p["hard"] for p in sorted(saved["placements"], key=lambda p: p["point"] != i)] == [
        False,
        True,
    ]
    assert_shows(tab, peer.load(saved))
    tab.press("clear")
    assert_shows(tab, peer.clear())
    tab.page.set_input_files("#file", path)
    tab.page.wait_for_function("octavo.state.constraints.links.length === 1")
    tab.settle()
    assert_shows(tab, peer.load(saved))

    tab.page.click("#code")
    tab.page.wait_for_selector("#code-dialog[open]")
    scope = {}
    exec(tab.page.inner_text("#code-dialog pre"), scope)
    np.testing.assert_allclose(scope["embedding"], peer.embedding, atol=1e-8)
    tab.page.click("#close-code")
    assert tab.download("#png", tmp_path).read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in tab.download("#svg", tmp_path).read_bytes()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff\xfe not json", "wrong.json holds no constraints"),
        (b'{"n_components": 2, "placements": 3}', "placements must be a list"),
        (b'{"n_components": 2, "links": [{"points": [0, 900], "sign": 1}]}', "numbered 0 to 89"),
    ],
    ids=["bytes", "wrong type", "no such row"],
)
def test_malformed_uploads_leave_a_message(tab, peer, tmp_path, content, says):
    (i,) = tab.loners(1)
    tab.drag(i, 30, 30)
    peer.load(tab.constraints())
    (tmp_path / "wrong.json").write_bytes(content)
    tab.page.set_input_files("#file", tmp_path / "wrong.json")
    tab.page.wait_for_selector("#message:not([hidden])")
    assert says in tab.page.inner_text("#message")
    assert_shows(tab, peer)
    tab.page.click("#message-close")
    assert tab.page.is_hidden("#message")


def test_two_tabs_do_not_see_each_other(tab, browser, served, peer):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    other = Tab(page, served.url)
    i, j = tab.loners(2)
    tab.drag(i, 50, 20)
    assert_shows(other, peer)
    page.evaluate("(rows) => { octavo.models.points.selected.indices = rows; }", [i, j])
    other.press("separate")
    assert_shows(other, peer.link(i, j, -1))
    at = tab.constraints()["placements"][0]["at"]
    assert_shows(tab, peer.clear().place(i, at))
    assert tab.constraints()["links"] == []
    page.close()


def test_colours_rows_and_the_plain_map_beside(tab):
    before = tab.page.evaluate("octavo.models.points.data.colour[0]")
    tab.page.select_option("#column", "b")
    tab.page.wait_for_selector("#key .ramp")
    tab.settle()
    assert tab.page.evaluate("octavo.models.points.data.colour[0]") != before
    assert tab.page.evaluate("octavo.models.baseline.data.colour[0]") != before
    (i,) = tab.loners(1)
    tab.page.mouse.move(*tab.where(i))
    tab.page.wait_for_selector("#tip:not([hidden])")
    shown = tab.page.inner_text("#tip")
    assert "<i>sort</i>" in shown
    assert f"sort {i % 3}" in shown
    tab.page.mouse.move(5, 5)
    wide = tab.page.evaluate("octavo.view.frame.bbox.width")
    tab.page.uncheck("#beside")
    tab.page.wait_for_function("(wide) => octavo.view.frame.bbox.width > 1.5 * wide", arg=wide)
    assert tab.page.is_hidden("#plain-plot")
    # A unit stays as long along x as along y.
    unit = "octavo.view.frame.{0}_scale.invert(1) - octavo.view.frame.{0}_scale.invert(0)"
    tab.page.wait_for_function(
        f"Math.abs(({unit.format('x')}) + ({unit.format('y')})) < 1e-6 * ({unit.format('x')})"
    )


def test_one_drag_after_another(tab, peer):
    rows = []
    for k, (dx, dy) in enumerate([(40, 10), (-40, 80), (40, -70), (-40, -20)]):
        (i,) = [i for i in tab.loners(k + 1) if i not in rows][:1]
        rows.append(i)
        start = tab.where(i)
        tab.drag(i, dx, dy, steps=15)
        at = next(p["at"] for p in tab.constraints()["placements"] if p["point"] == i)
        np.testing.assert_allclose(tab.pixel(*at), np.add(start, [dx, dy]), atol=1.5)
        peer.place(i, at)
    assert_shows(tab, peer)
    for _ in rows:
        tab.press("undo")
    assert_shows(tab, peer.undo().undo().undo().undo())
    assert tab.page.evaluate("String(getSelection())") == ""


def test_a_pin_is_dragged_by_its_ring(tab, peer):
    # Far out, so that only the ring is there; a weak pin, so that the point is not.
    (i,) = tab.loners(1)
    tab.page.evaluate("octavo.send({kind: 'strength', name: 'lambda_place', value: 0.01})")
    peer.set_params(lambda_place=0.01)
    x, y = tab.page.evaluate(
        "[octavo.models.steered.x_range.end, octavo.models.steered.y_range.end]"
    )
    start = tab.pixel(0.9 * x, 0.9 * y)
    here = tab.where(i)
    tab.drag(i, start[0] - here[0], start[1] - here[1])
    tab.drag_from(start, -30, 20)
    (placed,) = tab.constraints()["placements"]
    assert placed["point"] == i
    assert_shows(tab, peer.place(i, placed["at"]))
    np.testing.assert_allclose(tab.pixel(*placed["at"]), np.add(start, [-30, 20]), atol=2)


def test_a_connection_that_comes_back_brings_the_state(tab, peer):
    (i,) = tab.loners(1)
    tab.drag(i, 30, 10)
    at = tab.constraints()["placements"][0]["at"]
    tab.page.evaluate("octavo.lost()")
    assert tab.page.is_visible("#lost")
    tab.page.evaluate("octavo.send({kind: 'clear'})")  # goes nowhere
    tab.page.evaluate("octavo.found()")
    tab.settle()
    assert tab.page.is_hidden("#lost")
    assert_shows(tab, peer.place(i, at))


def test_points_that_leave_are_followed_unless_the_user_has_zoomed(tab):
    outside = """(() => {
        const {steered, points} = octavo.models, {x_range, y_range} = steered;
        const out = (v, r) => Array.from(v).filter((z) => z < r.start || z > r.end).length;
        return out(points.data.x, x_range) + out(points.data.y, y_range);
    })()"""
    far = {
        "kind": "import",
        "text": json.dumps(
            {"n_components": 2, "placements": [{"point": 0, "at": [30.0, 0.0], "weight": 100.0}]}
        ),
    }
    tab.page.evaluate("(gesture) => octavo.send(gesture)", far)
    tab.settle()
    assert tab.points()[:, 0].max() > 2 * np.abs(
        tab.page.evaluate("octavo.models.baseline.data.x[0]")
    )
    assert tab.page.evaluate(outside) == 0
    tab.press("undo")
    tab.page.evaluate("octavo.models.steered.x_range.setv({start: -0.5, end: 0.5})")
    tab.page.evaluate("(gesture) => octavo.send(gesture)", far)
    tab.settle()
    assert tab.page.evaluate(outside) > 0
    assert tab.page.evaluate("octavo.models.steered.x_range.end") == 0.5


def test_an_activated_tool_goes_before_pins(tab):
    (i,) = tab.loners(1)
    tab.page.evaluate(
        "octavo.models.steered.toolbar.tools.find((t) => t.type === 'PanTool').active = true"
    )
    start = tab.page.evaluate("octavo.models.steered.x_range.start")
    tab.drag(i, 60, 0)
    assert tab.constraints()["placements"] == []
    assert tab.page.evaluate("octavo.models.steered.x_range.start") < start


def test_only_the_address_with_the_token_is_served(served):
    parts = urlsplit(served.url)
    home = f"{parts.scheme}://{parts.netloc}"
    assert len(parts.path.strip("/")) >= 43  # 256 bits
    with urllib.request.urlopen(served.url) as answer:
        assert answer.status == 200
    for path in ("/", "/app", "/static/js/bokeh.min.js", "/ws", parts.path[:-2] + "/", "/metadata"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(home + path)
        assert refused.value.code == 404


def test_another_site_cannot_connect(served):
    parts = urlsplit(served.url)
    answers = {}
    for origin in ("http://example.com", f"http://{parts.netloc}", "http://localhost:1"):
        connection = http.client.HTTPConnection(parts.netloc, timeout=10)
        headers = {
            "Origin": origin,
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Key": "x3JJHMbDL1EzLkh9GBhXDw==",
            "Sec-WebSocket-Version": "13",
        }
        connection.request("GET", parts.path + "ws", headers=headers)
        answers[origin] = connection.getresponse().status
        connection.close()
    assert answers == {
        "http://example.com": 403,
        f"http://{parts.netloc}": 101,
        "http://localhost:1": 403,
    }


def test_a_server_that_dies_leaves_a_message_and_the_work(browser, data, tmp_path):
    served = Served(str(data))
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    tab = Tab(page, served.url)
    (i,) = tab.loners(1)
    tab.drag(i, 30, 30)
    status, said = served.interrupt()
    assert status == 0
    assert "Traceback" not in said
    page.wait_for_selector("#lost:not([hidden])")
    assert "The server has stopped" in page.inner_text("#lost")
    saved = json.loads(tab.download("#lost button", tmp_path).read_text(encoding="utf-8"))
    assert [p["point"] for p in saved["placements"]] == [i]
    # The browser itself writes down that a connection was refused.
    assert [error for error in tab.errors if "ebsocket" not in error.lower()] == []
    page.close()


# --- the first minute, and other screens ---------------------------------------------------------


@pytest.fixture(scope="module")
def digits():
    served = Served()
    yield served
    served.process.kill()
    served.process.communicate()


def test_the_guide_leads_through_three_steps(browser, digits, tmp_path):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(20_000)
    tab = Tab(page, digits.url)
    assert page.inner_text("#guide-step") == "Step 1 of 3"
    assert page.is_hidden("#plain-figure")  # not two identical maps
    guide = page.evaluate("octavoAbout.guide")
    row, to = guide["drag"]["row"], guide["drag"]["to"]
    (x, y), end = tab.where(row), tab.pixel(*to)
    tab.drag(row, end[0] - x, end[1] - y)
    assert [p["point"] for p in tab.constraints()["placements"]] == [row]
    assert page.inner_text("#guide-step") == "Step 2 of 3"
    for i in guide["apart"]:
        tab.click(i)
    assert page.inner_text("#selected") == f"rows {guide['apart'][0]} and {guide['apart'][1]}"
    tab.press("separate")
    assert page.inner_text("#selected") == "none"
    assert page.inner_text("#guide-step") == "Step 3 of 3"
    # What the guide says of the cost is what the meter counts.
    session = start_session(load_table(None))
    session.load(tab.constraints())
    meter = MapMeter(load_table(None).X)
    codes = class_codes(load_table(None).columns["digit"])
    now = meter.read(session.embedding, codes).separation
    plain = meter.read(session.baseline, codes).separation
    page.wait_for_function("document.getElementById('guide-text').textContent.includes('−.')")
    shown = float(page.inner_text("#meter-separation .now"))
    assert shown == pytest.approx(now, abs=0.002)  # the page's drag ended on a pixel
    assert float(page.inner_text("#meter-separation .plain")) == pytest.approx(plain, abs=5e-4)
    assert "loss" in page.get_attribute("#meter-separation .all", "class")
    page.click("#guide-next")
    assert page.is_hidden("#guide")
    assert page.is_visible("#plain-figure")
    assert page.query_selector(".beacon") is None
    assert tab.errors == []
    page.close()


def test_the_guide_is_skipped_and_comes_back(browser, digits):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    tab = Tab(page, digits.url)
    page.click("#guide-skip")
    assert page.is_hidden("#guide")
    assert page.is_hidden("#plain-figure")
    page.click("#guide-again")
    assert page.is_visible("#guide")
    assert len(page.query_selector_all(".beacon")) == 2
    assert tab.errors == []
    page.close()


def test_pictures_of_the_rows_are_drawn_on_the_map(browser, digits):
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    tab = Tab(page, digits.url)
    page.click("#guide-skip")
    drawn = "(() => { const c = document.querySelector('#steered-plot .layer');"
    drawn += " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
    drawn += " let n = 0; for (let k = 3; k < d.length; k += 4) n += d[k] === 255; return n; })()"
    before = page.evaluate(drawn)
    page.check("#pictures")
    page.wait_for_function("octavo.layers.steered.pictures > 50")
    assert page.evaluate(drawn) > before + 50 * 20 * 20
    page.uncheck("#pictures")
    page.wait_for_function("octavo.layers.steered.pictures === 0")
    assert page.evaluate(drawn) < before + 50 * 20 * 20
    assert tab.errors == []
    page.close()


def test_the_lasso_selects_what_it_encloses_and_shift_adds(tab):
    page = tab.page
    tool = "octavo.models.steered.toolbar.tools.find((t) => t.type === 'LassoSelectTool')"
    page.evaluate(f"{tool}.active = true")
    found = []
    for i in tab.loners(2):
        x, y = tab.where(i)
        corners = [(x - 5, y - 5), (x + 5, y - 5), (x + 5, y + 5), (x - 5, y + 5), (x - 5, y - 4)]
        if found:
            page.keyboard.down("Shift")
        page.mouse.move(*corners[0])
        page.mouse.down()
        for corner in corners[1:]:
            page.mouse.move(*corner, steps=4)
        page.mouse.up()
        page.keyboard.up("Shift")
        found.append(i)
        page.wait_for_function(
            "(rows) => String(octavo.models.points.selected.indices) === String(rows)", arg=found
        )
    page.evaluate(f"{tool}.active = false")
    assert page.evaluate("octavo.models.baseline.selected.indices") == found
    page.keyboard.press("Escape")
    assert page.evaluate("octavo.models.points.selected.indices") == []


def test_the_wheel_zooms(tab):
    span = "octavo.models.steered.x_range.end - octavo.models.steered.x_range.start"
    before = tab.page.evaluate(span)
    (i,) = tab.loners(1)
    tab.page.mouse.move(*tab.where(i))
    tab.page.mouse.wheel(0, -200)
    tab.page.wait_for_function(f"{span} < {before}")


def test_a_page_without_pictures_offers_none(tab):
    assert tab.page.is_hidden("#pictures-switch")


def test_pins_stay_inside_the_plot(tab, peer):
    (i,) = tab.loners(1)
    tab.drag(i, 2000, -900)
    ((x, y),) = [p["at"] for p in tab.constraints()["placements"]]
    assert_shows(tab, peer.place(i, (x, y)))
    inside = """([x, y]) => {
        const {x_range, y_range} = octavo.models.steered;
        return x > x_range.start && x < x_range.end && y > y_range.start && y < y_range.end;
    }"""
    assert tab.page.evaluate(inside, [x, y])
    # And a pin that comes from a file makes room for itself.
    far = {"n_components": 2, "placements": [{"point": 0, "at": [9.0, 9.0], "weight": 0.01}]}
    tab.page.evaluate("(g) => octavo.send(g)", {"kind": "import", "text": json.dumps(far)})
    tab.settle()
    assert tab.page.evaluate(inside, [9.0, 9.0])


def test_a_pin_that_springs_back_says_why(tab):
    (i,) = tab.loners(1)
    tab.page.evaluate("octavo.send({kind: 'strength', name: 'lambda_place', value: 0.05})")
    tab.settle()
    tab.drag(i, 60, -60)
    tab.page.wait_for_selector("#message:not([hidden])")
    said = tab.page.inner_text("#message")
    assert f"Row {i} went" in said
    assert "Pins are weak here (0.05)" in said
    tab.press("message-do")  # "Pin exactly"
    (placed,) = tab.constraints()["placements"]
    assert placed["hard"]
    np.testing.assert_allclose(tab.points()[i], placed["at"], atol=1e-5)
    assert tab.page.is_hidden("#message")


def test_the_exported_page_opens_without_a_server(browser, tab, peer, tmp_path):
    i, j, k = tab.loners(3)
    tab.drag(i, 40, -30)
    tab.page.evaluate("(rows) => { octavo.models.points.selected.indices = rows; }", [j, k])
    tab.press("link")
    path = tab.download("#page", tmp_path)
    assert path.name == "octavo-map.html"
    asked, errors = [], []
    context = browser.new_context(offline=True, viewport={"width": 1000, "height": 700})
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    page.goto(path.as_uri())
    wait_until(page, "octavoExport.drawn > 0")
    assert page.title() == "flowers <b>.csv · octavo"
    shown = page.evaluate(
        "Array.from(new Float32Array(Uint8Array.from("
        "atob(octavoExport.held.steered), (c) => c.charCodeAt(0)).buffer))"
    )
    np.testing.assert_array_equal(np.reshape(shown, (-1, 2)), tab.points().astype(np.float32))
    page.mouse.move(*page.evaluate("(i) => octavoExport.pixel(i)", i))
    assert f"sort {i % 3}" in page.inner_text("#tip")
    page.click("#show-plain")
    wait_until(page, "octavoExport.share === 0")
    assert f"row {i} at" in page.inner_text("#constraints")
    assert errors == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    context.close()
    # And the page takes its constraints back.
    tab.press("clear")
    tab.page.set_input_files("#file", path)
    tab.page.wait_for_function("octavo.state.constraints.links.length === 1")


@pytest.mark.parametrize(("width", "height"), [(800, 1100), (390, 844), (1280, 800)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_narrow_screens_in_light_and_dark(browser, served, width, height, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, has_touch=True
    )
    page = context.new_page()
    tab = Tab(page, served.url)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("octavo.view.frame.bbox.width") > 0.55 * min(width, 500)
    (i,) = tab.loners(1)
    x, y = tab.where(i)
    page.touchscreen.tap(x + 3, y + 3)
    page.wait_for_function("(i) => octavo.models.points.selected.indices.includes(i)", arg=i)
    # The points and the words stand out from the ground.
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    dark = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) < 200
    assert dark == (scheme == "dark")
    plotted = page.evaluate("octavo.models.steered.background_fill_color")
    assert (plotted == "#ffffff") == (scheme == "light")
    assert tab.errors == []
    context.close()


def test_a_finger_drags_a_point(browser, served):
    context = browser.new_context(viewport={"width": 800, "height": 1100}, has_touch=True)
    page = context.new_page()
    tab = Tab(page, served.url)
    (i,) = tab.loners(1)
    x, y = tab.where(i)
    cdp = context.new_cdp_session(page)

    def touch(kind, *points):
        found = [{"x": a, "y": b} for a, b in points]
        cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": found})

    touch("touchStart", (x, y))
    for k in range(1, 7):
        touch("touchMove", (x + 6 * k, y + 6 * k))
    touch("touchEnd")
    page.wait_for_function("octavo.state.constraints.placements.length === 1")
    tab.settle()
    (placed,) = tab.constraints()["placements"]
    assert placed["point"] == i
    assert tab.errors == []
    context.close()


def test_the_log_tells_the_median_redraw(tab):
    (i,) = tab.loners(1)
    tab.drag(i, 30, 20)
    said = tab.page.inner_text("#summary")
    times = tab.page.evaluate("octavo.log.filter((e) => e.drawn && e.ok).flatMap((e) => e.steps)")
    median = sorted(times)[len(times) // 2]
    assert f"median {median:.0f} ms" in said or f"median {median:.1f} ms" in said
    assert "within 50 ms" in said
