"""Loops compiled by numba, imported only when a solve needs them."""

from typing import Any

__all__ = ["UNCOUNTED"]

# For compiled functions that allocate nothing and are called often: numba counts the references to an array at every
# call and slice otherwise, which takes longer than a short loop does.
UNCOUNTED: dict[str, Any] = {"_nrt": False}
