"""The README's example runs as it stands there."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def python_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_ten_lines_run_and_print_the_path(capsys):
    exec(compile(python_blocks()[0], str(README), "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 16
    assert printed[-1].startswith("3 1.0 ")


@pytest.mark.parametrize("block", python_blocks())
def test_every_block_is_valid_python(block):
    assert compile(block, str(README), "exec")
