"""Shared settings: reproducible hypothesis runs and a helper to find the benchmark data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "gradapt", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("gradapt")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of real benchmark files, where there is one."""
    folder = os.environ.get("GRADAPT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("GRADAPT_DATA names no folder with the benchmark files")
    return Path(folder)
