from driftfit.cli import main

main()
