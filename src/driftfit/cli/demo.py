"""`driftfit demo`: the main job on data that needs no download."""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

from driftfit.cli.parsing import Fail, at_least, need_tables, output_path
from driftfit.cli.text import counted, printable, text_table
from driftfit.errors import InputError

if TYPE_CHECKING:
    from driftfit.lab.demo import TableRun

HELP = """Adapt a made-up table whose labels stop, then digits that turn; needs no data.

The table is that of --table; its run is kept in the folder. Of the digits only the upright ones have labels: every
method sees the same unlabelled snapshots, and accuracies are on held-out target samples. Takes about half a minute.
With --table the table is written, to try the other commands on, and nothing else is done."""

_SEEDS, _OUT = 3, Path("demo")


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--seeds",
        type=at_least(1, 100),
        default=_SEEDS,
        metavar="N",
        help="repetitions with different seeds [%(default)s]",
    )
    parser.add_argument("--out", "-o", type=Path, default=_OUT, help="folder for the run and the numbers [%(default)s]")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print the result as JSON, not as tables")
    parser.add_argument(
        "--table",
        type=output_path,
        metavar="FILE",
        help="write a made-up drifting table to this new .parquet or .csv file, and nothing else",
    )


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Run the demonstration and print it."""
    if chosen.table is not None:
        if chosen.as_json or (chosen.seeds, chosen.out) != (_SEEDS, _OUT):
            fail("argument --table: writes a table and nothing else; leave out --seeds, --out and --json")
        return _write_table(chosen.table, fail)
    need_tables("demo")
    from driftfit import __version__
    from driftfit.files import write_json
    from driftfit.lab.demo import METHODS, run_digits

    table = _adapted_table(chosen.out / "run", quiet=chosen.as_json)
    digits: dict[str, dict[str, list[float]]] = {name: {"accuracies": [], "seconds": []} for name in METHODS}
    with counted(len(METHODS) * chosen.seeds) as advance:
        for method, seed, accuracy, seconds in run_digits(tuple(range(chosen.seeds))):
            digits[method]["accuracies"].append(accuracy)
            digits[method]["seconds"].append(seconds)
            advance(f"digits, seed {seed}: {method} {100 * accuracy:.1f} %")
    summary = {
        "version": __version__,
        "table": {"answer": str(table.run).split("\n"), "right": table.right, "all labels right": table.plain},
        "digits": {"accuracy": "held-out target samples, one value per seed", "methods": digits},
    }
    write_json(chosen.out / "result.json", summary)
    if chosen.as_json:
        print(json.dumps(summary, indent=2))
    else:
        _print_digits(digits)
        print(printable(f"Numbers: {chosen.out / 'result.json'}"))
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


def _print_digits(methods: dict[str, dict[str, list[float]]]) -> None:
    rows = []
    for name, found in methods.items():
        values, seconds = [100 * value for value in found["accuracies"]], statistics.mean(found["seconds"])
        spread = f"{min(values):.1f} .. {max(values):.1f}"
        rows.append([name, f"{statistics.mean(values):.1f} %", spread, f"{seconds:.1f}" if seconds else ""])
    print("Digits turned by 60 degrees, with unlabelled snapshots at 20 and 40:\n")
    print(text_table(["method", "target accuracy", "range over seeds", "s per fit"], rows) + "\n")
    print("The oracle pairing knows which rotated image belongs to which; it is a ceiling, not a method.")
