# guide: docs/guide/embeddings.md
# Texts, as vectors of a foundation model in one Parquet column of lists.
driftfit check texts.parquet --label topic --order week
driftfit backtest texts.parquet --label topic --order week
driftfit adapt texts.parquet --label topic --order week -o run/
driftfit predict run/ texts.parquet -o predictions.parquet
