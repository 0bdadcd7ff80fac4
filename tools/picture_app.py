"""Draw `docs/_static/app.png`, the picture of the map's page: ``python tools/picture_app.py``.

Takes the digits' map through the first step of its guide in a real browser (the strayed five, put
among the fives) and shows the rows as pictures.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "_static" / "app.png"


def main() -> None:
    """Serve the page, steer it, and write the picture."""
    sys.path.insert(0, str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.app.browser import Served, Tab, open_browser

    served = Served()
    try:
        with sync_playwright() as playwright:
            page = open_browser(playwright).new_page(viewport={"width": 1280, "height": 800})
            page.set_default_timeout(60_000)
            tab = Tab(page, served.url)
            guide = page.evaluate("octavoAbout.guide")
            page.click("#guide-skip")
            row, to = guide["drag"]["row"], guide["drag"]["to"]
            (x, y), end = tab.where(row), tab.pixel(*to)
            tab.drag(row, end[0] - x, end[1] - y)
            page.check("#pictures")
            page.wait_for_function("octavo.layers.steered.pictures > 50")
            page.mouse.move(5, 5)
            page.wait_for_timeout(1000)  # what moves has come to rest
            # The two maps and what steers them; how long it took is this machine's affair.
            page.evaluate("document.getElementById('latency').textContent = ''")
            box = page.locator("#plain-figure").bounding_box()
            height = box["y"] + box["height"] + 6
            page.screenshot(
                path=str(PICTURE), clip={"x": 0, "y": 0, "width": 1280, "height": height}
            )
            if tab.errors:
                raise SystemExit(f"the page complained: {tab.errors}")
    finally:
        served.interrupt()


if __name__ == "__main__":
    main()
