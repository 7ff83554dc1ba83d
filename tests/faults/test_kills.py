"""Kills at random instants of every command, a few of them; ``python tests/faults/kills.py`` does many more."""

import importlib.util
import os
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("kills", Path(__file__).with_name("kills.py"))
kills = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(kills)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("word", kills.COMMANDS)
def test_a_kill_loses_nothing(word, tmp_path):
    assert kills.run([word], 2, tmp_path, full=False) == 0
