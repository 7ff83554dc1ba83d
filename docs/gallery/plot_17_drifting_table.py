"""
What do I do with a table that drifts?
======================================

What do I do with a table that drifts? It has a column with the time of each row, and a label that is known for the
oldest rows. The drift is measured and diagnosed, remedies (ways to repair it) are compared without new labels, and one
model is kept.
"""

# %%
# A synthetic table of machines: two sensors that lose their calibration over the months, and a setting that does not
# change.
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from driftfit import DomainSequence
from driftfit.app import Column, Settings, adapt_frame
from driftfit.domains import ByQuantile
from driftfit.transport import measure_path

rng = np.random.default_rng(0)
n = 1500
day = np.sort(rng.integers(0, 360, n))
worn = rng.random(n) < 0.4
drift = day / 360
table = pd.DataFrame(
    {
        "day": day,
        "heat": rng.normal(60, 4, n) + 10 * worn + 25 * drift,
        "noise": (rng.normal(3, 0.5, n) + 1.2 * worn) * (1 + drift),
        "speed": rng.normal(1500, 80, n),
        "state": np.where(worn, "worn", "fine"),
    }
)
known = table.assign(state=table["state"].where(table["day"] < 90))

# %%
# The distance between neighbouring time windows, in standard deviations of the first window.
path = DomainSequence.from_table(known, label="state", order="day", windows=ByQuantile(5))
scale = path.source.samples.std(axis=0)
centres = np.array([(domain.samples.mean(axis=0) - path.source.samples.mean(axis=0)) / scale for domain in path])
steps = measure_path(DomainSequence(domain.with_samples(domain.samples / scale) for domain in path)).steps
print("distance of each window from the one before:", *(f"{step:.2f}" for step in steps))

# %%
# ``driftfit adapt`` on the command line does the same as this call, and also writes a report.
result = adapt_frame(known, Settings(label="state", order=Column("day")))
print("diagnosis:", result.checked.diagnosis.kind.value)
print(*(fill(f"- {reason}", 72) for reason in result.checked.diagnosis.reasons), sep="\n")
print(fill(result.decision.sentence, 72))
true = table["state"].to_numpy()[result.predictions["row"]]
print(f"accuracy in the last window: {np.mean(result.predictions['prediction'] == true):.1%}")

# %%
# How the mean of each column moves.
figure, axes = plt.subplots(figsize=(4.8, 3.5), layout="constrained")
for name, line, marker in zip(("heat", "noise", "speed"), centres.T, "os^", strict=True):
    axes.plot([domain.name for domain in path], line, marker + "-", label=name)
axes.set(xlabel="window of days", ylabel="move, in spreads of the first window")
axes.tick_params(axis="x", labelrotation=20)
axes.legend()
plt.show()
