"""Small data for whole runs: the real files where they are, made-up ones otherwise."""

import os
from pathlib import Path

import pytest

from driftfit.datasets import write_made_data


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    named = os.environ.get("DRIFTFIT_DATA")
    if named and (Path(named) / "mnist").is_dir():
        return Path(named)
    return write_made_data(tmp_path_factory.mktemp("made"), n_images=1_800, n_rows=20_000)


@pytest.fixture
def data(data_folder, monkeypatch):
    monkeypatch.setenv("DRIFTFIT_DATA", str(data_folder))
    monkeypatch.setenv("DRIFTFIT_OFFLINE", "1")
    return data_folder
