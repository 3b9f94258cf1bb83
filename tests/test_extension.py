"""The book's Sphinx extension on small pages, with and without a reference run."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from bs4 import Tag
from playwright.sync_api import sync_playwright
from scipy import stats
from small_book import NOW, OBJECTS, OLD, ROOT, SCORES, SEEDS, Project, made, write_seed
from test_book import CHROMIUM, FLAGS, READ

from slipform_core import stages

NUMBER = f"{{seeds}}`composition:hc_info_nce/{OBJECTS}/value|.1%`"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project without a reference run; the present code's hash is NOW."""
    monkeypatch.syspath_prepend(str(ROOT / "book/_ext"))
    monkeypatch.setattr(stages, "code", lambda *modules: {("slipform_core.experiment",): NOW}[modules])
    return Project.create(tmp_path)


@pytest.fixture
def project(bare: Project) -> Project:
    """A project with a reference run of three seeds, made by the present code."""
    for index, seed in enumerate(SEEDS):
        write_seed(bare, index, made(seed))
    return bare


def cells(table: Tag) -> list[list[str]]:
    """A table's body as text, spaces joined."""
    return [[" ".join(cell.text.split()) for cell in row("td")] for row in table.tbody("tr")]


def interval(values: list[float], form: str) -> list[str]:
    """The mean and the ends of Student's t interval, by SciPy."""
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    return [format(number, form) for number in (sum(values) / len(values), low, high)]


def test_the_plan_needs_no_reference_run(bare: Project) -> None:
    page, warnings = bare.build("```{plan}\n```")
    assert warnings == ""
    assert [one.text for one in page.select("p.rubric")] == ["Objects", "Order"]
    assert "What is changed is what is learnt" in page.text and OBJECTS in page.text
    assert page.select_one("p .math") is not None, "its text has mathematics"
    objects, order = page.select("table.plan")
    assert cells(objects) == [
        ["concrete negatives against none", "hc_info_nce", "plain", "+"],
        ["concrete words against any", "hc_info_nce", "wo_info_nce", "−"],
        ["none, against any", "plain", "wo_info_nce", "either"],
    ]
    assert cells(order) == [["exchanged words against none", "swap_info_nce", "plain", "+"]]


def test_contrasts_have_points_an_interval_a_corrected_p_a_verdict_and_each_seed(project: Project) -> None:
    page, warnings = project.build("```{contrasts} objects\n```")
    assert warnings == ""
    rows = cells(page.select_one("table.contrasts"))
    hc_plain, hc_wo, plain_wo = (
        [a - b for a, b in zip(SCORES[left], SCORES[right], strict=True)]
        for left, right in (
            ("hc_info_nce", "plain"),
            ("hc_info_nce", "wo_info_nce"),
            ("plain", "wo_info_nce"),
        )
    )
    mean, low, high = interval([100 * value for value in hc_plain], "+.2f")
    difference = f"{mean} ({low} to {high}) by seed 7: +10.00, 8: +11.00, 11: +11.00"
    assert rows[0][:3] == ["concrete negatives against none hc_info_nce − plain", "+", difference]
    assert rows[2][2].endswith("by seed 7: −1.00, 8: +1.00, 11: +0.50")
    # Holm: the smallest of three p values thrice, the next twice, none below an earlier one.
    p = [stats.ttest_1samp(values, 0).pvalue for values in (hc_plain, hc_wo, plain_wo)]
    assert [row[3] for row in rows] == [f"{number:.3f}" for number in (3 * p[0], 2 * p[1], p[2])]
    badges = page.select("table.contrasts .verdict")
    assert [badge.text for badge in badges] == ["holds", "does not hold", "not testable at this scale"]
    assert badges[1]["class"] == ["verdict", "does-not-hold"]


def test_seeds_in_prose_are_a_mean_with_its_interval(project: Project) -> None:
    path = f"composition:hc_info_nce/{OBJECTS}"
    page, warnings = project.build(f"It has {{seeds}}`{path}/value|.1%`, or {{seeds}}`{path}|.3f`.")
    assert warnings == ""
    percent, fraction = page.select("abbr.result")
    mean, low, high = (number.rstrip("%") for number in interval(SCORES["hc_info_nce"], ".1%"))
    assert percent.text == f"{mean}\N{NO-BREAK SPACE}% ({low} to {high})"
    assert fraction.text == "{} ({} to {})".format(*interval(SCORES["hc_info_nce"], ".3f"))
    where = (
        "composition.json of the reference run of mini: hc_info_nce / sugarcrepe / replace_obj / i2t / value"
    )
    assert percent["title"] == f"{where}; mean, 95 % interval, n = 3 seeds"


