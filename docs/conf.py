"""Sphinx configuration; method pages are completed from the catalogue."""

import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
os.environ.setdefault("MPLBACKEND", "Agg")

import octavo  # noqa: E402

project = "octavo"
author = "the octavo developers"
copyright = "2026, the octavo developers"
version = release = octavo.__version__
extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "method_pages",
    "plain_docstrings",
    "tools.page_snippets",
]
exclude_patterns = ["_build", "generated/README*", "gallery/**/*.md5"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "show_toc_level": 2,
    "show_nav_level": 0,  # rooms unfold
    "navigation_with_keys": False,
    # Each page lists its own branch: all 1,700 names would be 290 kB a page, and most of the time.
    "collapse_navigation": True,
    "header_links_before_dropdown": 5,
    "navbar_align": "left",
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages that stand alone have nothing to navigate in: the room goes to their code.
html_sidebars = {"generated/*": []} | {
    name: []
    for name in (
        "index",
        "which_method",
        "getting_started",
        "install",
        "verdicts",
        "compare",
        "app",
    )
}
html_static_path = ["_static"]
html_css_files = ["octavo.css"]
html_title = "octavo"
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
html_show_search_summary = False  # it fetches every page found, which no browser allows from a file
html_context = {"default_mode": "auto"}  # without it, the theme logs an error on every first visit
templates_path = []
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
# Warnings that say nothing about the pages: scikit-learn names in docstrings resolve there.
nitpicky = False
# A word of a docstring, such as `rank`, may be the name of several attributes: it stays a word.
suppress_warnings = ["config.cache", "ref.python"]
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_memory": False,
    "plot_gallery": True,
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,  # its pages load scripts from elsewhere
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
