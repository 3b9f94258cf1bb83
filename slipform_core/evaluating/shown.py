"""Results of `slipform eval` as tables: in the terminal, and as Markdown, CSV and LaTeX."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from slipform_core.files import write_text
from slipform_core.results import Result

if TYPE_CHECKING:
    import pandas

COLUMNS = ("benchmark", "subset", "metric", "model", "value", "low", "high", "stderr", "count")
INDEX = list(COLUMNS[:3])
TABLES = ("scores.csv", "scores.md", "scores.tex")
NEEDS = "% \\usepackage{booktabs}\n"


def long_table(found: Sequence[Result]) -> "pandas.DataFrame":
    """A row a number, values as fractions: scores with their standard error, averages with their interval.

    Baselines that see no picture are models such as "blind: punctuation and case, strict".
    """
    import pandas

    rows = [*_rows(found), *_blind_rows(found[0])]
    return pandas.DataFrame(rows, columns=COLUMNS)


def _rows(found: Sequence[Result]) -> Iterator[dict[str, Any]]:
    for result in found:
        model = {"model": result.experiment}
        for benchmark, values in result.values["benchmarks"].items():
            for part in ("scores", "averages"):
                for subset, metrics in values[part].items():
                    for metric, numbers in metrics.items():
                        yield model | _place(benchmark, subset, metric) | numbers
        if result.values["macro"] is not None:
            yield model | _place("all", "the paper's macro", "") | {"value": result.values["macro"]}


def _blind_rows(result: Result) -> Iterator[dict[str, Any]]:
    for benchmark, values in result.values["benchmarks"].items():
        for subset, metrics in values["blind"].items():
            for name, numbers in metrics.items():
                metric, _, baseline = name.partition(", ")
                yield _place(benchmark, subset, metric) | {"model": f"blind: {baseline}"} | numbers


def _place(*names: str) -> dict[str, str]:
    return dict(zip(INDEX, names, strict=True))


def wide_table(found: Sequence[Result], *, blind: bool = True) -> "pandas.DataFrame":
    """A row a subset and metric, a column a model, in percent: ± one standard error, or a 95 % interval.

    Beside them, where `blind`, a column for each baseline that sees no picture: strict / with ties at half.
    Ties have a row where a model has some.
    """
    import pandas

    table = pandas.DataFrame(_rows(found), columns=COLUMNS).astype(dict.fromkeys(COLUMNS[4:], float))
    some = table.groupby(INDEX)["value"].transform("any")
    table = table[some | ~table["metric"].str.endswith("ties")].copy()
    table["shown"] = [_shown(row) for row in table.to_dict("records")]
    order = list(dict.fromkeys(map(tuple, table[INDEX].to_numpy())))
    wide = table.pivot(index=INDEX, columns="model", values="shown")
    wide = wide.loc[order, [result.experiment for result in found]]
    extra = _blind_columns(found[0]) if blind else ()
    return (wide.join(extra) if len(extra) else wide).fillna("–")


def _blind_columns(result: Result) -> "pandas.DataFrame":
    import pandas

    cells: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for row in _blind_rows(result):
        baseline = row["model"].rpartition(", ")[0]  # its two numbers come one after the other
        place = cells.setdefault(baseline, {}).setdefault(tuple(row[name] for name in INDEX), [])
        place.append(f"{100 * row['value']:.1f}")
    shown = {name: {at: " / ".join(both) for at, both in column.items()} for name, column in cells.items()}
    return pandas.DataFrame(shown).rename_axis(INDEX) if shown else pandas.DataFrame()


def _shown(row: dict[str, Any]) -> str:
    value, low, high, stderr = (100 * row[name] for name in ("value", "low", "high", "stderr"))
    if low == low:
        return f"{value:.2f} [{low:.2f}, {high:.2f}]"
    return f"{value:.2f} ± {stderr:.2f}" if stderr == stderr else f"{value:.2f}"


def write_tables(found: Sequence[Result], folder: Path) -> list[Path]:
    """scores.csv, long and in fractions; scores.md and scores.tex, wide and in percent."""
    wide = wide_table(found).reset_index()
    barred = wide.rename(columns=_barred).map(_barred)
    texts = (
        long_table(found).astype({"count": "Int64"}).to_csv(index=False),
        barred.to_markdown(index=False, disable_numparse=True) + "\n",
        _latex(wide),
    )
    for name, text in zip(TABLES, texts, strict=True):
        write_text(folder / name, text)
    return [folder / name for name in TABLES]


def remove_tables(folder: Path) -> None:
    """The tables of an earlier call, which would stand beside results that they are not of."""
    for name in TABLES:
        (folder / name).unlink(missing_ok=True)


def _barred(cell: str) -> str:
    return cell.replace("|", r"\|")


def _latex(table: "pandas.DataFrame") -> str:
    escaped = table.style.hide(axis="index").format(escape="latex").format_index(escape="latex", axis=1)
    return NEEDS + escaped.to_latex(hrules=True)


def print_tables(found: Sequence[Result]) -> None:
    """A table a benchmark on the terminal: scores, what is blind to pictures, what was left out, warnings."""
    from rich.console import Console
    from rich.table import Table

    # What users name may hold brackets, which are rich's markup.
    console, wide, blind = Console(markup=False), wide_table(found, blind=False), _blind_columns(found[0])
    for result in found:
        about, notes = result.values["model"], result.made["config"].get("notes", {})
        said = [about["activation"], about["precision"], *notes.get(result.experiment, ())]
        console.print(f"{result.experiment}: {'; '.join(said)}", highlight=False)
    for benchmark, rows in wide.groupby(level="benchmark", sort=False):
        values = found[0].values["benchmarks"].get(benchmark, {})
        table = Table(title=_title(benchmark, values), title_justify="left")
        for name in ("subset", "metric"):
            table.add_column(name, no_wrap=True)
        for name in wide.columns:
            table.add_column(name, justify="right")
        for (_, subset, metric), cells in rows.iterrows():
            table.add_row(subset, metric, *cells)
        console.print(table)
        if len(blind) and benchmark in blind.index:
            console.print(_without_pictures(blind.loc[benchmark]), highlight=False)
        console.print(_protocol(values), style="dim", highlight=False)
        for line in _remarks(benchmark, found):
            console.print(line, highlight=False)
        console.print()


def _without_pictures(blind: "pandas.DataFrame") -> str:
    """What baselines that see no picture have of all items, or of the one subset."""
    subsets = blind.index.get_level_values("subset")
    rows = blind.loc["micro" if "micro" in subsets else subsets[0]]
    lines = [
        f"without the picture, {metric}, strict / with ties at half: "
        + "; ".join(f"{name.removeprefix('blind: ')} {cell}" for name, cell in cells.dropna().items())
        for metric, cells in rows.iterrows()
    ]
    return "\n".join(lines)


def _protocol(values: dict[str, Any]) -> str:
    said = values.get("protocol", "")
    if isinstance(said, str):
        return said
    return "; ".join(f"{name}: {shorten(str(value), 90)}" for name, value in said.items())


def _remarks(benchmark: str, found: Sequence[Result]) -> Iterator[str]:
    for result in found:
        values = result.values["benchmarks"].get(benchmark, {})
        if result is found[0] and values.get("leaks"):
            yield values["leaks"]
        if cut := values.get("cut"):
            yield f"{result.experiment}: {cut}"
        yield from _differences(benchmark, result)
        if warnings := values.get("warnings"):
            others = f" ({len(warnings) - 1} more like it)" if len(warnings) > 1 else ""
            yield f"warning: {result.experiment}: {warnings[0]}{others}"
        for metric, strata in values.get("lens", {}).items():
            if metric.count("/") == 1:  # over all subsets
                yield f"{result.experiment}: {metric.partition('/')[2]} and concreteness: {_trend(strata)}"


def _differences(benchmark: str, result: Result) -> Iterator[str]:
    """Of all items together, or of the one subset, how the model differs from the first."""
    compared = result.values.get("differences", {})
    rows = compared.get(benchmark, {})
    for metric, found in rows.get("micro", next(iter(rows.values()), {})).items():
        interval = "without an interval, of too few pictures"
        if found["low"] is not None:
            interval = f"[{100 * found['low']:+.2f}, {100 * found['high']:+.2f}]"
        apart = f"{100 * found['value']:+.2f} points {interval}, McNemar's p = {found['mcnemar']:.2g}"
        yield f"{result.experiment} − {compared['to']}: {metric} {apart}"


def _trend(strata: dict[str, Any]) -> str:
    trend = strata["trend"]["all"]
    if "reason" in trend:
        return trend["reason"]
    odds, low, high = (f"{trend[name]:.2f}" for name in ("odds_ratio", "low", "high"))
    return f"odds of being right times {odds} [{low}, {high}] a point of c, p = {trend['p']:.2g}"


def _title(benchmark: str, values: dict[str, Any]) -> str:
    left_out = "; ".join(f"{count:,} left out: {why}" for why, count in values.get("left out", {}).items())
    items = sum(values.get("items", {}).values())
    counted = f"{items:,} items" if items else ""
    return " · ".join(filter(None, (benchmark, counted, left_out)))
