"""Real tables: the old model is kept where self-training hurts, and the remedy that fits is found."""

from dataclasses import replace

import pandas as pd
import pytest

from driftfit.app import Column, Limits, RowPosition, Settings, adapt_table, open_table, table_of
from driftfit.app.settings import History
from driftfit.domains import ByQuantile
from driftfit.methods import GradualSelfTraining


@pytest.mark.slow
@pytest.mark.parametrize("method", [None, GradualSelfTraining(freeze_encoder=True)])
def test_electricity_prices_keep_the_old_model(benchmark_data, method):
    path = benchmark_data / "elec2" / "elec.csv.gz"
    settings = Settings(
        label="target",
        order=RowPosition(),
        windows=ByQuantile(8),
        method=method,
        n_generated=1 if method is None else None,
        limits=Limits(3_000, 500),
        history=History.FIRST,
    )
    result = adapt_table(open_table([path]), settings)
    # Labels of the last window, which the run never looked at.
    rows = result.checked.prepared.windows[-1].rows
    truth = pd.read_csv(path)["target"].to_numpy()[rows]
    assert result.kept == "source"
    assert (result.predictions["prediction"].to_numpy() == truth).mean() > 0.7
    assert len(result.predictions) == len(rows) == 5_664


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "label", "order", "n_windows"),
    [
        ("elec2/elec.csv.gz", "target", RowPosition(), 8),
        ("tables/storms.parquet", "status", Column("year"), 5),
    ],
)
def test_without_labels_or_assumptions_the_old_model_stays(benchmark_data, name, label, order, n_windows):
    path = benchmark_data / name
    if not path.is_file():
        pytest.skip(f"{name} is not there")
    settings = Settings(
        label=label, order=order, windows=ByQuantile(n_windows), limits=Limits(3_000, 500), history=History.FIRST
    )
    result = adapt_table(open_table([path]), settings)
    rows = result.checked.prepared.windows[-1].rows
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    old = replace(result.predictor, model=result.source.estimator).predict_table(table_of(frame.iloc[rows]))
    assert result.choice.best == "source"
    assert result.kept == "source"
    assert old["prediction"].tolist() == result.predictions["prediction"].tolist()
