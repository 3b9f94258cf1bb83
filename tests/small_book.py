"""A book of one small page for tests of its extension, with reference runs that are made up here."""

import io
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from slipform_core import results

ROOT = Path(__file__).parent.parent
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text())
NOW, OLD = "abcdefabcdef", "012345012345"
OBJECTS = "sugarcrepe/replace_obj/i2t"

PLAN = """
objects:
  about: "What is changed is what is learnt, $c > 4$."
  measure: sugarcrepe/replace_obj/i2t
  contrasts:
    hc_plain: {left: hc_info_nce, right: plain, expected: "+", why: concrete negatives against none}
    hc_wo: {left: hc_info_nce, right: wo_info_nce, expected: "-", why: concrete words against any}
    plain_wo: {left: plain, right: wo_info_nce, why: "none, against any"}
order:
  about: Can order be learnt?
  measure: sugarcrepe/swap_obj/i2t
  contrasts:
    swap_plain: {left: swap_info_nce, right: plain, expected: "+", why: exchanged words against none}
"""
LEDGER = {
    "margin": """
- id: static
  statement: A margin of 1 is better than $m(c)$.
  stated_by: secondary summary
  reported: "65.81"
  check: {name: greater, arguments: {pairs: {margin: [65.81, 66.24]}}}
""",
    "objects": """
- id: objects
  statement: Concrete negatives teach objects.
  stated_by: this companion
  reported: our trial
  check: {name: planned, arguments: {family: "plan:objects", contrast: hc_plain}}
- id: chance
  statement: The base is at chance.
  stated_by: authors
  reported: near chance
  check:
    name: near
    arguments: {value: "composition:base/sugarcrepe/replace_obj/i2t/value", chance: 0.5, within: 0.1}
""",
}
# Objects that each arm has right, with seeds 7, 8 and 11.
SCORES = {
    "base": [0.5, 0.49, 0.5],
    "plain": [0.80, 0.81, 0.83],
    "hc_info_nce": [0.90, 0.92, 0.94],
    "wo_info_nce": [0.81, 0.80, 0.825],
}
SEEDS = (7, 8, 11)


@dataclass(frozen=True)
class Project:
    """A book of one page, about a run, with or without a reference run of three seeds."""

    folder: Path

    @property
    def seeds(self) -> Path:
        return self.folder / "results" / "mini"

    @classmethod
    def create(cls, folder: Path) -> "Project":
        """Pages and a run with one score, without a reference run."""
        book = folder / "src" / "book"
        (book / "claims").mkdir(parents=True)
        (folder / "src" / "_toc.yml").write_text("root: page\n")
        (book / "plan.yml").write_text(PLAN)
        shutil.copy(ROOT / "book/reported.yml", book)
        for topic, text in LEDGER.items():
            (book / "claims" / f"{topic}.yml").write_text(text)
        write(folder / "run" / "results" / "mini", {"base": 0.5}, made(1))
        return cls(folder)

    def build(self, page: str, theme: str = "basic") -> tuple[BeautifulSoup, str]:
        """The page as HTML, and Sphinx's warnings."""
        source, warnings = self.folder / "src", io.StringIO()
        (source / "page.md").write_text(f"# A page\n\n{page}\n")
        settings = {
            "extensions": ["myst_parser", "sphinx_external_toc", "slipform_book"],
            "external_toc_path": str(source / "_toc.yml"),
            "myst_enable_extensions": CONFIG["parse"]["myst_enable_extensions"],
            "html_theme": theme,
            "html_context": CONFIG["sphinx"]["config"]["html_context"],
            "html_static_path": [str(ROOT / "book/_static")],
            "html_css_files": ["slipform.css"],
            "mathjax_path": CONFIG["sphinx"]["config"]["mathjax_path"],
            "slipform_run": str(self.folder / "run"),
            "slipform_reference": str(self.folder / "results"),
        }
        out, trees = self.folder / "html", self.folder / "trees"
        with docutils_namespace():
            app = Sphinx(source, None, out, trees, "html", settings, None, warnings, freshenv=True)
            app.build(force_all=True)
        return BeautifulSoup((out / "page.html").read_text(), "html.parser"), warnings.getvalue()


def made(seed: int, code: str = NOW, **changes: object) -> dict[str, object]:
    return {
        "command": f"slipform reference --profile mini --seed {seed}",
        "config": {},
        "fingerprint": f"{seed:012d}",
        "code": code,
        "seconds": 5400.0,
        "versions": {"python": "3.11.9", "torch": "2.4"},
        "machine": {"system": "Linux", "cores": 2},
    } | changes


def write(folder: Path, objects: Mapping[str, float], how: dict[str, object]) -> Path:
    values = {
        arm: {"sugarcrepe": {"replace_obj": {"i2t": {"value": score, "count": 100, "stderr": 0.03}}}}
        for arm, score in objects.items()
    }
    return results.write(folder, results.Result("composition", "mini", values, how))


def write_seed(project: Project, index: int, how: dict[str, object]) -> Path:
    """The results of the seed at `index` of SEEDS, whose making is `how`."""
    scores = {arm: of[index] for arm, of in SCORES.items()}
    folder = project.seeds / f"seed-{SEEDS[index]}"
    training = {arm: {"seconds": 900.0} for arm in scores}
    results.write(folder, results.Result("training", "mini", training, how))
    return write(folder, scores, how)
