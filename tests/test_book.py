"""The book of a tiny run, built by the Makefile and read in headless Chromium from file://."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_up_reference import make_up
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from sphinx_external_toc.parsing import parse_toc_yaml

from slipform_core import results

ROOT = Path(__file__).parent.parent
VENV = Path(sys.executable).parent.parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PAGES = [f"{name}.html" for name in parse_toc_yaml(ROOT / "book/_toc.yml")]
READ = (ROOT / "tests/page.js").read_text().rstrip(";\n")
FINE = {"overflow": 0, "unrendered": [], "broken": [], "faint": [], "seen": []}


def make(folder: Path, *targets: str) -> subprocess.CompletedProcess[str]:
    """Run the smallest experiment and build its book with this environment."""
    words = ["make", "-j2", "RUN=tiny", "PROFILE=smoke", f"VENV={VENV}", "-o", f"{VENV}/slipform.ready"]
    words += targets
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(words, cwd=folder, env=plain, capture_output=True, text=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project in which `make` was said, with a reference run that is made up of its results."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("Makefile", "_config.yml"):
        shutil.copy(ROOT / name, folder / name)
    for name in ("book", "notebooks", "slipform_core"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    done = make(folder, "build/runs/tiny/results.done")
    assert done.returncode == 0, done.stdout + done.stderr
    make_up(folder / "build/runs/tiny/results/smoke", folder / "results/smoke", seeds=(6, 7, 8))
    done = make(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def html(folder: Path) -> Path:
    return folder / "build/runs/tiny/html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=120_000)
        yield chromium
        chromium.close()


def watch(page: Page) -> list[str]:
    """A list that collects what the page asks for outside its folder, and what it complains about."""
    seen: list[str] = []
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else seen.append(r.url))
    page.on("requestfailed", lambda r: seen.append(f"failed: {r.url}"))
    page.on("console", lambda m: seen.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: seen.append(str(error)))
    return seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_every_page_stands_alone(width: int, scheme: str, browser: Browser, html: Path) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    context.set_default_timeout(120_000)
    found = {}
    for name in [*PAGES, "search.html", "genindex.html"]:
        page = context.new_page()
        seen = watch(page)
        page.goto((html / name).as_uri())
        found[name] = page.evaluate(READ) | {"seen": seen}
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        page.close()
    context.close()
    assert found == dict.fromkeys(found, FINE)


def test_mathematics_and_figures_are_there_to_be_checked(browser: Browser, html: Path) -> None:
    page = browser.new_page()
    page.goto((html / "notebooks/05_gradients.html").as_uri())
    page.wait_for_selector("mjx-container svg")
    assert page.locator(".math").count() >= 2
    assert page.locator(".cell_output img").count() >= 1
    page.close()


def test_figures_are_opaque_cards_in_the_dark(browser: Browser, html: Path) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto((html / "notebooks/05_gradients.html").as_uri())
    style = page.locator(".cell_output img").first.evaluate("e => [getComputedStyle(e).filter, e.src]")
    assert style[0] == "none"
    page.close()
    pictures = list((html / "_images").glob("*.png"))
    assert pictures
    for path in pictures:
        assert path.stat().st_size > 1000
        corner = Image.open(path).convert("RGBA").getpixel((0, 0))
        assert min(corner) > 200, f"{path.name} has a dark or see-through corner {corner}"


def test_the_search_finds_a_word_without_a_server(browser: Browser, html: Path) -> None:
    page = browser.new_page()
    seen = watch(page)
    page.goto((html / "search.html").as_uri() + "?q=concreteness")
    page.wait_for_selector("#search-results li a")
    assert seen == []
    page.close()


def test_the_first_page_leads_to_the_landing_page(browser: Browser, html: Path) -> None:
    page = browser.new_page()
    page.goto((html / "index.html").as_uri())
    page.wait_for_url("**/book/index.html")
    page.close()


def test_the_source_names_no_script_style_or_picture_from_outside(html: Path) -> None:
    outside = re.compile(r"<(?:script|link|img|iframe|source)[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*\"")
    for name in PAGES:
        text = (html / name).read_text()
        assert not outside.findall(text), name
        assert "unpkg" not in text, name
    assert (html / "_static/mathjax/LICENSE").is_file()


def test_no_page_shows_a_role_or_a_directive_as_text(html: Path) -> None:
    for name in PAGES:
        text = re.sub("<[^>]*>", "", (html / name).read_text())
        assert not re.findall(r"\{(?:seeds|result|reported|claims|contrasts|stale|remake)\}", text), name


def test_numbers_in_prose_come_from_results(folder: Path, html: Path) -> None:
    words = results.load(folder / "build/runs/tiny/results/smoke", "words")
    assert f">{words['keywords']:,}</abbr>" in (html / "notebooks/01_concreteness.html").read_text()


def test_each_figure_says_how_to_make_it_again(html: Path) -> None:
    text = re.sub("<[^>]*>", "", (html / "notebooks/05_gradients.html").read_text())
    assert "slipform notebook notebooks/05_gradients.py" in text
    assert "make RUN=tiny PROFILE=smoke" in text


def test_a_run_of_plain_pairs_alone_has_its_book(folder: Path, tmp_path: Path) -> None:
    """Whoever trains other arms, here none with negatives, and has no reference run, can read on."""
    copy = shutil.copytree(
        folder, tmp_path / "project", ignore=shutil.ignore_patterns("html", "notebooks", "results")
    )
    shutil.copytree(folder / "notebooks", copy / "notebooks")
    target = copy / "build/runs/tiny/results/smoke"
    for path in (folder / "build/runs/tiny/results/smoke").iterdir():
        result = results.load(path.parent, path.stem)
        results.write(target, replace(result, values=without_negatives(path.stem, dict(result.values))))
    done = make(copy)
    assert done.returncode == 0, done.stderr
    text = (copy / "build/runs/tiny/html/notebooks/07_composition.html").read_text()
    assert "this run does not train hc_cement" in text and "No reference run of profile smoke" in text


def without_negatives(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """The values of a results file as a run with the arm `plain` alone has them."""
    arms = ("base", "plain")
    if name in ("negatives", "judged"):
        return {}
    if name in ("training", "composition"):
        return {arm: values[arm] for arm in arms}
    parts = {"blind": ("negatives", {}), "gradients": ("shares", {}), "outcomes": ("arms", None)}
    if name in parts:
        part, kept = parts[name]
        values[part] = {arm: values[part][arm] for arm in arms} if kept is None else kept
    return values


def test_a_missing_number_stops_the_build(folder: Path, tmp_path: Path) -> None:
    missing = {
        "composition:base/nowhere": "'nowhere' is not among sugarcrepe",
        "composition:base/sugarcrepe/swap_obj/i2t/value|.2q": "Unknown format code",
        "nowhere:base": "there are: blind, composition, gradients, judged, negatives",
    }
    copy = shutil.copytree(folder, tmp_path / "project")
    with (copy / "book/licences.md").open("a") as page:
        page.writelines(f"\nThis is {{result}}`{reference}`.\n" for reference in missing)
    done = make(copy)
    assert done.returncode == 2
    for says in missing.values():
        assert says in done.stderr
    assert "licences.md" in done.stderr
    assert not (copy / "build/runs/tiny/html").exists()
