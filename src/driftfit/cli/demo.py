"""`driftfit demo`: the main job on data that needs no download."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftfit.cli.bars import counted
from driftfit.cli.parsing import Fail, at_least, need_tables, output_path
from driftfit.cli.text import printable, text_table
from driftfit.errors import InputError
from driftfit.extras import need

if TYPE_CHECKING:
    from driftfit.lab.demo import DemoRun, TableRun

HELP = """Adapt a made-up table whose labels stop, then digits that turn; needs no data.

The table is that of --table; its run is kept in the folder. Of the digits only the upright ones have labels: every
method sees the same unlabelled snapshots, and accuracies are on held-out target samples. Takes about half a minute.
With --table the table is written, to try the other commands on, and nothing else is done."""

_SEEDS, _OUT = 3, Path("demo")
_TABLE = "table"


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--path", action="append", help="data to use: table, digits or moons; may be repeated [table and digits]"
    )
    parser.add_argument(
        "--seeds",
        type=at_least(1, 100),
        default=_SEEDS,
        metavar="N",
        help="repetitions with different seeds [%(default)s]",
    )
    parser.add_argument(
        "--out", "-o", type=Path, default=_OUT, help="folder for the run, the picture and the numbers [%(default)s]"
    )
    parser.add_argument("--json", action="store_true", dest="as_json", help="print the result as JSON, not as tables")
    parser.add_argument(
        "--table",
        type=output_path,
        metavar="FILE",
        help="write a made-up drifting table to this new .parquet or .csv file, and nothing else",
    )


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Run the demonstration, draw it and print it."""
    if chosen.table is not None:
        if chosen.path or chosen.as_json or (chosen.seeds, chosen.out) != (_SEEDS, _OUT):
            fail("argument --table: writes a table and nothing else; leave out --path, --seeds, --out and --json")
        return _write_table(chosen.table, fail)
    need("matplotlib", "tables", "the picture of driftfit demo")
    import matplotlib as mpl

    mpl.use("Agg")
    from driftfit.files import write_json
    from driftfit.lab.demo import count_runs, run_demo

    paths = tuple(chosen.path or (_TABLE, "digits"))
    scenes = tuple(path for path in paths if path != _TABLE)
    n_runs = count_runs(scenes, chosen.seeds)
    table = _adapted_table(chosen.out / "run", quiet=chosen.as_json) if _TABLE in paths else None
    runs: list[DemoRun] = []
    with counted(n_runs) as advance:
        for one in run_demo(scenes, tuple(range(chosen.seeds))):
            runs.append(one)
            advance(f"{one.scene.name}, seed {one.seed}: {one.method} {100 * one.accuracy:.1f} %")
    picture = chosen.out / "path.png"
    if runs:
        _draw(runs, picture)
    summary = _summary(table, runs)
    write_json(chosen.out / "result.json", summary)
    if chosen.as_json:
        print(json.dumps(summary, indent=2))
    elif runs:
        _print_tables(summary, picture)
    return 0


def _adapted_table(folder: Path, *, quiet: bool) -> TableRun:
    """Adapt the made-up table, keep the run, and say first what a user would see."""
    from driftfit.lab.demo import LABELLED_UNTIL, run_table

    found = run_table()
    found.run.save(folder, force=True)  # in the place of a run that nobody has changed, of the last demonstration
    if not quiet:
        print(f"A table of customers, with labels until {LABELLED_UNTIL}. driftfit adapt says:\n\n{found.run}\n")
        print(
            f"Its labels of today are known, and nothing above has seen them: {100 * found.right:.1f} % of the "
            f"{len(found.run.predictions)} rows are right, and {100 * found.plain:.1f} % with a model of all labels."
        )
        print(printable(f"report: {folder / 'report.html'}\n"), flush=True)
    return found


