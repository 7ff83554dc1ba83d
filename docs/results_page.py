"""The page of results, one picture and two tables, and a page for each table with its controls and its note."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from paper_records import Comparison, Higher, TableRecord, compared, digest_of, draw_overview, read_records

from driftfit.lab.cells import BENCHMARKS
from driftfit.lab.layouts import published_comparison, published_figure, published_number
from driftfit.lab.output import as_markdown
from driftfit.lab.statistics import Entry

# Beside the page.
PICTURE = "images/results-overview.png"

_TITLES = {
    "rotated-mnist": "Rotated MNIST, 45 degrees",
    "color-mnist": "Color-Shift MNIST",
    "portraits": "Portraits",
    "covtype": "Cover Type",
    "uda": "One-off baselines",
    "covi": "CoVi",
    "covi-parts": "What helps CoVi",
    "encoders": "Encoders",
    "plans": "Plans",
    "selection": "The number of generated domains, chosen without labels",
}
# Rows of the summary: their words, the table and the method that they come from, generated domains, published by.
_SUMMARY = (
    ("source model", "uda", "source-only", ""),
    ("label transport, source and target alone", "uda", "label-transport", ""),
    ("DANN", "uda", "dann", "dann"),
    ("DeepCoral", "uda", "deep-coral", "deep-coral"),
    ("DeepJDOT", "uda", "deep-jdot", "deep-jdot"),
    ("gradual self-training (GST)", "uda", "gst", "gst"),
    ("GOAT, number of domains chosen without labels", "uda", "goat-auto", "goat"),
    ("CoVi", "covi", "covi", "covi"),
)
_HEAD = """# The paper's tables, ours beside theirs

Do the published figures reproduce, and which method is best? This page compares every accuracy that He, Wang, Li and
Zhao publish ("Gradual Domain Adaptation: Theory and Algorithms", JMLR 2024) with ours.
It is made from the records in [`results/`](../results) by `docs/tables.py`; no number on it was typed.
The command that runs a table is `driftfit paper NAME` ([reproducing the paper](guide/reproduce.md)).
Times on a GPU are of an earlier implementation until they are measured again ([scale, measured](scale_measured.md)).
"""
_ON_GAINS = """The last two columns count numbers of given domains. In each, GOAT has its best number of generated
domains, 1 to 4: the published figures have theirs and ours have ours. The best of four tends to be high by chance, and
to know which one it is takes target labels. In table 7 the other columns compare the published best with ours at
four.
"""
_READING = """## How to read the tables

