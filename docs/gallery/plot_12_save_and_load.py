"""
How do I store a model and use it later?
========================================

How do I store an adapted model and use it later? A run on a table is written as one folder: the kept model, its
predictions, every number and a model card. Another process loads the folder and predicts new rows. No pickle is
involved, and a changed file is refused.
"""

# %%
# A synthetic table: two measurements that drift from year to year, and a label that is known for the first year.
import tempfile
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from driftfit.app import Column, Settings, adapt_frame, load_run, save_run, summarise, table_of
from driftfit.datasets.toy import moving_gaussians

X, y, year = moving_gaussians((0, 0.5, 1.0, 1.5), n_samples=300, seed=0).as_samples()
table = pd.DataFrame(X, columns=["length", "width"]).assign(year=2021 + year, kind=np.where(y == 1, "big", "small"))
table.loc[table["year"] > 2021, "kind"] = None

# %%
# Adapt to the last year, write the folder, read it back.
result = adapt_frame(table, Settings(label="kind", order=Column("year"), n_generated=1))
with tempfile.TemporaryDirectory() as place:
    folder = save_run(result, summarise(result), Path(place) / "run")
    sizes = {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
    run = load_run(folder)
print(fill(result.decision.sentence, 72))
print(*(f"{name:22} {size:7,} bytes" for name, size in sizes.items()), sep="\n")

# %%
# New rows of the last year, predicted by the model in memory and by the one that was read back.
fresh = moving_gaussians((0, 0.5, 1.0, 1.5), n_samples=300, split="held_out", seed=0).target
rows = pd.DataFrame(fresh.samples, columns=["length", "width"])
kept = result.predictor.predict_table(table_of(rows))
loaded = run.predictor.predict_table(table_of(rows))
truth = np.where(fresh.labels == 1, "big", "small")
print("the two agree:", bool((kept["prediction"] == loaded["prediction"]).all()))
print(f"accuracy of the loaded model: {(loaded['prediction'] == truth).mean():.1%}")

# %%
# The predictions of the loaded model.
figure, axes = plt.subplots(figsize=(4.6, 3.6), layout="constrained")
for name, marker in (("small", "o"), ("big", "^")):
    said = rows[(loaded["prediction"] == name).to_numpy()]
    axes.scatter(said["length"], said["width"], s=18, marker=marker, label=f"said to be {name}")
axes.set(xlabel="length", ylabel="width")
axes.legend()
plt.show()
