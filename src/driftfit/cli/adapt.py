"""`driftfit adapt`: a better classifier for today's rows, and a word on whether to trust it."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from driftfit.cli.parsing import Fail, declare_engine, engine_of, need_tables, output_path
from driftfit.cli.table_options import UNTRUSTED, declare_table, settings_of
from driftfit.cli.text import accuracy_line, answer_text, check_text, declare_verbose, printable, show_warnings, stages
from driftfit.errors import InputError

HELP = """Adapt a classifier to the newest rows of a table, which need no labels.

The rows are cut into windows by --order: rows with a label are history, rows without one are today's. On past windows
with labels it is measured which way to learn helps. Without such windows the old model is kept, exactly as it is,
unless something moved and --assume declares what may have changed: then what follows from that is tested, and the
method that fits it is taken where it is estimated to gain. Labels of some rows of today (driftfit label, --labels)
decide without any assumption. With another --method the old model is kept where the check advises against adapting,
where a class was lost, or where adaptation is estimated to hurt."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    declare_table(parser)
    run_folder = parser.add_argument_group("run")
    run_folder.add_argument("--out", "-o", type=output_path, required=True, metavar="RUN", help="folder to write")
    run_folder.add_argument("--force", action="store_true", help="replace a run that is there already")
    run_folder.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="labels of some rows of the last window, in a file that driftfit label wrote: every remedy is compared on "
        "them, and models learn from them",
    )
    run_folder.add_argument(
        "--candidates", action="store_true", help="also write what every remedy that was tried predicts, a column each"
    )
    run_folder.add_argument("--mlflow", metavar="URI", help="log the run to MLflow, for instance sqlite:///mlflow.db")
    declare_verbose(parser)
    declare_engine(parser, "candidates")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Check, adapt, write the run and print what came out."""
    need_tables("adapt", "jinja2")
    settings = settings_of(chosen, fail)
    from driftfit.app import adapt_checked, check_table, open_table, save_run, summarise
    from driftfit.app.folder import check_target
    from driftfit.app.labelled_rows import read_labelled
    from driftfit.app.report.page import build_page

    check_target(chosen.out, chosen.force)
    if chosen.mlflow is not None:
        from driftfit.app.export import check_mlflow

        check_mlflow()
    with stages() as progress:
        checked = check_table(open_table(chosen.tables), settings, progress)
    engine = engine_of(chosen)
    labelled = None if chosen.labels is None else read_labelled(chosen.labels, checked)
    with stages() as progress:
        result = adapt_checked(checked, progress, labelled, every_candidate=chosen.candidates, engine=engine)
        progress("write", 0, 1)
        redo, run_folder = shlex.join(["driftfit", *chosen.arguments]), shlex.quote(str(chosen.out))
        summary = summarise(result, chosen.arguments, redo, run_folder)
        save_run(result, summary, chosen.out, page=build_page, force=chosen.force)
        progress("write", 1, 1)
    show_warnings(result.warnings)
    if chosen.mlflow is not None:
        from driftfit.app.export import log_run

        log_run(chosen.out, chosen.mlflow)
    if chosen.as_json:
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        print(answer_text(summary["answer"]))
        if chosen.verbose:
            print(f"\n{check_text(summary['check'])}\n{_details(summary)}")
        print(f"\nreport: {printable(str(chosen.out / 'report.html'))}")
    return UNTRUSTED if chosen.fail_on == "untrusted" and not result.trusted else 0


def as_called(folder: Path) -> tuple[argparse.Namespace, list[str], dict[str, Any]]:
    """The options that a run was made with, the words of that command, and the run's numbers."""
    from driftfit.app.folder import read_result

    summary = read_result(folder)
    command = [str(word) for word in summary.get("command") or []]
    if command[:1] != ["adapt"]:
        raise InputError(f"{str(folder)!r} does not say how it was made; run driftfit adapt again")
    parser = argparse.ArgumentParser(prog="driftfit adapt")
    declare(parser)
    return parser.parse_intermixed_args(command[1:]), command, summary


def _details(summary: dict[str, Any]) -> str:
    """What was tried and what was not, and why; estimates and scores."""
    found, lines = summary["remedies"], []
    for one in found["tried"] if found is not None else ():
        gain = f", gain {one['gain']:+.3f} ({one['low']:+.3f} to {one['high']:+.3f})" if "gain" in one else ""
        lines.append(f"remedy {one['name']}: score {one['score']:.3f}{gain}{'' if found['in_points'] else ' (nats)'}")
    for key, word in (("struck", "struck out"), ("failed", "could not run")):
        lines += [f"remedy {one['name']}: {word}; {one['reason']}" for one in (found or {key: ()})[key]]
    lines += [one["sentence"] for one in (summary["ladder"] or {"others": ()})["others"]]
    if summary["generated"]["how"] != "asked":
        lines.append(f"generated: {summary['generated']['sentence']}")
    lines.append(accuracy_line("old model", summary["accuracy"]["old"]))
    if summary["kept"] == "adapted":
        lines.append(accuracy_line("adapted model", summary["accuracy"]["new"]))
    lines.append(f"kept: {summary['kept']} model; {summary['kept_reason']}")
    return "\n".join(printable(line) for block in lines for line in block.split("\n"))
