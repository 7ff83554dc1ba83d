"""``gradapt datasets``: the benchmarks and what of them is on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["datasets"]


def datasets(
    check: Annotated[bool, typer.Option("--check", help="Read the files and verify their sums.")] = False,
) -> None:
    """List the benchmark data sets, where their files lie, and what is missing."""
    from rich.console import Console
    from rich.table import Table

    from gradapt.datasets import DATASETS, file_states
    from gradapt.datasets.downloads import cache_folder, data_folder

    table = Table(title="Benchmark data sets")
    for column in ("data set", "file", "state", "where"):
        table.add_column(column, overflow="fold")
    for name, entry in DATASETS.items():
        for number, state in enumerate(file_states(name, check=check)):
            where = str(state.path) if state.path is not None else state.detail
            if state.state == "damaged":
                where = state.detail
            title = f"{name} ({entry.title})" if number == 0 else ""
            table.add_row(title, state.file.path, state.state, where)
    console = Console()
    console.print(table)
    folder = data_folder()
    console.print(f"GRADAPT_DATA: {folder if folder is not None else 'not set'}; cache: {cache_folder()}")
