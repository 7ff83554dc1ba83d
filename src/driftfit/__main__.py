"""``python -m driftfit COMMAND ...``: the command line without an installed script."""

from driftfit.cli import main

main()
