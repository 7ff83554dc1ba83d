"""The table of faults and of the time to recover, printed at the end."""

import pytest

_ROWS = []


@pytest.fixture
def recovery_rows():
    def add(fault, engine, seconds):
        _ROWS.append((fault, engine, seconds))

    return add


def pytest_terminal_summary(terminalreporter):
    if _ROWS:
        terminalreporter.write_line("")
        terminalreporter.write_line("| fault | engine | seconds to the end |")
        terminalreporter.write_line("|---|---|---|")
        for fault, engine, seconds in _ROWS:
            terminalreporter.write_line(f"| {fault} | {engine} | {seconds:.1f} |")
