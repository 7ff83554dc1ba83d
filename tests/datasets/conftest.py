"""A folder of made-up data files, and nothing else in reach."""

import pytest

from driftfit.datasets import write_made_data


@pytest.fixture
def made_data(tmp_path, monkeypatch):
    folder = write_made_data(tmp_path / "data")
    monkeypatch.setenv("DRIFTFIT_DATA", str(folder))
    monkeypatch.setenv("DRIFTFIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DRIFTFIT_OFFLINE", "1")
    return folder
