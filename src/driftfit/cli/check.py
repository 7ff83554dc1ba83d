"""`driftfit check`: is the drift in this table gradual enough to adapt along? `driftfit adapt`, stopped early."""

from __future__ import annotations

import argparse
import json

from driftfit.cli.parsing import Fail, need_tables
from driftfit.cli.table_options import UNTRUSTED, declare_table, settings_of
from driftfit.cli.text import accuracy_line, answer_text, check_text, declare_verbose, show_warnings, stages

HELP = """Say whether to adapt, to generate domains, to get labels, or to leave the model alone.

The rows are cut into windows by --order: rows with a label are history, rows without one are today's. Reads the table
and trains the model as adapt does, says what moved and what that means so far, and stops there; nothing is written."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    declare_table(parser)
    declare_verbose(parser)


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Check a table and print what was found."""
    need_tables("check")
    settings = settings_of(chosen, fail)
    from driftfit.app import check_summary, check_table, open_table
    from driftfit.app.answer import answer_ahead

    everything = chosen.as_json or chosen.verbose or chosen.fail_on == "untrusted"
    with stages() as progress:
        checked = check_table(open_table(chosen.tables), settings, progress, steps=everything)
    show_warnings(checked.warnings)
    if not everything:
        print(answer_text(answer_ahead(checked).to_dict()))
        return 0
    summary = check_summary(checked)
    if chosen.as_json:
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        print(answer_text(summary["answer"]))
        if chosen.verbose:
            print(f"\n{check_text(summary)}\n{accuracy_line('old model', summary['accuracy'])}")
    return UNTRUSTED if chosen.fail_on == "untrusted" and not summary["trusted"] else 0
