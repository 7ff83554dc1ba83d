"""``python -m gradapt COMMAND ...``: the command line without an installed script."""

from gradapt.cli import main

main()
