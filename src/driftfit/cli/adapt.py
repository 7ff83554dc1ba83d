"""`driftfit adapt`: a better classifier for today's rows, and a word on whether to trust it."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

from driftfit.cli.bars import stages
from driftfit.cli.check_text import accuracy_line, check_text, show_warnings
from driftfit.cli.engine_options import declare_engine, engine_of
from driftfit.cli.parsing import Fail, need_tables, output_path
from driftfit.cli.table_options import UNTRUSTED, declare_table, settings_of
from driftfit.cli.text import printable

__all__ = ["HELP", "declare", "run"]

HELP = """Adapt a classifier to the newest rows of a table, which need no labels.

The rows are cut into windows by --order: the first has labels, the last is today. Shows first what moved, as
check does. The old model is kept, exactly as it is, unless something moved and --assume declares what may have
changed: then what follows from that is tested, and the method that fits it is taken where it is estimated to gain.
Labels of some rows of today (driftfit label, --labels) decide without any assumption. With another --method the old
model is kept where the check advises against adapting, where a class was lost, or where adaptation is estimated to
hurt."""


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
    declare_engine(parser, "candidates")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Check, adapt, write the run and print what came out."""
    need_tables("adapt", "jinja2")
    settings = settings_of(chosen, fail)
    from driftfit.app import adapt_checked, check_summary, check_table, open_table, save_run, summarise
    from driftfit.app.folder import check_target
    from driftfit.app.labelled_rows import read_labelled
    from driftfit.app.report.page import build_page

    check_target(chosen.out, chosen.force)
    if chosen.mlflow is not None:
        from driftfit.app.export import check_mlflow

        check_mlflow()
    with stages() as progress:
        checked = check_table(open_table(chosen.tables), settings, progress)
    if not chosen.as_json:
        print(check_text(check_summary(checked)), flush=True)
    engine = engine_of(chosen)
    labelled = None if chosen.labels is None else read_labelled(chosen.labels, checked)
    with stages() as progress:
        result = adapt_checked(checked, progress, labelled, every_candidate=chosen.candidates, engine=engine)
        progress("write", 0, 1)
        summary = summarise(result, chosen.arguments, shlex.join(["driftfit", *chosen.arguments]))
        save_run(result, summary, chosen.out, page=build_page, force=chosen.force)
        progress("write", 1, 1)
    show_warnings(result.warnings)
    if chosen.mlflow is not None:
        from driftfit.app.export import log_run

        log_run(chosen.out, chosen.mlflow)
    print(json.dumps(summary, indent=2, ensure_ascii=False) if chosen.as_json else _text(summary, chosen.out))
    return UNTRUSTED if chosen.fail_on == "untrusted" and not result.trusted else 0


def _remedies(found: dict[str, Any] | None) -> list[str]:
    """What was tried and what was not, and why."""
    if found is None:
        return []
    names = ("old model", found["best"])
    lines = [accuracy_line(f"measured, {name}", one) for name, one in zip(names, found["measured"], strict=False)]
    for one in found["tried"]:
        lines.append(f"remedy {one['name']}: score {one['score']:.3f}{_gain(one, found['in_points'])}")
    if found["tried"]:
        lines += [f"remedy {one['name']}: struck out; {one['reason']}" for one in found["struck"]]
    return lines + [f"remedy {one['name']}: could not run; {one['reason']}" for one in found["failed"]]


def _gain(one: dict[str, Any], in_points: bool) -> str:
    """What a remedy gains over the old model: in points of accuracy where these can be estimated."""
    if "gain" not in one:
        return ""
    if not in_points:
        return f", gain {one['gain']:+.3f} [{one['low']:+.3f}, {one['high']:+.3f}]"
    return f", gain {100 * one['gain']:+.1f} points [{100 * one['low']:+.1f}, {100 * one['high']:+.1f}]"


def _text(summary: dict[str, Any], out: Path) -> str:
    """What came out of adapting; the text of the check was printed before."""
    lines = _remedies(summary["remedies"])
    found = summary["remedies"]
    if found is not None and len(found["tried"]) > 1 and not found["in_points"]:
        lines.append(
            "scores and gains are in nats: they rank the remedies; a gain in accuracy cannot be estimated from them"
        )
    if summary["generated"]["how"] != "asked":
        lines.append(f"generated: {summary['generated']['sentence']}")
    # Where the old model is kept, what it is worth was printed with the check.
    if found is None or summary["kept"] == "adapted":
        lines.append(accuracy_line("adapted model", summary["accuracy"]["new"]))
    others = summary["ladder"]["others"] if summary["ladder"] is not None else []
    lines += [one["sentence"] for one in others]
    if found is not None and not found["measured"]:
        budget = max((one["labels"] for one in others), default=0) or 50
        lines.append(f"to know more, label some rows of today: driftfit label {out} --budget {budget} -o rows.csv")
    own = summary["config"]["in_use"]
    kept = f"the model in use, {own}, untouched" if own and summary["kept"] == "source" else f"{summary['kept']} model"
    lines.append(f"kept: {kept}; {summary['kept_reason']}")
    lines.append(f"report: {out / 'report.html'}")
    return "\n".join(printable(line) for block in lines for line in block.split("\n"))
