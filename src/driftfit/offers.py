"""Words of the methods that can be asked for by name, read off the source: the command line lists them at once.

A module of `driftfit.methods` offers a method by ``offer("word", Method(...))`` in a line of its own. Folders that the
environment variable ``DRIFTFIT_METHODS`` names belong to `driftfit.methods` too.
"""

from __future__ import annotations

import ast
import os
from functools import lru_cache
from pathlib import Path

from driftfit.errors import InputError

# From a word to its module and to what the method does, in one line.
Found = dict[str, tuple[str, str]]


def folders() -> tuple[str, ...]:
    """Where modules with methods are: the package's own folder, then those of ``DRIFTFIT_METHODS``."""
    named = os.environ.get("DRIFTFIT_METHODS", "").split(os.pathsep)
    return str(Path(__file__).parent / "methods"), *(str(Path(name).resolve()) for name in named if name)


def found() -> Found:
    """Every word with its module and what the method does; nothing is imported.

    >>> found()["own-scale"]
    ('alignment', "Each window scaled by itself: every column that moved gets the source's mean and deviation.")
    """
    return _found(folders())


@lru_cache
def _found(places: tuple[str, ...]) -> Found:
    words: Found = {}
    for path in (path for place in places for path in sorted(Path(place).glob("*.py"))):
        try:
            text = path.read_text(encoding="utf-8")
            new = _offered(ast.parse(text)) if "\noffer(" in text else []
        except (OSError, ValueError, IndexError, SyntaxError) as error:
            raise InputError(f"{str(path)!r} offers no method that can be read: {error}") from None
        for word, about in new:
            if word in words:
                raise InputError(f"{str(path)!r} offers {word!r}, which {words[word][0]} offers already; rename one")
            words[word] = path.stem, about
    return words


def _offered(tree: ast.Module) -> list[tuple[str, str]]:
    """Words of a module, each with what it does: as the call says, or by the first line of the class."""
    classes = {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, ast.ClassDef)}
    words = []
    for node in tree.body:
        call = node.value if isinstance(node, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "offer"):
            continue
        texts = [ast.literal_eval(one.value) for one in call.keywords if one.arg == "about"]
        made = call.args[1].func if isinstance(call.args[1], ast.Call) else None
        own = classes.get(made.id, "") if isinstance(made, ast.Name) else ""
        words.append((ast.literal_eval(call.args[0]), texts[0] if texts else own.partition("\n")[0]))
    return words
