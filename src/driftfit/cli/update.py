"""`driftfit update`: rows and labels that came since a run was made."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from driftfit.cli.adapt import as_called
from driftfit.cli.parsing import Fail, declare_engine, engine_of, need_tables
from driftfit.cli.table_options import settings_of
from driftfit.cli.text import answer_text, printable, show_warnings, stages

HELP = """Add new rows to a run, and labels that arrived for old ones, and decide anew.

Rows of the new table that the run has already are recognised by the columns of --id and the order, or without --id by
all their values: they get their label. The others are added. The result is the one that adapt gives for all rows; what
does not change is not computed again. An interrupted update changes nothing, and goes on where it was. Without --id a
table of labels alone cannot be matched."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("run", type=Path, metavar="RUN", help="folder that driftfit adapt wrote")
    parser.add_argument("tables", nargs="+", type=Path, metavar="NEW", help="CSV or Parquet files, or folders of them")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print the result as JSON")
    declare_engine(parser, "forecasts")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Read what came, put it to the rows of the run, adapt, and replace the run."""
    need_tables("update", "jinja2")
    told, command, summary = as_called(chosen.run)
    settings = settings_of(told, fail)
    from driftfit.app import adapt_checked, check_table, open_table, save_run, summarise
    from driftfit.app.folder import FORECASTS, ROWS, read_result, table_of_run
    from driftfit.app.forecasts import Forecasts
    from driftfit.app.report.page import build_page
    from driftfit.app.update import arrived, read_predictions, told_of, whole_frame, write_rows
    from driftfit.errors import InputError
    from driftfit.files import DISK

    if told.labels is not None:
        raise InputError("the run learnt from a file of labels (--labels); put them into the table and run adapt again")
    texts = [one["column"] for one in summary["preprocessing"] if one["type"] == "text"]
    found = arrived(
        whole_frame(table_of_run(chosen.run, told.tables)), whole_frame(open_table(chosen.tables, texts)), settings
    )
    if found.nothing:
        print("\n".join(printable(one) for one in (*found.said, "Nothing is new: the run stays as it is.")))
        return 0
    folder = chosen.run.absolute()
    # An interrupted update finds its forecasts here.
    unfinished = folder.with_name(f".{folder.name}-update")
    try:
        table = write_rows(found.rows, unfinished / ROWS, summary["data"]["files"][0]["name"])
        forecasts = Forecasts.unpacked(chosen.run / FORECASTS, unfinished)
        with stages() as progress:
            result = adapt_checked(
                check_table(table, settings, progress), progress, every_candidate=told.candidates,
                engine=engine_of(chosen), forecasts=forecasts,
            )  # fmt: skip
            progress("write", 0, 1)
            again = ["adapt", str(chosen.run / ROWS), *(w for w in command[1:] if Path(w) not in told.tables)]
            after = summarise(result, again, shlex.join(["driftfit", *again]), shlex.quote(str(chosen.run)))
            after, said = told_of(found, read_predictions(chosen.run), settings.metric, summary, after)
            if read_result(chosen.run) != summary:
                raise InputError(f"{str(chosen.run)!r} was changed meanwhile; run update again")
            save_run(result, after, chosen.run, page=build_page, force=True, rows=unfinished / ROWS)
            progress("write", 1, 1)
    except InputError:
        DISK.remove_folder(unfinished)
        raise
    DISK.remove_folder(unfinished)
    show_warnings(result.warnings)
    if chosen.as_json:
        print(json.dumps(after, indent=2, ensure_ascii=False))
    else:
        if result.forecasts is not None and forecasts.used:
            there = f"{forecasts.n_found} of {len(forecasts.used)}"
            said = (*said, f"{there} forecasts of past windows were there already.")
        print("\n".join(printable(one) for one in said), answer_text(after["answer"]), sep="\n\n")
        print(f"\nreport: {printable(str(chosen.run / 'report.html'))}")
    return 0
