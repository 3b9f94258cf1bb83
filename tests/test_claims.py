"""The ledger's rows: their form, the verdicts that arithmetic gives them, and how they are read."""

from collections import Counter
from pathlib import Path

import pytest

from slipform_core import claims, comparisons, results, tables
from slipform_core.claims.ledger import GIVEN

BOOK = Path(__file__).parent.parent / "book"
CLAIMS = {claim.id: claim for claim in claims.load(BOOK / "claims")}
PLAN = comparisons.load_plan(BOOK / "plan.yml")
NOTHING = claims.Evidence({}, None)
NOT_TESTABLE, PAPER = "not testable at this scale", "needs paper scale"

FAIL = {"macro-six", "static-margin", "sugarcrepe-degla", "flickr-trade-off", "karpathy-train", "hc-harder"}
FAIL |= {"one-database", "out-of-vocabulary"}
OPEN = {"state-of-the-art", "composition-values", "general-values", "general-trade-off", "ablation-values"}
OPEN |= {"judge-values", "share-reported", "scpp-tot", "karpathy-leak", "degla-flickr"}
DECIDED_HERE = {name for name, claim in CLAIMS.items() if claim.check.name in GIVEN}


def verdict(outcome: claims.Outcome) -> str:
    return outcome.verdict


def test_the_ledger_is_large_and_its_rows_are_of_all_kinds() -> None:
    assert len(CLAIMS) >= 60
    assert len({claim.statement for claim in CLAIMS.values()}) == len(CLAIMS)
    assert {claim.stated_by for claim in CLAIMS.values()} == {
        "authors",
        "secondary summary",
        "this companion",
    }
    assert {claim.check.name for claim in CLAIMS.values()} == set(claims.CHECKS)


def test_every_topic_is_on_the_page_once_and_only_topics_are() -> None:
    shown = [line.removeprefix("```{claims} ") for line in (BOOK / "claims.md").read_text().splitlines()]
    shown = [topic for topic in shown if topic in {claim.topic for claim in CLAIMS.values()}]
    assert Counter(shown) == Counter({claim.topic for claim in CLAIMS.values()})
    assert (BOOK / "claims.md").read_text().count("```{claims}") == len(shown)


@pytest.mark.parametrize("name", sorted(DECIDED_HERE))
def test_what_needs_no_run_has_the_verdict_that_was_worked_out(name: str) -> None:
    wanted = "does not hold" if name in FAIL else PAPER if name in OPEN else "holds"
    assert verdict(claims.judge(CLAIMS[name], NOTHING)) == wanted


def test_what_fails_or_is_open_is_there_and_no_failure_is_the_authors() -> None:
    assert DECIDED_HERE >= FAIL | OPEN
    assert {CLAIMS[name].stated_by for name in FAIL} == {"secondary summary"}


def test_every_planned_contrast_of_the_macro_average_has_its_row() -> None:
    rows = [claim.check.arguments for claim in CLAIMS.values() if claim.check.name == "planned"]
    planned = [(family, name) for family in ("macro", "batch") for name in PLAN[family].contrasts]
    assert Counter((row["family"].about, row["contrast"]) for row in rows) == Counter(
        (PLAN[family].about, name) for family, name in planned
    )


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("macro-six", "CLIP 37.85; NegCLIP 42.15; Slipform 43.08"),
        ("macro-three", "CLIP 47.89; NegCLIP 53.15; Slipform 54.19"),
        ("sugarcrepe-degla", "6.23 apart"),
        ("karpathy-train", "31,287 apart"),
        ("flickr-trade-off", "T2I, CLIP first: 21.15 < 28.44; I2T, CLIP first: 37.04 < 42.05"),
        ("negclip-winoground", "group: 8 > 7.75; mean: 16.5 > 16.3333"),
        ("gain-tot-degla", "60.21 − 54.94 = +5.27"),
        ("passes", "Karpathy train: 135.58; train2014: 185.55"),
        ("out-of-vocabulary", "transformer is in the table: 3.75"),
        ("one-database", "39,954 words, 1 to 5; Coltheart 1981"),
        ("bigrams", "2,896 of 39,954 entries"),
        ("colours", "red 4.24: +1.33 logits, blue 3.76: -1.33 logits"),
        ("margin", "m(3) = -1.99492, m(3.85) = -0.92423, m(4) = +0.00000"),
        ("share-values", "m = -2: 0.033, m = -1: 0.084, m = +1: 0.405, m = +2: 0.649"),
    ],
)
def test_our_value_is_shown(name: str, shown: str) -> None:
    assert shown in claims.judge(CLAIMS[name], NOTHING).ours


@pytest.mark.parametrize(
    "name", [n for n, c in CLAIMS.items() if c.check.name not in {*GIVEN, "near", "share_falls"}]
)
def test_one_run_decides_nothing_that_is_about_training(name: str) -> None:
    outcome = claims.judge(CLAIMS[name], NOTHING)
    assert (outcome.verdict, outcome.ours) == (NOT_TESTABLE, "no reference run of this profile")


