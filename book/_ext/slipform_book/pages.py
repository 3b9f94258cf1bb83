"""What a finished page needs: MathJax beside it, nothing from outside, every entry of the contents."""

import importlib.util
import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx_external_toc.parsing import parse_toc_yaml


def copy_mathjax(app: Sphinx) -> None:
    """Put the one file of MathJax that draws SVG beside the pages, with its licence."""
    package = Path(importlib.util.find_spec("mathjax").submodule_search_locations[0], "static", "mathjax")
    target = Path(app.outdir, "_static", "mathjax")
    target.mkdir(parents=True, exist_ok=True)
    for source in (package / "es5" / "tex-svg.js", package / "LICENSE"):
        shutil.copyfile(source, target / source.name)


def finish(app: Sphinx, exception: Exception | None) -> None:
    """Take the theme's font preloads out, and see that each entry of the table of contents is a page.

    Browsers refuse those preloads from file://, with an error on the console each.
    """
    if exception is not None or app.builder.format != "html":
        return
    pages = [Path(app.outdir, f"{name}.html") for name in parse_toc_yaml(app.config.external_toc_path)]
    missing = [str(page) for page in pages if not page.is_file()]
    if missing:
        raise ExtensionError(f"in the table of contents, but not written: {', '.join(missing)}")
    for page in Path(app.outdir).glob("**/*.html"):
        page.write_text(re.sub(r'<link rel="preload" as="font"[^>]*>\s*', "", page.read_text()))
