"""The command line: parse, call, print. The standard library alone; slow imports stay inside the commands."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from driftfit import __version__
from driftfit.cli import (
    adapt,
    backtest,
    check,
    datasets,
    demo,
    export,
    label,
    paper,
    predict,
    report,
    runs,
    sweep,
    update,
)
from driftfit.cli.text import printable
from driftfit.errors import InputError, SolverError, meant, one_line

__all__ = ["COMMANDS", "main", "run_command"]

COMMANDS = {
    "demo": demo,
    "check": check,
    "backtest": backtest,
    "adapt": adapt,
    "label": label,
    "update": update,
    "predict": predict,
    "report": report,
    "export": export,
    "paper": paper,
    "sweep": sweep,
    "runs": runs,
    "datasets": datasets,
}


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave; bad input is one line on stderr and exit code 1, an interrupt is 130."""
    try:
        sys.exit(run_command(sys.argv[1:] if arguments is None else arguments))
    except (InputError, SolverError) as error:
        _leave(str(error))
    except KeyboardInterrupt as interrupt:
        _leave(str(interrupt) or "interrupted", 130)
    except MemoryError:
        _leave("the memory is full; close other programs, give fewer rows or columns, or use a smaller --model")
    except BrokenPipeError:
        # Whoever read the output has seen enough; Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        # Nobody should meet a traceback; whoever looks for the cause can ask for it.
        if os.environ.get("DRIFTFIT_DEBUG"):
            raise
        text = " ".join(str(error).split())[:300]
        _leave(f"unexpected {type(error).__name__}: {text} (DRIFTFIT_DEBUG=1 shows where; please report it)")


def run_command(arguments: list[str]) -> int:
    """Parse the arguments and run the command; returns its exit code. Wrong usage leaves with code 2."""
    top, commands = _parsers(arguments[0] if arguments else "")
    if not arguments:
        top.print_help()
        return 2
    parser = commands.get(arguments[0])
    if parser is None:
        if not arguments[0].startswith("-"):
            near = meant(arguments[0], COMMANDS) or f"; there are {', '.join(COMMANDS)}"
            top.error(f"there is no command {one_line(arguments[0], 40)!r}{near}")
        top.parse_args(arguments)
        return 0
    parser.given = arguments[1:]
    # Options may stand between the names of tables.
    chosen = parser.parse_intermixed_args(arguments[1:])
    chosen.arguments = arguments

    def fail(text: str) -> NoReturn:
        try:
            parser.error(text)
        except SystemExit as leaving:
            raise _WrongUsage(leaving.code) from None

    try:
        code: int = COMMANDS[arguments[0]].run(chosen, fail)
    except _WrongUsage:
        raise
    except SystemExit as leaving:
        # A success that nobody reported would be taken for one.
        raise InputError(
            f"the program was ended from within, with code {leaving.code!r}, as by sys.exit() in a Python file that an "
            "option names; let it return a value or raise an error"
        ) from None
    return code


class _WrongUsage(SystemExit):
    """How a command leaves that was used wrongly."""


class _Parser(argparse.ArgumentParser):
    """Says which option was probably meant, where one is written that it has not."""

    given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        own = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", self.format_help()))
        strange = [word.partition("=")[0] for word in self.given if word.startswith("--")]
        hints = [f"{word}{near}" for word in strange if word not in own and (near := meant(word, sorted(own)))]
        super().error("; ".join([message, *(f"there is no {hint}" for hint in hints)]))


def _parsers(asked: str) -> tuple[argparse.ArgumentParser, dict[str, _Parser]]:
    """For all commands, and for each; only the one that is asked for gets its options."""
    top = argparse.ArgumentParser(
        prog="driftfit",
        description="Adapt a classifier to data that drift, without new labels.",
        epilog="With a table of your own: check, backtest, adapt, then predict; update when rows or labels "
        "arrive. Without one: demo. driftfit COMMAND --help explains a command.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"driftfit {__version__}")
    group = top.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    commands = {}
    for name, module in COMMANDS.items():
        title, _, rest = module.HELP.partition("\n\n")
        commands[name] = group.add_parser(name, help=title, description=f"{title} {rest}", allow_abbrev=False)
        if name == asked:
            module.declare(commands[name])
    return top, commands


def _leave(text: str, code: int = 1) -> NoReturn:
    print(f"driftfit: {printable(text)}", file=sys.stderr)
    sys.exit(code)
