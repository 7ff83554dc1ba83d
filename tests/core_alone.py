"""The core alone: what it weighs, how fast it loads, that it fits, and that it names the extra where one is missing.

`make core` runs this file in a fresh environment without any extra; `tests/test_install.py` runs
`check_library` in one where the extras are hidden.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from importlib.metadata import distributions
from pathlib import Path

LARGEST_IMPORT_SECONDS = 1.0


def check_library() -> None:
    """Load driftfit in time, fit its classifiers, and ask for what is not there."""
    start = time.perf_counter()
    import driftfit

    seconds = time.perf_counter() - start
    print(f"import_seconds {seconds:.3f}")
    expect(seconds < LARGEST_IMPORT_SECONDS, f"import driftfit took {seconds:.2f} s")

    warnings.simplefilter("error")
    import driftfit.selection
    import driftfit.theory
    from driftfit.datasets.toy import moving_gaussians
    from driftfit.transport import interpolate, transport

    X, y, step = moving_gaussians((0, 1, 2, 3), n_samples=100).as_samples()
    target = step == max(step)
    for method in ("GOAT", "GradualSelfTraining", "DirectSelfTraining", "CarriedLabels"):
        name = f"{method}Classifier"
        start = time.perf_counter()
        fitted = getattr(driftfit, name)().fit(X, y, sample_domain=step)
        print(f"{name} {(fitted.predict(X) == y)[target].mean():.3f}")
        print(f"{name}_seconds {time.perf_counter() - start:.3f}")
    # Unequal sizes and weights take other solvers than equal ones.
    x0, x1 = X[:100], X[100:190]
    plan = transport(x0, x1, weights1=y[100:190] + 0.5)
    expect(plan.certificate.gap < 1e-9, f"the plan has a gap of {plan.certificate.gap!r}")
    expect(interpolate(x0, x1, plan, position=0.5)[0].shape[1] == 2, "the interpolated samples have other features")
    try:
        print(driftfit.TorchClassifier)
        raise AssertionError("TorchClassifier is there without torch")
    except ImportError as error:
        expect("pip install 'driftfit[torch]'" in str(error), f"no extra is named: {error}")


def check_command() -> None:
    """`driftfit --help` answers, and `driftfit adapt` says in one line which extra it needs."""
    command = Path(sysconfig.get_path("scripts")) / "driftfit"
    shown = subprocess.run([command, "--help"], capture_output=True, text=True)
    expect(shown.returncode == 0 and "adapt" in shown.stdout, f"driftfit --help fails: {shown.stderr}")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        table.write_text("x,when,label\n" + "".join(f"{i % 7},{i},{i % 2}\n" for i in range(60)))
        done = subprocess.run(
            [command, "adapt", table, "--label", "label", "--order", "when", "-o", Path(folder) / "run"],
            capture_output=True,
            text=True,
        )
    print(f"driftfit_adapt {done.stderr.strip()}")
    expect(done.returncode != 0, "driftfit adapt needs no extra")
    expect("pip install 'driftfit[tables]'" in done.stderr, f"no extra is named: {done.stderr}")
    expect("Traceback" not in done.stderr, "driftfit adapt shows a traceback")


def weigh() -> None:
    """Number of packages and their size on disk, pip's own left out."""
    names = sorted({d.metadata["Name"].lower() for d in distributions()} - {"pip", "setuptools", "wheel"})
    print(f"packages {len(names)} ({', '.join(names)})")
    root = Path(sysconfig.get_path("purelib"))
    own = [path for path in root.iterdir() if not path.name.startswith(("pip", "setuptools", "wheel"))]
    files = [Path(folder) / file for path in own for folder, _, files in os.walk(path) for file in files]
    print(f"megabytes {sum(file.lstat().st_size for file in files) / 1e6:.0f}")


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SystemExit(f"the core alone does not do: {otherwise}")


if __name__ == "__main__":
    weigh()
    check_library()
    check_command()
    print("the core stands alone", file=sys.stderr)
