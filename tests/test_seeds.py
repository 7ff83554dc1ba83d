import subprocess
import sys

import numpy as np
import pytest

from driftfit.seeds import as_seed, derive_seed


def test_known_value_never_changes():
    # Results in the wild depend on these streams: a changed value would change them silently.
    code = "from driftfit.seeds import derive_seed; print(derive_seed(0, 'source'))"
    other_process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(other_process.stdout) == derive_seed(0, "source") == 1843734734


@pytest.mark.parametrize("other", [(12,), ("1", 2), (2, 1), (1, 2, 0), (1, 2.0)])
def test_names_are_told_apart(other):
    assert derive_seed(1, 2) != derive_seed(*other)


def test_as_seed_accepts_what_scikit_learn_accepts():
    assert as_seed(3) == 3
    assert as_seed(np.random.default_rng(0)) == as_seed(np.random.default_rng(0))
    assert as_seed(np.random.RandomState(0)) == as_seed(np.random.RandomState(0))
    assert as_seed(None) != as_seed(None)