- Accuracy in percent of the *last* model on the target samples it was adapted to, as published; mean ± half width of
  the 95 % interval over seeds (Student's t). In brackets: the published figure and our difference. Held-out
  accuracies are in the linked files.
- A difference counts where it exceeds both intervals (root of the sum of their squares).
- Preset `reference` is what produced the published tables: 10,000 test images, three convolutions, an encoder trained
  on the source alone, no plan weights. Preset `paper` is what the text says: 50,000 images, four convolutions of which
  the first two are the encoder, pretrained along the given domains, early stopping, plan weights. It was run for one
  row of each of tables 3 to 6; the table at the top is about `reference`.
- *Frozen GST* is gradual self-training with a fixed encoder, as GOAT has it. *Label transport* carries the source's
  labels along the plans and trains nothing. Both are controls.
- No method sees a target label. Columns "with labels" do, and are there to compare with.
- On a CPU two runs of one seed agree bit for bit. On a GPU, cells that are trained beside the same others give the same
  numbers again; beside others they differ by rounding, and labels that pass from domain to domain make much of a small
  difference.
"""


def write(root: Path, check: bool) -> list[Path]:
    """Write the page and its picture anew where they have changed; returns what did."""
    page, picture = root / "docs" / "results.md", root / "docs" / PICTURE
    records = read_records(root / "results")
    texts = {page: results_page(records, root / "results")}
    texts |= {page.parent / path: text for path, text in table_pages(records, root / "results").items()}
    comparisons = [one for one in compared(records) if one.record.preset == "reference"]
    changed = [own for own, text in texts.items() if not own.is_file() or own.read_text(encoding="utf-8") != text]
    if not check:
        for own in changed:
            own.parent.mkdir(exist_ok=True)
            own.write_text(texts[own], encoding="utf-8")
    if digest_of(comparisons).encode() not in picture.read_bytes():
        changed.append(picture)
    if not check and picture in changed:
        draw_overview(comparisons, [title_of(one.record) for one in comparisons], picture)
    return changed


def results_page(records: Sequence[TableRecord], folder: Path) -> str:
    """The first page, in Markdown; remarks on its tables are in ``folder/notes/NAME.md``."""
    shown = _shown(records)
    comparisons = [one for one in compared(shown) if one.record.preset == "reference"]
    parts = [_HEAD, f"![Published accuracy and ours, every cell]({PICTURE})\n", _by_table(comparisons)]
    parts += [_note(folder, "overview"), _summary(shown), _READING]
    first = {record.table.name: record for record in reversed(shown)}
    names = list(dict.fromkeys(record.table.name for record in shown))
    lines = "\n".join(f"- [{_title(first[name], preset=False)}](results/{name}.md)" for name in names)
    listing = "\n".join(f"results/{name}" for name in names)
    parts.append(f"## Every table\n\n{lines}\n\n```{{toctree}}\n:hidden:\n\n{listing}\n```\n")
    return "\n".join(part for part in parts if part)


def table_pages(records: Sequence[TableRecord], folder: Path) -> dict[str, str]:
    """A page for each table, by its path beside the first page; both presets are on one."""
    pages: dict[str, str] = {}
    for record in _shown(records):
        path = f"results/{record.table.name}.md"
        head = f"# {_title(record, preset=False)}\n\n[All tables](results.md), and how to read them.\n"
        # Notes name files as from the first page.
        text = "\n".join([*([] if path in pages else [head]), _section(record, folder)])
        pages[path] = pages.get(path, "") + re.sub(r"\]\((?!https?:|#)", "](../", text) + "\n"
    return {path: text.rstrip("\n") + "\n" for path, text in pages.items()}


def _shown(records: Sequence[TableRecord]) -> list[TableRecord]:
    return [record for record in records if record.table.name != "frontier"]


def title_of(record: TableRecord) -> str:
    """What a reader calls the table."""
    return _title(record, preset=record.preset != "reference")


def _title(record: TableRecord, *, preset: bool) -> str:
    name = record.table.name
    number = f", table {published_number(name)}" if any(entry.place.published for entry in record.entries) else ""
    return f"{_TITLES.get(name, name)}{number}{f', preset `{record.preset}`' if preset else ''}"


def _by_table(comparisons: Sequence[Comparison]) -> str:
    """Who is higher how often, and whether generated domains help."""
    lines = [
        "| table | published cells | ours higher | level | published higher | median difference "
        "| best GOAT clearly over GST: published | ours |",
        "|---" * 8 + "|",
    ]
    everything = [entry for one in comparisons for entry in one.record.entries]
    for one in comparisons:
        counts = " | ".join(str(one.number(higher)) for higher in (Higher.OURS, Higher.LEVEL, Higher.PUBLISHED))
        gains = _gains(one.record.entries, everything)
        lines.append(
            f"| {title_of(one.record)} | {len(one.entries)} | {counts} | {one.median_difference:+.1f} | {gains} |"
        )
    return "\n".join(lines) + f"\n\n{_ON_GAINS}"


def _gains(entries: Sequence[Entry], everything: Sequence[Entry]) -> str:
    """Rows in which GOAT is over GST beyond both intervals, published and ours, each with its best number of domains.

    ``everything`` holds our runs of all tables: table 7 shows one number of generated domains, and tables 3 to 5 have
    the others.
    """
    theirs = _rows([entry for entry in entries if entry.place.published])
    ours = _rows(everything)
    both = [key for key, methods in theirs.items() if set(methods) == {"gst", "goat"}]
    if not both:
        return "- | -"
    published = sum(_best_is_over(theirs[key], lambda entry: entry.place.published or (0.0, 0.0)) for key in both)
    own = sum(_best_is_over({**ours[key], "gst": theirs[key]["gst"]}, _own) for key in both)
    return f"{published} of {len(both)} | {own} of {len(both)}"


def _rows(entries: Sequence[Entry]) -> dict[tuple[str, int], dict[str, list[Entry]]]:
    """GST and GOAT by benchmark and number of given domains, ablations aside."""
    rows: dict[tuple[str, int], dict[str, list[Entry]]] = {}
    for entry in entries:
        cell = entry.place.cell
        if cell.method in ("gst", "goat") and not (cell.variant or cell.study) and entry.mean is not None:
            rows.setdefault((cell.table, cell.n_given), {}).setdefault(cell.method, []).append(entry)
    return rows


def _best_is_over(row: Mapping[str, Sequence[Entry]], figure: Callable[[Entry], tuple[float, float]]) -> bool:
    return _over(figure(row["gst"][0]), max(map(figure, row["goat"])))


def _own(entry: Entry) -> tuple[float, float]:
    return entry.mean or 0.0, entry.intervals[entry.place.measure] or 0.0


def _over(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Whether the second mean is higher by more than both half widths together."""
    gain = second[0] - first[0]
    return gain > 0 and gain**2 > first[1] ** 2 + second[1] ** 2


def _summary(records: Sequence[TableRecord]) -> str:
    """Two given domains: every method on every benchmark, the highest mean in bold."""
    tables = {record.table.name: record for record in records if record.preset == "reference"}
    cells: dict[tuple[str, str], tuple[float, str]] = {}
    for words, table, method, published in _SUMMARY:
        for benchmark in BENCHMARKS:
            entry = _found(tables.get(table), benchmark, method)
            if entry is not None and entry.mean is not None:
                text = _plus_minus(entry) + _in_brackets(table, published, benchmark)
                cells[words, benchmark] = (entry.mean, text)
    if not cells:
        return ""
    best = {benchmark: max(own[0] for (_, of), own in cells.items() if of == benchmark) for benchmark in BENCHMARKS}
    lines = ["| two given domains | " + " | ".join(_TITLES[name] for name in BENCHMARKS) + " |", "|---" * 5 + "|"]
    for words, *_ in _SUMMARY:
        row = []
        for benchmark in BENCHMARKS:
            mean, text = cells.get((words, benchmark), (float("nan"), "-"))
            row.append(f"**{text}**" if mean == best[benchmark] else text)
        lines.append(f"| {words} | " + " | ".join(row) + " |")
    return (
        "## In a minute\n\nIn brackets the published figure; for GOAT it is that of the best number of generated "
        "domains. Bold: our highest mean.\n\n" + "\n".join(lines) + "\n"
    )


def _found(record: TableRecord | None, benchmark: str, method: str) -> Entry | None:
    """The run of a method with two given domains, or of one that uses none."""
    if record is None:
        return None
    own = [
        entry
        for entry in record.entries
        if (entry.place.cell.table, entry.place.cell.method) == (benchmark, method) and "pooled" not in entry.place.row
    ]
    given = [entry for entry in own if entry.place.cell.n_given == (0 if method == "label-transport" else 2)]
    found = given or own
    return found[0] if found else None


def _plus_minus(entry: Entry) -> str:
    mean, interval = _own(entry)
    return f"{mean:.1f} ± {interval:.1f}"


def _in_brackets(table: str, method: str, benchmark: str) -> str:
    figure = published_comparison(table, method, benchmark) if method else None
    return "" if figure is None else f" ({figure[0]:.1f})"


def _section(record: TableRecord, folder: Path) -> str:
    parts = [f"## Preset `{record.preset}`\n", _origin(record), as_markdown(record.table, record.entries)]
    if record.preset != "reference" and record.table.name in BENCHMARKS:
        parts.append(_on_rows(record))
    if record.table.note:
        parts.append(f"{record.table.note}\n")
    if (folder / f"{record.name}.png").is_file():
        parts.append(f"![{title_of(record)}](../results/{record.name}.png)\n")
    return "\n".join(part for part in (*parts, _note(folder, record.name)) if part)


def _on_rows(record: TableRecord) -> str:
    """How much of the paper's table was run with a preset that has not all of it."""
    name, run = record.table.name, {entry.place.cell.n_given for entry in record.entries}
    rows = [n for n in range(5) if published_figure(name, "gst", n, 0)]
    given = ", ".join(map(str, sorted(run)))
    return f"Run with this preset: {len(run)} of the table's {len(rows)} rows, {given} given.\n"


def _origin(record: TableRecord) -> str:
    """Seeds, device, time and files, in one line."""
    seeds = "1 seed" if record.n_seeds == 1 else f"{record.n_seeds} seeds"
    told = [f"{seeds}, {record.n_runs} runs", f"{record.provenance['device']}, torch {record.provenance['torch']}"]
    plan = record.provenance["settings"].get("plan", "exact")
    if plan != "exact":
        told.append(f"{plan} plans")
    if record.seconds is not None:
        others = f" with {', '.join(record.shared_with)}" if record.shared_with else ""
        told.append(f"{record.seconds:.0f} s{others}, start-up included")
    links = ", ".join(f"[{word}](../results/{record.name}.{end})" for word, end in _FILES.items())
    return f"{'; '.join(told)}. {links}.\n"


_FILES: Mapping[str, str] = {"Every run, held-out too": "json"}


def _note(folder: Path, name: str) -> str:
    path = folder / "notes" / f"{name}.md"
    return path.read_text(encoding="utf-8") if path.is_file() else ""
