"""A real table on which adaptation hurts: the old model must be kept."""

import pandas as pd
import pytest

from gradapt.domains import ByQuantile
from gradapt.methods import GradualSelfTraining
from gradapt.tables import Limits, RowPosition, Settings, adapt_table, open_table


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
    )
    result = adapt_table(open_table([path]), settings)
    # Labels of the last window, which the run never looked at.
    rows = result.checked.prepared.windows[-1].rows
    truth = pd.read_csv(path)["target"].to_numpy()[rows]
    assert result.kept == "source"
    assert (result.predictions["prediction"].to_numpy() == truth).mean() > 0.7
    assert len(result.predictions) == len(rows) == 5_664
