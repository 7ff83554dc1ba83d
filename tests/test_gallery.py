"""Scripts of the gallery run without a warning. What they import is checked by `docs/check_pages.py`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[1] / "docs" / "gallery"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plot_02_geodesic", "plot_03_certificates", "plot_06_label_shift"])
def test_a_quick_script_runs_without_a_warning(name, tmp_path):
    settings = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "DRIFTFIT_DATA")}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(GALLERY / f"{name}.py")],
        env={**settings, "MPLBACKEND": "Agg"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout
    assert list(tmp_path.iterdir()) == []