def _write_table(target: Path, fail: Fail) -> int:
    """Write a table to try the other commands on; one that is there is somebody's own."""
    ending = target.suffix.lower()
    if ending not in (".parquet", ".csv"):
        fail(f"argument --table: must be a name that ends with .parquet or .csv, got {str(target)!r}")
    if target.exists():
        raise InputError(f"{str(target)!r} is there already; name a new file")
    need_tables("demo --table")
    from driftfit.app.parquet_files import write_frames
    from driftfit.files import atomic_file
    from driftfit.lab.demo import LABELLED_UNTIL, drifting_table

    events, _ = drifting_table()
    with atomic_file(target) as file:
        write_frames([events], file, csv=ending == ".csv")
    print(printable(f"{len(events)} rows, with labels until {LABELLED_UNTIL}: {target}"))
    # As a shell reads it: a name may have spaces, and one with a dash in front would be an option.
    name = shlex.quote(f"./{target}" if str(target).startswith("-") else str(target))
    for command, more in (("check", ""), ("adapt", " -o run")):
        print(printable(f"next: driftfit {command} {name} --label churned --order month{more}"))
    return 0


def _summary(table: TableRun | None, runs: list[DemoRun]) -> dict[str, Any]:
    from driftfit import __version__

    scenes: dict[str, Any] = {}
    for run in runs:
        scene = scenes.setdefault(run.scene.name, {"title": run.scene.title, "methods": {}})
        method = scene["methods"].setdefault(run.method, {"accuracies": [], "seconds": 0.0})
        method["accuracies"].append(run.accuracy)
        method["seconds"] += run.seconds
    found: dict[str, Any] = {"version": __version__}
    if table is not None:
        found["table"] = {"answer": str(table.run).split("\n"), "right": table.right, "all labels right": table.plain}
    return found | {"accuracy": "held-out target samples, one value per seed", "paths": scenes}


def _print_tables(summary: dict[str, Any], picture: Path) -> None:
    import statistics

    for scene in summary["paths"].values():
        rows = []
        for name, method in scene["methods"].items():
            values = [100 * value for value in method["accuracies"]]
            seconds = method["seconds"] / len(values)
            spread = f"{min(values):.1f} .. {max(values):.1f}"
            rows.append([name, f"{statistics.mean(values):.1f} %", spread, f"{seconds:.1f}" if seconds else ""])
        print(scene["title"])
        print(text_table(["method", "target accuracy", "range over seeds", "s per fit"], rows) + "\n")
    print("The oracle pairing knows which rotated image belongs to which; it is a ceiling, not a method.")
    print(f"Picture: {picture}   Numbers: {picture.with_name('result.json')}")


def _draw(runs: list[DemoRun], target: Path) -> None:
    import matplotlib.pyplot as plt

    from driftfit.app.report.pictures import accuracy_bars, save

    names = list(dict.fromkeys(run.scene.name for run in runs))
    figure = plt.figure(figsize=(11, 4.9 * len(names)), layout="constrained")
    for part, name in zip(figure.subfigures(len(names), 1, squeeze=False).ravel(), names, strict=True):
        own = [run for run in runs if run.scene.name == name]
        part.suptitle(own[0].scene.title, fontsize=12, fontweight="bold")
        top, bottom = part.subfigures(2, 1, height_ratios=(1, 1))
        _draw_path(top, next(run for run in own if run.method == "GOAT"))
        accuracies: dict[str, list[float]] = {}
        for run in own:
            accuracies.setdefault(run.method, []).append(run.accuracy)
        accuracy_bars(bottom.subplots(), accuracies, "")
    save(figure, target)


def _draw_path(figure: Any, run: DemoRun) -> None:
    from driftfit.app.report.pictures import cloud_row, image_rows
    from driftfit.lab.demo import N_GENERATED

    if run.scene.name == "digits":
        from driftfit.datasets.toy import DIGIT_SHAPE

        image_rows(figure.subplots(), run.sequence, N_GENERATED, DIGIT_SHAPE)
    else:
        cloud_row(figure.subplots(1, 7, sharex=True, sharey=True), run.sequence, run.classifier, N_GENERATED)
