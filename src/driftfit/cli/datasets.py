"""``driftfit datasets``: the benchmarks and what of them is on this machine."""

from __future__ import annotations

import argparse

from driftfit.cli.parsing import Fail
from driftfit.cli.text import text_table

HELP = "List the benchmark data sets, where their files lie, and what is missing."


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--check", action="store_true", help="read the files and verify their checksums")


def run(chosen: argparse.Namespace, fail: Fail) -> int:
    """Look and print."""
    from driftfit.datasets import DATASETS, file_states
    from driftfit.datasets.common import cache_folder, data_folder

    rows = []
    for name, entry in DATASETS.items():
        for number, state in enumerate(file_states(name, check=chosen.check)):
            # The folder that the name of the file is relative to.
            where = state.detail if state.path is None else str(state.path).removesuffix(f"/{state.file.path}")
            if state.state == "damaged":
                where = state.detail
            title = f"{name} ({entry.title})" if number == 0 else ""
            rows.append([title, state.file.path, state.state, where])
    print(text_table(["data set", "file", "state", "where"], rows, words=(0, 1, 2, 3)))
    folder = data_folder()
    print(f"DRIFTFIT_DATA: {folder if folder is not None else 'not set'}; cache: {cache_folder()}")
    return 0
