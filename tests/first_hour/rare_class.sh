# guide: docs/guide/table.md
# Payments: one in a hundred is fraud, and accuracy says nothing.
driftfit backtest payments.csv --label fraud --order day --metric average_precision
driftfit adapt payments.csv --label fraud --order day --metric average_precision --id payment -o run/
driftfit predict run/ payments.csv --id payment -o predictions.csv
