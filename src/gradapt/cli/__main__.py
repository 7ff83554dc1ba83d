from gradapt.cli import main

main()
