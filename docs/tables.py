"""Tables of README and docs that come from records or code: ``python docs/tables.py`` writes, ``--check`` compares.

A page says where a table stands with a comment before it, ``<!-- table: NAME -->``, and one after it, ``<!-- end -->``.
Below there is a function of that name (``_`` for ``-``) that yields its rows, each a dict of column and text.
`results.md` and the pages in `results` are made whole, by `results_page.py`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import results_page

from driftfit.methods import offered

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
# What a table shows where there is no number.
MISSING = "–"
# Its last rows were selected by their label: the records still have it, the pages do not.
ARTEFACT = "recidivism"

Rows = Iterator[dict[str, str]]
_TABLE = re.compile(r"<!-- table: ([\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def record(name: str) -> Any:
    """A file of `results/`: a list of rows as a frame, nested values as columns ``a.b``."""
    content = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return pd.json_normalize(content) if isinstance(content, list) else content


def rows_of(name: str, part: str = "rows") -> pd.DataFrame:
    """The rows that a record holds under a key."""
    return pd.json_normalize(record(name)[part])


def paper_table(name: str) -> pd.DataFrame:
    """The places of a table of the paper, with the mean of each measure."""
    return pd.DataFrame([{**row, **row["means"]} for row in record(f"{name}.json")["table"]])


def markdown(rows: Rows) -> str:
    """The table; a cell whose number is missing is a dash."""
    listed = list(rows)
    lines = [list(listed[0]), *([MISSING if "nan" in cell else cell for cell in row.values()] for row in listed)]
    shown = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([shown[0], "|---" * len(listed[0]) + "|", *shown[1:]])


def copied(name: str, number: int) -> str:
    """A table of a Markdown file of `results/`, counted from 0."""
    return re.findall(r"(?:^\|.*\n)+", (RESULTS / name).read_text(encoding="utf-8"), re.MULTILINE)[number].strip("\n")


def history() -> Rows:
    rows = rows_of("history.json")
    names = {"tuning": "16 on which constants were fixed", "held-out": "16 that were held back"}
    for _, own in rows[rows.tables != "all"].sort_values(["tables", "late"], kind="stable").iterrows():
        yield {
            "tables": names[own.tables],
            "labels": f"{own.late} windows late" if own.late else "in time",
            "model": str(own.model),
            "gain over all labels": f"{own.gain:+.1f}",
            "best": f"{own.best:+.1f}",
            "over the first window's model": f"{own['over the first window']:+.1f}",
            "more than 1 lost": f"{100 * own['lost > 1']:.0f} %",
            "more than 3 lost": f"{100 * own['lost > 3']:.0f} %",
            "intervals": f"{100 * own['intervals that hold']:.0f} %",
        }


def history_short() -> Rows:
    yield from (row for row in history() if row.pop("model") == "all models")


def ranking() -> Rows:
    for data, own in rows_of("ranking.json").groupby("data", sort=False):
        mean = own.mean(numeric_only=True)
        yield {
            "data": str(data),
            "source": f"{mean.source:.1f}",
            "chosen: `I`, all columns": f"{mean.information:.1f}",
            "chosen: `I`, measured columns": f"{mean['information, measured']:.1f}",
            "chosen: the rule": f"{mean.rule:.1f}",
            "best of 17": f"{mean.best:.1f}",
            "largest regret of the rule": f"{(own.best - own.rule).max():.1f}",
            "rank correlation: `I`, all columns": f"{mean['information: rank correlation']:.2f}",
            "`I`, measured columns": f"{mean['information, measured: rank correlation']:.2f}",
            "the rule": f"{mean['rule: rank correlation']:.2f}",
        }


def structure() -> Rows:
    for _, row in rows_of("structure.json").iterrows():
        yield {
            "clouds": row.kind,
            "n": f"{row.n:,}",
            "ours, s": f"{row.seconds:.2f}",
            "POT, s": f"{row.peer_seconds:.2f}",
            "our loss / POT's": f"{row.loss / row.peer_loss:.3f}",
        }


def frontier() -> str:
    return copied("frontier-reference.md", 1)


def frontier_means() -> Rows:
    data = paper_table("frontier-reference")
    best = {
        "Rotated MNIST": ("rotated-mnist", "structure", "structure"),
        "Color-Shift MNIST": ("color-mnist", "covi", "CoVi"),
        "Portraits": ("portraits", "covi", "CoVi"),
        "Cover Type": ("covtype", "taught", "linear teacher"),
    }
    for title, (benchmark, key, words) in best.items():
        own = data[(data.benchmark == benchmark) & (data.n_given > 0) & (data.column == "source only")]
        mean = {name: own[f"heldout_{name}"].mean() for name in ("chosen", key, "gst", "goat", "covi", "deep-coral")}
        yield {
            "": title,
            "chosen": f"{mean['chosen']:.1f}",
            "best single candidate": f"{mean[key]:.1f} ({words})",
            "GST": f"{mean['gst']:.1f}",
            "GOAT": f"{mean['goat']:.1f}",
            "CoVi": f"{mean['covi']:.1f}",
            "Deep CORAL": f"{mean['deep-coral']:.1f}",
        }


def rules() -> Rows:
    for _, row in rows_of("number_of_domains.json", "rules").iterrows():
        yield {"rule": row.rule} | {
            f"{part}: mean (worst case)": f"{row[part]:.2f} ({row[f'{part}, worst']:.1f})"
            for part in ("design", "evaluation")
        }


def cases() -> Rows:
    rows = rows_of("number_of_domains.json")
    regrets = {
        "rule": "carried and consensus labels, 90 % (the rule)",
        "always 4": "always 4",
        "consensus, agreement": "consensus, agreement, 50 %",
    }
    for _, row in rows[rows.part == "evaluation"].iterrows():
        accuracies = {str(number): f"{row[f'accuracy.{number}']:.1f}" for number in range(5)}
        lost = {title: f"{row[f'regret.{name}']:.1f}" for title, name in regrets.items()}
        yield {"data": row.data, "classifier": row.classifier} | accuracies | lost


def skada() -> Rows:
    for _, row in rows_of("skada.json").iterrows():
        yield {
            "data": row.data,
            "classifier": row.base,
            "skada": f"{row['seconds.skada']:.2f} s",
            "driftfit": f"{row['seconds.driftfit']:.2f} s",
            "faster": f"{row.faster:.1f}x",
            "skada's accuracy": f"{100 * row['accuracy.skada']:.1f} %",
            "ours": f"{100 * row['accuracy.driftfit']:.1f} %",
        }


def own_tables() -> Rows:
    for _, row in rows_of("own_tables.json").iterrows():
        yield {
            "table": row.table,
            "source only": f"{row.source:.1f} %",
            "GST": f"{row['self-training']:.1f} %",
            "GOAT": f"{row.GOAT:.1f} % ({row.generated} generated)",
            "GOAT, 8 generated": f"{row['GOAT, 8 generated']:.1f} %",
            "check": row.advice,
            "gate kept": f"{row['gate kept']}: {row.gate:.1f} %",
            "auto": f"{row['auto chose']}: {row.auto:.1f} %",
            "GOAT's processor time": f"{row['processor seconds of GOAT']:.0f} s",
        }


def worlds() -> Rows:
    for _, row in rows_of("drift_worlds.json").iterrows():
        right = f"{row.right} of {row.of}"
        yield {"drift": row.drift, "windows": str(row.windows), "right": right, "diagnosis": row.called}


def few_labels() -> Rows:
    rows = rows_of("few_labels.json")
    for table, own in rows[rows.table != ARTEFACT].groupby("table", sort=False):
        mean = own.mean(numeric_only=True)
        yield {
            "table": str(table),
            "regret of 50 chosen": f"{mean.regret:.2f}",
            "of 50 random": f"{mean['regret of random']:.2f}",
            "best found by chosen": f"{mean.found:.0f} %",
            "by random": f"{mean['found by random']:.0f} %",
        }


def large_table() -> Rows:
    for _, row in record("large_table.json").iterrows():
        yield {
            "rows": f"{row.rows:,}",
            "jobs": str(row.jobs),
            "load before": str(row.load_average_before),
            "Parquet": f"{row.gib_of_parquet:.2f} GiB",
            "`driftfit adapt`, end to end": f"{row.adapt_seconds:.0f} s",
            "rows per second": f"{row.adapt_rows_per_second:,}",
            "its peak memory": f"{row.adapt_peak_gib:.2f} GiB",
            "`driftfit predict`, every row": f"{row.predict_seconds:.0f} s",
            "DuckDB sums every column": f"{row.duckdb_read_seconds:.1f} s",
            "DuckDB finds the quantiles": f"{row.duckdb_quantiles_seconds:.1f} s",
        }


def million_rows() -> Rows:
    for _, row in record("large_table_million.json").iterrows():
        yield {
            "table": f"{row.rows:,} x {row['columns']} ({row.gib_of_parquet:.2f} GiB of Parquet)",
            "adapt": f"{row.adapt_seconds:.0f} s",
            "predict every row": f"{row.predict_seconds:.0f} s",
            "peak memory of adapt": f"{row.adapt_peak_gib:.2f} GiB",
            "load before": f"{row.load_average_before:.1f}",
        }


def engines() -> Rows:
    for name, own in record("launchers.json")["engines"].items():
        yield {
            "engine": name,
            "records as in a serial run": "yes" if own["identical_records"] else "no",
            "overhead of a cell": f"{own['overhead_ms_per_cell']:.1f} ms",
            "start": f"{own['start_seconds']:.2f} s",
            "200 cells": f"{own['wall_seconds']:.1f} s",
            "speed-up, start included": f"{own['speed_up']:.2f}",
            "once started": f"{own['speed_up_once_started']:.2f}",
        }


def _on_gpus(part: str) -> Rows:
    for row in record("scale.json")["runs"][part]:
        yield {
            "GPUs": str(row["gpus"]),
            "cells": f"{row['cells']:,}",
            "wall time": f"{row['wall_seconds'] / 60:.1f} min",
            "GPUs busy": f"{100 * row['gpu_busy_share']:.0f} %",
            "driver busy": f"{100 * row['driver_busy_share']:.0f} %",
        }


def paper_on_gpus() -> Rows:
    return _on_gpus("paper")


def sweep_on_gpus() -> Rows:
    return _on_gpus("sweep")


def _range(values: list[float], form: str) -> str:
    return f"{min(values):{form}} - {max(values):{form}}"


def exact_cpu() -> Rows:
    for row in record("transport.json")["cpu"]["rows"]:
        ours, pot = row["ours"], row["pot"]
        yield {
            "n": f"{row['n']:,}",
            "driftfit": f"{ours['seconds']:.2g} s",
            "with certificate": f"{ours['with certificate']:.2g} s",
            "`ot.emd`": f"{pot['seconds']:.2g} s",
            "ratio": f"{row['speed-up']:.1f}",
            "driftfit's peak": f"{ours['peak']:.2f} GiB",
            "`ot.emd`'s peak": f"{pot['peak']:.2f} GiB",
            "proven gap": f"{ours['gap']:.0e}",
        }


def transport_levels() -> Rows:
    before = record("transport_corpus.json").set_index(["kind", "size"])
    for _, row in record("transport_levels.json").iterrows():
        yield {
            "kind": row.kind,
            "sizes": f"{row.n:,} x {row.m:,}",
            "ratio by the clock": f"{row.ratio:.1f}",
            "of processor time": f"{row['processor ratio']:.1f}",
            "in the table above": f"{before.loc[(row.kind, row['size'])].ratio:.1f}",
        }


def transport_unseen() -> Rows:
    for _, row in rows_of("transport_unseen.json").iterrows():
        yield {
            "kind": row.kind,
            "sizes": f"{row.n:,} x {row.m:,}",
            "ratio by the clock": f"{row.ratio:.1f}",
            "of processor time": f"{row['processor ratio']:.1f}",
        }


def transport_sizes() -> Rows:
    for row in record("transport_sizes.json")["rows"]:
        seconds = row["seconds"]
        names = ("driftfit", "driftfit, in batches", "ot.emd", "SciPy")
        times = {name: f"{seconds[name]:.2g} s" if name in seconds else MISSING for name in names}
        yield {"features": str(row["d"]), "n": f"{row['n']:,}"} | times


def exact_kinds() -> Rows:
    rows = record("transport_corpus.json")
    for _, row in rows[rows["size"] == 10_000].iterrows():
        yield {
            "kind": row.kind,
            "sizes": f"{row.n:,} x {row.m:,}",
            "with certificate, s": f"{row.ours:.2f}",
            "`ot.emd2` with costs, s": f"{row.emd2:.2f}",
            "ratio": f"{row.ratio:.1f}",
            "our peak, GiB": f"{row['GiB ours']:.2f}",
            "`ot.emd2`'s peak, GiB": f"{row['GiB emd2']:.2f}",
        }


def solvers() -> Rows:
    for _, row in rows_of("transport_peers.json").iterrows():
        yield {
            "solver": row.solver,
            "n": f"{row.n:,}",
            "time": f"{row.seconds:.2f} s",
            "memory": f"{row.GiB:.2f} GiB",
            "cost / optimum": f"{row['cost / optimum']:.3f}",
            "times ours": f"{row['times ours']:.1f}",
        }


def exact_large() -> Rows:
    for _, row in rows_of("transport.json", "large").iterrows():
        yield {
            "n": f"{row.n:,}",
            "d": str(row.d),
            "time": f"{row.seconds:.0f} s",
            "with certificate": f"{row['with certificate']:.0f} s",
            "peak memory": f"{row.peak:.2f} GiB",
            "proven gap": f"{row.gap:.0e}",
        }


def exact_gpu() -> Rows:
    for _, row in rows_of("transport.json", "gpu").iterrows():
        costs = row["emd's costs"]
        yield {
            "n": f"{row.n:,}",
            "time with costs": f"{row.seconds:.2f} s",
            "with certificate": f"{row['with certificate']:.2f} s",
            "proven gap": f"{row.gap:.0e}",
            "GPU memory": f"{row['gpu memory']:.1f} GiB",
            "`ot.emd` on the same machine": f"{row['emd alone']:.1f} s",
            "its costs": f"{costs:.1f} s",
            "ratio": f"**{row['speed-up over emd alone']:.0f}**",
            "with its costs": f"{row['speed-up with both costs']:.0f}",
            "with our certificate too": f"{row['speed-up with certificate']:.0f}",
        }


def exact_gpu_unequal() -> Rows:
    for _, row in rows_of("transport.json", "gpu unequal").iterrows():
        yield {
            "sizes": f"{row.n:,} x {row.m:,}",
            "time with costs": f"{row.seconds:.1f} s",
            "with certificate": f"{row['with certificate']:.1f} s",
            "proven gap": f"{row.gap:.0e}",
        }


def million() -> Rows:
    data = record("transport.json")
    cpu, gpu = data["million"], data["gpu million"]
    yield {
        "where": "two cores, `Hierarchical()`",
        "time": f"{cpu['seconds']:.0f} s",
        "with certificate": MISSING,
        "peak memory": f"{cpu['peak']:.1f} GiB",
        "cost": f"{cpu['cost']:.2f}",
        "proven bound": "moments only",
        "proven gap": MISSING,
    }
    yield {
        "where": "H200, `Hierarchical(gap=0.01)`",
        "time": f"{gpu['seconds']:.0f} s",
        "with certificate": f"{gpu['with certificate']:.0f} s",
        "peak memory": f"{gpu['gpu memory']:.1f} GiB of the GPU, {gpu['peak']:.1f} GiB of the host",
        "cost": f"{gpu['cost']:.2f}",
        "proven bound": f"{gpu['certified bound']:.2f}",
        "proven gap": f"{100 * gpu['gap']:.2f} %",
    }


def refined() -> Rows:
    for _, row in rows_of("transport.json", "refined").iterrows():
        yield {
            "n": f"{row.n:,}",
            "gap asked for": f"{100 * row['gap asked']:.0f} %",
            "time": f"{row.seconds:.0f} s",
            "with certificate": f"{row['with certificate']:.0f} s",
            "proven gap": f"{100 * row.gap:.2f} %",
            "cost": f"{row.cost:.3f}",
            "peak memory": f"{row.peak:.2f} GiB",
        }


def features() -> Rows:
    own = record("transport.json")["conv"]
    yield {
        "one float32 product of that size": f"{own['product']:.1f} s ({own['product inside']:.1f} s inside the solve)",
        "whole solve, costs included": f"{own['whole']:.1f} s",
        "whole / product": f"{own['whole / product']:.2f} ({own['whole / product inside']:.2f})",
        "solve after the costs": f"{own['solve after costs']:.1f} s",
        "`ot.emd` after the costs": f"{own['emd after costs']:.1f} s",
        "ratio": f"**{own['speed-up after costs']:.0f}**",
        "proven gap": f"{own['gap']:.0e}",
    }


def _harm(name: str = "harm.json") -> pd.DataFrame:
    """Lines of the record of harm, with the word that was declared; shares as they are, gains in points."""
    rows = rows_of(name)
    own = rows.arm.str.partition(":")[2]
    described = {name: world.declared or "" for name, world in _worlds().items()}
    return rows.assign(
        kind=rows.arm.str.partition(":")[0], word=own.where(own != "declared", rows.table.map(described))
    )


def _worlds() -> dict[str, Any]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from worlds import WORLDS

    return dict(WORLDS)


def _mean(rows: pd.DataFrame, name: str, weights: str = "runs") -> float:
    """Mean over runs; lines without the number count nothing."""
    known = rows[rows[name].notna() & (rows[weights] > 0)]
    return float((known[name] * known[weights]).sum() / known[weights].sum()) if len(known) else float("nan")


def _percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}"


def harm_default() -> Rows:
    rows = _harm()
    worlds = _worlds()
    grouped = rows.table.map(lambda name: worlds[name].group is not None or name == "nothing-autoregressive")
    still = rows.table.map(lambda name: worlds[name].still)
    kinds = {
        "nothing moves, rows independent": still & ~grouped,
        "nothing moves, rows hang together": still & grouped,
        "something moves": ~still,
    }
    for what, chosen in kinds.items():
        for arm, words in (("frame", "`adapt`"), ("auto", "`AutoAdaptedClassifier`")):
            own = rows[chosen & (rows.arm == arm)]
            if own.empty:
                continue
            yield {
                "worlds": what,
                "": words,
                "runs": str(own.runs.sum()),
                "failed": str(own.failed.sum()),
                "as the plain model, bit for bit": _percent(_mean(own, "as the reference")),
                "more than 1 point lost": _percent(_mean(own, "lost a point")),
                "said that something moved": _percent(_mean(own, "said moved")),
            }


def _of_the_possible(own: pd.DataFrame) -> float:
    """Share of the possible gain, over lines in which there is more than a point to gain."""
    own = own[own.possible > 0.01]
    return _mean(own, "mean gain") / _mean(own, "possible") if len(own) else float("nan")


def harm_declared() -> Rows:
    rows = _harm()
    rows = rows[(rows.kind == "frame") & (rows.word != "")]
    states = {"true": ("holds",), "wrong, refutable": ("refutable",), "wrong, fits the rows": ("wrong",)}
    for word in rows.word.unique():
        for what, names in states.items():
            own = rows[(rows.word == word) & rows.truth.isin(names) & ~rows.still.astype(bool)]
            if len(own):
                yield {
                    "declared": f"`{word}`",
                    "it is": what,
                    "worlds": str(len(own)),
                    "runs": str(own.runs.sum()),
                    "refused": _percent(_mean(own, "refused")),
                    "more than 1 lost": _percent(_mean(own, "lost a point")),
                    "mean gain": _points(_mean(own, "mean gain")),
                    "worst": _points(float(own.worst.min())),
                }


def harm_worlds() -> Rows:
    rows, worlds = _harm(), _worlds()
    for name, world in worlds.items():
        own = rows[(rows.table == name) & (rows.arm == f"frame:{world.declared}")]
        if world.declared and len(own):
            share = _of_the_possible(own)
            yield {
                "world": world.about,
                "declared": f"`{world.declared}`",
                "runs": str(own.runs.sum()),
                "plain model": f"{100 * _mean(own, 'reference'):.1f}",
                "possible": _points(_mean(own, "possible")),
                "gained": _points(_mean(own, "mean gain")),
                "of the possible": MISSING if share != share else _percent(share),
                "more than 1 lost": _percent(_mean(own, "lost a point")),
            }


def harm_intervals() -> Rows:
    rows = _harm()
    rows = rows[rows.word != ""].assign(sure=lambda own: own.runs * own.reliable)
    still = rows.still.astype(bool)
    kinds = {
        "nothing moves": still,
        "the declared assumption holds": ~still & (rows.truth == "holds"),
        "it is wrong, and refutable": ~still & (rows.truth == "refutable"),
        "it is wrong, and fits the rows": ~still & (rows.truth == "wrong"),
    }
    for what, chosen in kinds.items():
        own = rows[chosen]
        yield {
            "worlds": what,
            "runs": str(own.runs.sum()),
            "called reliable": _percent(_mean(own, "reliable")),
            "of these the interval holds": _percent(_mean(own, "coverage", "sure")),
        }


def harm_tables() -> Rows:
    rows = _harm("harm_tables.json")
    rows = rows.assign(sure=rows.runs * rows.reliable)
    for word in rows[rows.kind == "frame"].word.unique():
        own = rows[(rows.kind == "frame") & (rows.word == word)]
        yield {
            "declared": f"`{word}`" if word else "nothing",
            "tables": str(own.table.nunique()),
            "runs": str(own.runs.sum()),
            "failed": str(own.failed.sum()),
            "refused": _percent(_mean(own, "refused")) if word else MISSING,
            "more than 1 lost": _percent(_mean(own, "lost a point")),
            "mean loss": f"{100 * _mean(own, 'mean loss'):.1f}",
            "mean gain": _points(_mean(own, "mean gain")),
            "worst": _points(float(own.worst.min())),
            "called reliable": _percent(_mean(own, "reliable")),
            "of these the interval holds": _percent(_mean(own, "coverage", "sure")),
        }


def twins() -> Rows:
    rows = _harm()
    for name, words in (("prices-as-they-are", "labels by the amount"), ("prices-relative", "labels by the rank")):
        own = rows[rows.table == name].set_index("arm")
        yield {
            "world": words,
            "plain model": f"{100 * own.reference['frame']:.1f}",
            **{
                f"`--assume {word}`": f"{100 * (own.reference[arm] + own['mean gain'][arm]):.1f}"
                for word in ("covariates", "scale")
                if (arm := f"frame:{word}") in own.index
            },
            "runs": str(own.runs["frame"]),
        }


def verdicts() -> Rows:
    rows = rows_of("trust-verdicts.json")
    for (model, path, advice), own in rows.groupby(["model", "path", "right advice"], sort=False):
        given = ", ".join(f"{one} {count}" for one, count in own.advice.value_counts().items())
        right = f"{own.right.sum()} of {len(own)}"
        yield {"path": path, "model": model, "right": advice, "advice given": given, "right in": right}


def plans() -> Rows:
    for row in record("vae.json")["runs"][0]["plans"]:
        same = f"{row['same_image_percent']:.2f} %"
        yield {"plan": row["plan"], "same class": f"{row['same_class_percent']:.1f} %", "same image": same}


def images() -> Rows:
    for row in record("vae.json")["runs"][0]["rows"]:
        if row["position"] in (0.4, 0.6):
            yield {
                "images": row["images"],
                "angle": f"{row['true_angle']:.0f}",
                "nearest": f"{row['nearest']:.2f}",
                "own": MISSING if row["own"] is None else f"{row['own']:.2f}",
                "angle error": f"{row['angle_error']:.1f}",
                "held-out classifier: accuracy": f"{row['classifier_accuracy']:.1f} %",
                "its confidence": f"{row['classifier_confidence']:.0f} %",
            }


def methods() -> Rows:
    for word, one in offered().items():
        places = [place for place, used in (("labels of today", one.labels), ("backtests", one.history)) if used]
        yield {
            "word": f"`{word}`",
            "class": f"`{type(one.method).__name__}`",
            "what it does": one.about,
            "assumes": ", ".join(sorted(one.method.assumes)) or MISSING,
            "compared": ", ".join(places) or MISSING,
        }


def pages() -> list[Path]:
    """README and the pages that are written by hand."""
    docs, made = ROOT / "docs", {"api", "auto_examples", "_build", "results.md", "results"}
    found = (path for path in docs.rglob("*.md") if not made & set(path.relative_to(docs).parts))
    return [ROOT / "README.md", *sorted(found)]


def refreshed(text: str) -> str:
    """The text of a page with its tables as the records have them now."""
    return _TABLE.sub(lambda found: f"<!-- table: {found[1]} -->\n{_made(found[1])}\n<!-- end -->", text)


def _made(name: str) -> str:
    rows = globals()[name.replace("-", "_")]()
    return rows if isinstance(rows, str) else markdown(rows)


def main(check: bool) -> int:
    """Write what has changed, or name it."""
    changed = results_page.write(ROOT, check)
    for page in pages():
        old = page.read_text(encoding="utf-8")
        if (new := refreshed(old)) != old:
            changed.append(page)
            if not check:
                page.write_text(new, encoding="utf-8")
    verb = "differs from its record" if check else "written"
    print("\n".join(f"{verb}: {path.relative_to(ROOT)}" for path in changed) or "every table is as its record says")
    return int(check and bool(changed))


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
