"""The site: `make docs` builds it, with warnings as errors."""

from __future__ import annotations

import inspect
import json
import re
import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
REPOSITORY = HERE.parent
sys.path.insert(0, str(REPOSITORY / "src"))

import driftfit  # noqa: E402

project = "driftfit"
author = "The driftfit developers"
copyright = "The driftfit developers"
version = release = driftfit.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery", "**/GALLERY_HEADER.*"]
default_role = "py:obj"
# No formulas: they would need a script from elsewhere, and the site works offline.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"

# Signatures show types already; members of a class are on its own page.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = f"driftfit {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["fold.js"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
# Pages without pages below them have nothing to list at their side.
html_sidebars = {page: [] for page in ("index", "quickstart", "glossary", "troubleshooting", "architecture")}
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "image_scrapers": ("matplotlib",),
    "remove_config_comments": True,
    "show_memory": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "min_reported_time": 0,
    # The build prints the times; the page of them would load scripts from elsewhere.
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "copyfile_regex": r"",
    "plot_gallery": "True",
}

# The packages whose names are the public API. A name is documented in the first that exports it.
PACKAGES = (
    "driftfit",
    "driftfit.domains",
    "driftfit.transport",
    "driftfit.models",
    "driftfit.models.networks",
    "driftfit.methods",
    "driftfit.methods.baselines",
    "driftfit.selection",
    "driftfit.theory",
    "driftfit.parallel",
    "driftfit.app",
    "driftfit.datasets",
    "driftfit.datasets.toy",
)


def write_api(folder: Path) -> None:
    """One page for each package, with every name in its `__all__`; written anew when something changed."""
    folder.mkdir(exist_ok=True)
    seen: list[object] = []
    parts, listed = [], set[str]()
    for package in PACKAGES:
        module = import_module(package)
        found = {name: getattr(module, name) for name in module.__all__}
        own = [name for name, value in found.items() if inspect.isroutine(value) or inspect.isclass(value)]
        new = [name for name in own if not any(found[name] is value for value in seen)]
        seen += [found[name] for name in new]
        first = re.split(r"\n\s*\n", inspect.getdoc(module) or package)[0].replace("\n", " ")
        rows = "\n".join(f"   {name}" for name in new)
        _write(
            folder / f"{package}.md",
            f"# {package}\n\n{first}\n\n```{{eval-rst}}\n.. currentmodule:: {package}\n\n"
            f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{rows}\n```\n",
        )
        parts.append(_listed(package, first, {name: found[name] for name in new}))
        listed |= {f"{package}.{name}" for name in new}
    for page in (folder / "generated").glob("*.rst"):
        if page.stem not in listed:
            page.unlink()  # of a name that was public when the site was built last
    listing = "\n".join(PACKAGES)
    _write(
        folder / "index.md",
        f"# API\n\nEvery public name, by package, {len(seen)} in all. Examples on these pages run in the tests.\n\n"
        + "\n".join(parts)
        + f"\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{listing}\n```\n",
    )


def _listed(package: str, about: str, names: dict[str, object]) -> str:
    """A package on the first page: what it is, and a sentence for each name."""
    lines = [f"## {package.removeprefix('driftfit.')}", "", f"{about} ([all of it]({package}.md))", ""]
    for name, value in names.items():
        sentence = (
            re.split(r"(?<!et al[.])(?<=[.:])\s|\n\s*\n", inspect.getdoc(value) or "")[0].replace("\n", " ").rstrip(":")
        )
        lines.append(f"- [`{name}`](generated/{package}.{name}): {sentence}")
    return "\n".join([*lines, ""])


def _write(page: Path, text: str) -> None:
    """Pages that did not change are not built again."""
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def draw_tables(record: Path, target: Path) -> None:
    """The picture of the first page: the gain of the answer on each table, from the record."""
    import matplotlib

    matplotlib.use("Agg")
    import pandas as pd
    from matplotlib.figure import Figure

    runs = pd.DataFrame(json.loads(record.read_text(encoding="utf-8"))["runs"])
    runs = runs[runs["late"] == 0]
    gains = 100 * (runs["answer"] - runs["ways"].map(lambda ways: ways["all labels"]))
    gains = gains.groupby(runs["table"]).mean().sort_values()
    figure = Figure(figsize=(6.4, 5.4), layout="constrained")
    axes = figure.subplots()
    colours = ["#c0392b" if value < 0 else "#2471a3" for value in gains]
    axes.barh([name.replace("_", " ") for name in gains.index], gains, color=colours, height=0.7)
    axes.axvline(0.0, color="#444444", linewidth=0.8)
    axes.set_xlabel("points of accuracy over a model of all labels")
    axes.tick_params(axis="y", labelsize=7, length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.margins(y=0.01)
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, dpi=150)


write_api(HERE / "api")
draw_tables(REPOSITORY / "results" / "history.json", HERE / "made" / "tables.png")


def _back_links(_app: object, page: str, _template: str, context: dict[str, object], _tree: object) -> None:
    """From the source of a name back to its page, which belongs to the package that documents the name.

    The extension takes one package for all names of a module, where some are documented by another.
    """
    if page.startswith("_modules/") and "body" in context:
        place = r"(generated/((?:\w+\.)+)(\w+)\.html)#(?!\2\3\b)[\w.]*?\b\3\b"
        context["body"] = re.sub(place, r"\1#\2\3", str(context["body"]))


def setup(app: object) -> None:
    app.connect("html-page-context", _back_links)  # type: ignore[attr-defined]
