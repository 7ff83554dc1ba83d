"""Files appear whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gradapt.errors import InputError

__all__ = ["atomic_path", "write_json"]


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """A temporary path beside ``target`` that replaces it when the block ends well."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot write {str(target)!r} ({error.strerror}); choose another folder") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(target: Path, content: Any) -> None:
    """Write plain data as indented JSON."""
    with atomic_path(target) as path:
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
