"""Model files whose bytes repeat: the same model gives the same file, whenever and wherever it is written."""

from __future__ import annotations

import io
import json
from pathlib import PurePosixPath
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

__all__ = ["repeatable"]

_SCHEMA = "schema.json"


def repeatable(data: bytes) -> bytes:
    """A skops archive with numbers in place of memory addresses, and no dates.

    Parameters
    ----------
    data : bytes
        From ``skops.io.dumps``.
    """
    with ZipFile(io.BytesIO(data)) as archive:
        schema = json.loads(archive.read(_SCHEMA))
        files: dict[str, str] = {}
        _renumber(schema, {}, files)
        contents = {new: archive.read(old) for old, new in files.items()}
    contents[_SCHEMA] = json.dumps(schema, indent=2).encode()
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        for name, content in contents.items():
            # The date of a file says nothing about a model.
            archive.writestr(ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


def _renumber(node: Any, numbers: dict[int, int], files: dict[str, str]) -> None:
    """Number objects and files in the order in which the schema names them, in place."""
    if isinstance(node, list):
        for item in node:
            _renumber(item, numbers, files)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("__id__"), int):
        node["__id__"] = numbers.setdefault(node["__id__"], len(numbers))
    # Only a description of an object names a file; a parameter of this name is an object itself.
    if isinstance(node.get("file"), str) and "__loader__" in node:
        node["file"] = files.setdefault(node["file"], f"{len(files)}{PurePosixPath(node['file']).suffix}")
    for item in node.values():
        _renumber(item, numbers, files)