def test_without_a_reference_run_each_place_says_so_and_nothing_fails(bare: Project) -> None:
    path = f"composition:hc_info_nce/{OBJECTS}/value|.1%"
    page, warnings = bare.build(
        f"```{{reference}}\n```\n\n```{{contrasts}} order\n```\n\nIt has {{seeds}}`{path}`."
    )
    assert warnings == ""
    says = [p.text for p in page("p") if p.text.startswith("No reference run")]
    assert says == ["No reference run of profile mini: make reference PROFILE=mini"] * 2
    assert (page.abbr.text, page.abbr["title"]) == ("–", "no reference run of this profile")
    assert not page("table") and not page.select(".stale")


def test_one_seed_is_no_reference_run(bare: Project) -> None:
    write_seed(bare, 0, made(7))
    page, warnings = bare.build("```{reference}\n```")
    assert warnings == "" and "No reference run of profile mini" in page.text


def test_the_reference_run_says_how_it_was_made(project: Project) -> None:
    page, warnings = project.build("```{reference}\n```")
    assert warnings == ""
    assert dict(cells(page.select_one("table.reference"))) == {
        "profile": "mini",
        "seeds": "7, 8, 11",
        "hours of training": "3.0 on one core, 4 models a seed",
        "command of a seed": "slipform reference --profile mini --seed 7",
        "versions": "python 3.11.9, torch 2.4",
        "machine": "system Linux, cores 2",
        "code": NOW,
    }
    assert not page.select(".stale")


@pytest.mark.parametrize("directive", ["reference", "stale"])
def test_a_reference_run_by_older_code_is_marked(directive: str, project: Project) -> None:
    for index, seed in enumerate(SEEDS):
        write_seed(project, index, made(seed, OLD))
    page, _ = project.build(f"```{{{directive}}}\n```")
    (box,) = page.select(".admonition.stale")
    assert [p.text for p in box("p")[1:]] == [
        f"These results were made by an older version of the code (hash {OLD}, now {NOW}): "
        "make reference makes them again."
    ]


@pytest.mark.parametrize("kind", ["project", "bare"])
def test_a_page_that_is_up_to_date_or_has_no_reference_run_is_not_marked(
    kind: str, request: pytest.FixtureRequest
) -> None:
    page, warnings = request.getfixturevalue(kind).build("```{stale}\n```")
    assert warnings == "" and not page.select(".stale") and "eference" not in page.text


def test_seeds_by_different_code_or_machines_are_told_apart(project: Project) -> None:
    write_seed(project, 1, made(8, OLD, machine={"system": "Linux", "cores": 64}))
    page, _ = project.build("```{reference}\n```")
    (box,) = page.select(".admonition.stale")
    codes = f"{NOW} (seeds 7, 11); {OLD} (seeds 8)"
    assert f"(hash {OLD}, now {NOW})" in box.text
    assert box("p")[-1].text == f"Its seeds were made by different code: {codes}."
    rows = dict(cells(page.select_one("table.reference")))
    assert rows["code"] == codes
    assert rows["machine"] == "system Linux, cores 2 (seeds 7, 11); system Linux, cores 64 (seeds 8)"


def test_reported_tables_are_boxed_with_who_stated_them(bare: Project) -> None:
    page, warnings = bare.build("```{reported} table2\n```\n\n```{reported} static_margin\n```")
    assert warnings == ""
    table2, margin = page.select(".admonition.not-run")
    assert "Composition, percent. Stated by: authors." in table2.text
    assert "Stated by: secondary summary." in margin.text
    rows = {name: values for name, *values in cells(table2.table)}
    assert [cell.text for cell in table2.table("th")][-1] == "macro"
    assert rows["CLIP"] == ["75.38", "59.41", "46.84", "29.00", "9.00", "7.50", "47.89"]
    assert rows["DeGLA"] == ["89.23", "62.84", "54.94", "–", "–", "–", "54.01"]


