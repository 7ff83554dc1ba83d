"""`driftfit check`: is the drift in this table gradual enough to adapt along? `driftfit adapt`, stopped early."""

from __future__ import annotations

import argparse
import json

from driftfit.cli.bars import stages
from driftfit.cli.check_text import check_text, show_warnings
from driftfit.cli.parsing import Fail, need_tables
from driftfit.cli.table_options import UNTRUSTED, declare_table, settings_of

__all__ = ["HELP", "declare", "run"]

HELP = """Say whether to adapt, to generate domains, to get labels, or to leave the model alone.

The rows are cut into windows by --order: the first has labels, the last is today. Reads the table and trains the model
as adapt does, prints what adapt prints first, and stops there; nothing is written."""


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    declare_table(parser)


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Check a table and print what was found."""
    need_tables("check")
    settings = settings_of(chosen, fail)
    from driftfit.app import check_summary, check_table, open_table

    with stages() as progress:
        checked = check_table(open_table(chosen.tables), settings, progress)
    show_warnings(checked.warnings)
    summary = check_summary(checked)
    print(json.dumps(summary, indent=2, ensure_ascii=False) if chosen.as_json else check_text(summary))
    return UNTRUSTED if chosen.fail_on == "untrusted" and not summary["trusted"] else 0
