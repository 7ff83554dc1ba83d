"""Optional packages: a missing one is named in one line, with the extra that brings it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from driftfit.errors import InputError

# Packages that are imported under another name than they are installed under.
_INSTALLED_AS = {"PIL": "Pillow", "yaml": "PyYAML"}


class MissingExtra(InputError, ImportError):  # noqa: N818, the name says it all
    """An optional package is not installed; the message names it and the command that installs it."""


def has(package: str) -> bool:
    """Whether a package can be imported; it is not imported to find out.

    >>> has("numpy"), has("no_such_package")
    (True, False)
    """
    return find_spec(package) is not None


def need(package: str, extra: str, what: str) -> None:
    """Raise one line that names the extra where a package is missing, to be called in front of its import.

    ``package``: the name it is imported under. ``extra``: the extra of driftfit that installs it. ``what``: what cannot
    be done without it, as the beginning of a sentence.

    >>> need("numpy", "tables", "reading tables")
    >>> need("no_such_package", "tables", "reading tables")
    Traceback (most recent call last):
        ...
    driftfit.extras.MissingExtra: reading tables needs no_such_package, which is not installed: \
pip install 'driftfit[tables]'
    """
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        # A package that is there but lacks a package of its own is another matter, and says so itself.
        if error.name != package.partition(".")[0]:
            raise
        name = _INSTALLED_AS.get(package, package)
        raise MissingExtra(f"{what} needs {name}, which is not installed: pip install 'driftfit[{extra}]'") from None
