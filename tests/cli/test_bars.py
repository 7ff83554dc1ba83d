"""Progress for people who look and for files that nobody looks at."""

import io
import sys

from driftfit.cli.text import counted, stages


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal_for(monkeypatch):
    """A terminal in the place of stderr; put there by the test itself, since pytest changes stderr before each."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


def test_a_terminal_gets_bars(monkeypatch):
    terminal = terminal_for(monkeypatch)
    with stages() as progress:
        progress("read", 0, 1)
        progress("read", 1, 1)
        progress("[bold]adapt", 3, 10)
    shown = terminal.getvalue()
    assert "read" in shown
    assert "[bold]adapt" in shown
    assert "3/10" in shown


def test_lines_about_parts_are_text_not_markup(monkeypatch):
    terminal = terminal_for(monkeypatch)
    with counted(2) as advance:
        advance("[red]one[/red]")
        advance("[/]two")
    assert "[/]two" in terminal.getvalue()


def test_a_file_gets_a_line_for_each_finished_stage(capsys):
    with stages() as progress:
        progress("read", 0, 1)
        progress("read", 1, 1)
        progress("adapt", 5, 5)
        progress("adapt", 5, 5)
        progress("predict", 1, 2)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[:2] for line in lines] == [["read", "1/1"], ["adapt", "5/5"]]
    with counted(2) as advance:
        advance("one")
    assert capsys.readouterr().err == "[1/2] one\n"


def test_without_rich_a_terminal_gets_lines(monkeypatch):
    terminal = terminal_for(monkeypatch)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with stages() as progress:
        progress("read", 1, 1)
    assert terminal.getvalue().startswith("read       1/1 ")
