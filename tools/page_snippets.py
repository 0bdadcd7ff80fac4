"""The snippets of the pages: found, run, and compared with what they say they print.

The suite runs them (``tests/conformance/test_pages.py``) and so does the build of the site, for
which this is an extension: a page whose snippet prints something else is a warning there.
"""

from __future__ import annotations

import contextlib
import doctest
import re
import tempfile
import textwrap
import warnings
from pathlib import Path
from typing import Any

from octavo.data import DatasetNotFoundError

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
RST = re.compile(r"^\.\. code-block:: python\n\n((?:   .*\n|\n(?=   ))+)", re.MULTILINE)
MARKDOWN = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets(page: Path) -> list[str]:
    """Return the Python of a page, a text for each block."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".md":
        return MARKDOWN.findall(text)
    return [textwrap.dedent(block) for block in RST.findall(text)]


def run_snippet(text: str, name: str) -> str:
    """Run a snippet; return what is wrong with it in a sentence, or an empty text.

    Raises
    ------
    DatasetNotFoundError, ModuleNotFoundError
        If it needs what this machine does not have.
    """
    if not text.startswith(">>> "):
        return f"{name}: it is not a doctest."
    snippet = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    if not snippet.examples[-1].want:
        return f"{name}: it does not end in something printed."
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            doctest.DebugRunner(optionflags=FLAGS, verbose=False).run(snippet)
    except doctest.UnexpectedException as raised:
        error = raised.exc_info[1]
        if isinstance(error, DatasetNotFoundError | ModuleNotFoundError):
            raise error from None
        return f"{name}: {raised.example.source}raises {type(error).__name__}: {error}"
    except doctest.DocTestFailure as failure:
        said, got = failure.example.want, failure.got
        return f"{name}: {failure.example.source}says\n{said}but prints\n{got}"
    return ""


def run_page(app: Any, docname: str, source: list[str]) -> None:
    """Run the snippets of a page when Sphinx reads it."""
    from sphinx.util.logging import getLogger

    page = Path(app.env.doc2path(docname))
    if page.parent.name == "generated" or "gallery" in page.relative_to(app.srcdir).parts:
        return  # docstrings are the suite's, scripts are the gallery's
    for number, text in enumerate(snippets(page)):
        name = f"snippet {number + 1} of {docname}"
        try:
            with warnings.catch_warnings(action="ignore"):
                wrong = run_snippet(text, name)
        except (DatasetNotFoundError, ModuleNotFoundError) as absent:
            getLogger(__name__).info("%s was not run: %s", name, absent)
        else:
            if wrong:
                getLogger(__name__).warning(wrong, location=docname)


def setup(app: Any) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", run_page)
    return {"parallel_read_safe": True}