def test_claims_are_judged_on_this_run_and_the_reference_run(project: Project) -> None:
    page, warnings = project.build("```{claims}\n```")
    assert warnings == ""
    margin, objects, chance = cells(page.select_one("table.claims"))
    assert margin[1:3] == ["secondary summary", "65.81"]
    assert page.select_one("table.claims .math") is not None, "statements have mathematics"
    assert [margin[4], objects[4], chance[4]] == ["does not hold", "holds", "holds"]
    assert objects[3].endswith("the reference run, 3 seeds, planned")


def test_a_topic_of_the_ledger_stands_alone_and_needs_no_reference_run(bare: Project) -> None:
    page, warnings = bare.build("```{claims} objects\n```")
    assert warnings == ""
    objects, chance = cells(page.select_one("table.claims"))
    assert objects[3:] == [
        "no reference run of this profile the reference run, planned",
        "not testable at this scale",
    ]
    assert chance[3:] == ["0.500, chance 0.500 this run, one seed, near", "holds"]


def spoil_json(project: Project) -> None:
    (project.seeds / "seed-8" / "composition.json").write_text("{")


def spoil_made(project: Project) -> None:
    path = write_seed(project, 1, made(8))
    given = json.loads(path.read_text())
    del given["made"]["code"]
    path.write_text(json.dumps(given))


def spoil_value(project: Project) -> None:
    path = project.seeds / "seed-8" / "composition.json"
    path.write_text(path.read_text().replace('"value": 0.92', '"value": "much"'))


def spoil_plan(project: Project) -> None:
    (project.folder / "src/book/plan.yml").unlink()


@pytest.mark.parametrize(
    ("spoil", "page", "says"),
    [
        (spoil_json, "```{reference}\n```", "mini/seed-8/composition.json is no results file"),
        (spoil_json, NUMBER, "mini/seed-8/composition.json is no results file"),
        (spoil_made, "```{reference}\n```", "mini/seed-8/composition.json: made.code: Field required"),
        (
            spoil_value,
            NUMBER,
            "mini/seed-8/composition.json: hc_info_nce/sugarcrepe/replace_obj/i2t/value is 'much'",
        ),
        (spoil_plan, "```{plan}\n```", "book/plan.yml"),
    ],
)
def test_what_is_malformed_is_the_page_s_error_and_names_the_file(
    spoil: Callable[[Project], None], page: str, says: str, project: Project
) -> None:
    spoil(project)
    _, warnings = project.build(page)
    assert says in warnings
    assert "page.md:3" in warnings


def test_what_is_asked_for_and_not_there_is_the_page_s_error(project: Project) -> None:
    asked = {
        "```{contrasts} order\n```": "mini/seed-7: composition.json has no value 'swap_info_nce",
        "```{contrasts} colours\n```": "no family 'colours' in the plan; there are: objects, order",
        "```{reported} table9\n```": "reported.yml; there are: table1, table2, table3",
        "```{claims} words\n```": "no topic 'words'; the topics are: margin, objects",
        "{seeds}`composition:base/nowhere|.1%`": "mini/seed-7: composition.json has no value 'base/nowhere'",
        NUMBER.replace(".1%", ".2q"): "Unknown format code",
        "{result}`composition:base/nowhere`": "'nowhere' is not among sugarcrepe",
    }
    _, warnings = project.build("\n\n".join(asked))
    assert [says for says in asked.values() if says not in warnings] == []
    assert warnings.count("page.md:") == len(asked)


EVERYTHING = """
```{reference}
```

```{plan}
```

```{contrasts} objects
```

```{claims}
```

```{reported} table2
```

"""


def test_pages_fit_a_desk_in_the_light_and_a_phone_in_the_dark(project: Project) -> None:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    write_seed(project, 1, made(8, OLD))
    _, warnings = project.build(f"{EVERYTHING}It has {NUMBER}.", theme="sphinx_book_theme")
    assert warnings == ""
    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=120_000)
        for width, scheme in ((1280, "light"), (360, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            page.goto((project.folder / "html/page.html").as_uri())
            assert page.evaluate("document.documentElement.dataset.theme") == scheme
            found[width, scheme] = page.evaluate(READ)
        browser.close()
    fine = {"overflow": 0, "unrendered": [], "broken": [], "faint": []}
    assert found == dict.fromkeys(found, fine)
