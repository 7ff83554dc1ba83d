"""Doctests: modules that need a GPU's package are left out where it is missing."""

from importlib.util import find_spec
from pathlib import Path

_SOURCES = Path(__file__).parent.rglob("*.py")

collect_ignore = (
    []
    if find_spec("triton")
    else [str(path) for path in _SOURCES if "\nimport triton\n" in path.read_text(encoding="utf-8")]
)