ROW = {"id": "x", "statement": "s", "stated_by": "authors", "reported": "'1'", "check": "{name: has_bigrams}"}


def write(folder: Path, name: str, **changed: str) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [f"{key}: {text}" for key, text in (ROW | changed).items()]
    (folder / name).write_text("- " + "\n  ".join(lines))
    return folder / name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"check": "{name: grater}"}, "claim x: no check 'grater'; checks: mean_of_columns"),
        ({"check": "{name: has_bigrams, arguments: {n: 2}}"}, "claim x: has_bigrams: .*'n'"),
        ({"check": "{name: missing_word}"}, "claim x: missing_word: missing .*'word'"),
        ({"stated_by": "the paper"}, "'authors', 'secondary summary' or 'this companion'"),
        ({"verdict": "holds"}, "verdict"),
        (
            {"check": "{name: missing_word, arguments: {word: reported:table9/a/b}}"},
            "'table9'; there are: table1",
        ),
        (
            {"check": "{name: missing_word, arguments: {word: reported:table2/CLAP/macro}}"},
            "'CLAP'; there are: CLIP",
        ),
        (
            {"check": "{name: missing_word, arguments: {word: reported:table2/CLIP/b}}"},
            "'b'; there are: SugarC",
        ),
        (
            {"check": "{name: missing_word, arguments: {word: reported:table2/DeGLA/Winoground text}}"},
            "None, no number",
        ),
        ({"check": "{name: missing_word, arguments: {word: reported:table2/CLIP}}"}, "claim x: missing_word"),
        (
            {"check": "{name: planned, arguments: {contrast: a, family: plan:none}}"},
            "'none'; there are: macro",
        ),
    ],
)
def test_a_malformed_claim_is_refused(change: dict[str, str], message: str, tmp_path: Path) -> None:
    for name in ("reported.yml", "plan.yml"):
        (tmp_path / name).write_text((BOOK / name).read_text())
    with pytest.raises(ValueError, match=message):
        claims.load(write(tmp_path, "claims.yml", **change))


def test_references_are_replaced_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "reported.yml").write_text((BOOK / "reported.yml").read_text())
    pair = "[reported:table1/hc/i2t, [reported:table2/CLIP/macro, 1]]"
    check = f"{{name: greater, arguments: {{pairs: {{gradients:a: {pair}}}}}}}"
    (claim,) = claims.load(write(tmp_path, "some.yml", check=check))
    assert claim.check.arguments == {"pairs": {"gradients:a": [0.9225, [47.89, 1]]}}
    assert claim.topic == "some"


def test_a_folder_is_read_file_by_file_and_an_id_is_there_once(tmp_path: Path) -> None:
    write(tmp_path / "ledger", "b.yml")
    write(tmp_path / "ledger", "a.yml", id="y")
    found = claims.load(tmp_path / "ledger")
    assert [(claim.topic, claim.id) for claim in found] == [("a", "y"), ("b", "x")]
    write(tmp_path / "ledger", "c.yml")
    with pytest.raises(ValueError, match="claim x is in b and in c"):
        claims.load(tmp_path / "ledger")


def test_what_this_run_did_not_make_decides_nothing_and_what_the_reference_lacks_is_an_error() -> None:
    class Nothing(dict):
        def __missing__(self, reference: str) -> None:
            raise results.MissingResult(f"no {reference}")

    claim = next(claim for claim in CLAIMS.values() if claim.check.name == "share_falls")
    outcome = claims.judge(claim, claims.Evidence(Nothing(), None))
    assert (outcome.verdict, outcome.ours) == ("not testable at this scale", "not measured in this run")
    reference = comparisons.Reference({1: Nothing(), 2: Nothing()})
    with pytest.raises(results.MissingResult, match="gradients:shares"):
        claims.judge(claim, claims.Evidence(Nothing(), reference))


def test_a_run_gives_values_by_reference_and_names_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(results.MissingResult, match="it holds: none"):
        tables.open_run(tmp_path)
    values = {"base": {"swap_obj": {"value": 0.5, "count": 100, "stderr": 0.05}}}
    folder = tmp_path / "results"
    results.write(folder / "smoke", results.Result("composition", "smoke", values, {}))
    run = tables.open_run(tmp_path)
    assert run["composition:base/swap_obj/value"] == 0.5
    for reference, message in {
        "composition:base/swap_att/value": "'swap_att' is not among swap_obj",
        "gradients:hc": "there are: composition",
        "composition": "experiment:path",
    }.items():
        with pytest.raises(results.MissingResult, match=message):
            run[reference]
    results.write(folder / "mini", results.Result("composition", "mini", values, {}))
    with pytest.raises(results.MissingResult, match="mini, smoke"):
        tables.open_run(tmp_path)
