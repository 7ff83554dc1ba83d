"""What a long call tells, and where the loops that are compiled are kept."""

import logging
import os
import subprocess
import sys

import pytest

from driftfit import progress

CODE = """
import logging
logging.getLogger("driftfit").setLevel("INFO")
import numpy as np
from numba import config
from driftfit.transport.kernels.auction import sift_up
sift_up(np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2), 0)
print(config.CACHE_DIR)
"""


@pytest.fixture
def logger():
    found = logging.getLogger("driftfit")
    yield found
    found.setLevel(logging.NOTSET)


def told(capsys, *texts, **more):
    with progress.long_call():
        for text in texts:
            progress.tell(text, **more)
    return capsys.readouterr().err


def test_nothing_is_told_where_nobody_watches_or_the_call_is_short(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    assert told(capsys, "a") == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "_PATIENCE", 10.0)
    assert told(capsys, "a") == ""
    assert told(capsys, "a", at_once=True) == "driftfit: a\n"


def test_a_long_call_tells_a_line_every_few_seconds(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    assert told(capsys, "a", "b") == "driftfit: a\n"


def test_the_logger_is_the_switch(capsys, monkeypatch, logger):
    logger.setLevel(logging.INFO)
    assert told(capsys, "a", "b") == "driftfit: a\ndriftfit: b\n"
    logger.setLevel(logging.WARNING)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert told(capsys, "a", at_once=True) == ""


@pytest.mark.slow
def test_what_is_compiled_says_so_and_finds_a_place_where_there_is_none():
    # numba alone refuses to go on where it can keep nothing.
    env = {**os.environ, "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    env.pop("NUMBA_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("driftfit: compiling once, about 30 s")
    folder = done.stdout.strip()
    assert folder
    assert not os.path.exists(folder)
