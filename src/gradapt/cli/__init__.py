"""The command line: parse, call, print. Slow imports stay inside the commands."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from gradapt import __version__
from gradapt.cli.adapt import adapt
from gradapt.cli.check import check
from gradapt.cli.datasets import datasets
from gradapt.cli.demo import demo
from gradapt.cli.export import export
from gradapt.cli.paper import paper
from gradapt.cli.predict import predict
from gradapt.cli.report import report
from gradapt.errors import InputError, SolverError

__all__ = ["app", "main"]

app = typer.Typer(
    name="gradapt",
    help="Adapt a classifier to a drifting world, step by step along the Wasserstein geodesic, without new labels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"gradapt {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


app.command()(demo)
app.command()(check)
app.command()(adapt)
app.command()(predict)
app.command()(report)
app.command()(export)
app.command()(paper)
app.command()(datasets)


def main() -> None:
    """Run the command line; bad input is one line on stderr and exit code 1, an interrupt is 130."""
    try:
        app()
    except (InputError, SolverError) as error:
        print(f"gradapt: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("gradapt: interrupted", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        # Nobody should meet a traceback; whoever looks for the cause can ask for it.
        if os.environ.get("GRADAPT_DEBUG"):
            raise
        text = " ".join(str(error).split())[:300]
        print(
            f"gradapt: unexpected {type(error).__name__}: {text} (GRADAPT_DEBUG=1 shows where; please report it)",
            file=sys.stderr,
        )
        sys.exit(1)
