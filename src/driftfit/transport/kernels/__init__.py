"""Loops compiled by numba, imported only when a solve needs them.

What was compiled is kept beside the code, else in the user's cache folder, or where ``NUMBA_CACHE_DIR`` says.
"""

import atexit
import shutil
import tempfile
from typing import Any

from numba import config, njit
from numba.core import event

from driftfit.progress import tell

__all__ = ["UNCOUNTED"]

# For compiled functions that allocate nothing and are called often: numba counts the references to an array at every
# call and slice otherwise, which takes longer than a short loop does.
UNCOUNTED: dict[str, Any] = {"_nrt": False}


def _probe() -> None:
    """Never called; numba looks for a place to keep it."""


def _find_place() -> None:
    """Where numba can write nowhere, it refuses; what it compiles is then kept for as long as this process runs."""
    try:
        njit(cache=True)(_probe)
    except RuntimeError:
        folder = tempfile.mkdtemp(prefix="driftfit-")
        vars(config)["CACHE_DIR"] = folder
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


class _FirstTime(event.Listener):
    """Says once why the first call takes long."""

    told = False

    def on_start(self, event: Any) -> None:
        function = getattr(event.data["dispatcher"], "py_func", None)
        if not self.told and getattr(function, "__module__", "").startswith(__name__):
            self.told = True
            tell("compiling once, about 30 s; from then on it is loaded in a moment", at_once=True)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


_find_place()
event.register("numba:compile", _FirstTime())  # type: ignore[no-untyped-call]
