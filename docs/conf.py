"""How Sphinx builds the site: ``sphinx-build -W --keep-going -b html docs build/site``."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

project = "opdisc"
author = "The opdisc authors"
copyright = "The opdisc authors"
exclude_patterns = ["_static", "_extensions"]
html_title = "opdisc"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",
]
source_suffix = {".md": "markdown"}
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
# A button to the page's source lies outside of every landmark, and says nothing to a reader.
html_theme_options = {"top_of_page_buttons": []}
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 4
autosummary_generate = False
autodoc_default_options = {
    "inherited-members": "BaseEstimator",
    "exclude-members": "set_fit_request, set_score_request, set_predict_request, "
    "get_metadata_routing, score",
}
numpydoc_show_class_members = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def level_captions(app, page, template, context, doctree):
    """Give the captions of the navigation the level that readers of screens need."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def setup(app):
    """Run after the theme, which makes the navigation at the usual priority."""
    app.connect("html-page-context", level_captions, priority=900)
