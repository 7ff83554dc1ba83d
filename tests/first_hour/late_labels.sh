# guide: docs/guide/table.md
# Loans: whether one failed is known three months later.
driftfit check loans.csv --label failed --order month
driftfit backtest loans.csv --label failed --order month
driftfit adapt loans.csv --label failed --order month -o run/
driftfit label run/ --budget 50 -o rows.csv
# fill in rows.csv
driftfit adapt loans.csv --label failed --order month --labels rows.csv -o again/
driftfit predict again/ loans.csv -o predictions.csv
