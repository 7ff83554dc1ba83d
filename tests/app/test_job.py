"""From a table to a folder, in Python."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from driftfit.app import (
    Column,
    FilePosition,
    History,
    Keep,
    Limits,
    RowPosition,
    Settings,
    adapt_frame,
    adapt_table,
    from_skada,
    load_run,
    open_table,
    save_run,
    summarise,
)
from driftfit.datasets.toy import moving_gaussians
from driftfit.domains import ByQuantile, ByValue
from driftfit.errors import InputError
from driftfit.methods import Adaptation, DirectSelfTraining, GradualSelfTraining, Method, SourceOnly
from driftfit.selection import ChosenGOAT

SETTINGS = Settings(label="kind", order=Column("year"), windows=ByValue(), n_generated=1, history=History.FIRST)


def gaussians(n=80, shifts=(0, 0.6, 1.2)):
    path = moving_gaussians(shifts)
    parts = [
        pd.DataFrame(domain.samples[:n], columns=["u", "v"]).assign(kind=domain.labels[:n], year=2000 + number)
        for number, domain in enumerate(path)
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def result():
    return adapt_frame(gaussians(), SETTINGS)


def test_a_gradual_shift_is_followed(result):
    frame = gaussians()
    truth = frame.loc[result.predictions["row"], "kind"].to_numpy()
    assert result.kept == "adapted"
    assert result.trusted
    assert (result.predictions["prediction"] == truth).mean() > 0.95
    written = ["row", "prediction", "predicted_probability", "imputed_columns", "probability 0", "probability 1"]
    assert list(result.predictions.columns) == written
    np.testing.assert_allclose(result.predictions[written[-2:]].sum(axis=1), 1.0)


def test_labels_after_the_first_window_change_nothing(result):
    frame = gaussians()
    frame.loc[frame.year > 2000, "kind"] = 1 - frame.loc[frame.year > 2000, "kind"]
    poisoned = adapt_frame(frame, SETTINGS)
    pd.testing.assert_frame_equal(poisoned.predictions, result.predictions)
    frame["kind"] = frame["kind"].where(frame.year == 2000)
    pd.testing.assert_frame_equal(adapt_frame(frame, SETTINGS).predictions, result.predictions)


def test_polars_frames_are_welcome(result):
    pd.testing.assert_frame_equal(adapt_frame(pl.from_pandas(gaussians()), SETTINGS).predictions, result.predictions)


def test_the_summary_is_plain_json_with_every_part(result):
    summary = summarise(result, ["adapt"], "driftfit adapt")
    text = json.dumps(summary, allow_nan=False)
    assert json.loads(text) == summary
    expected = "driftfit created command config seed versions data preprocessing sampled verdict domains steps "
    expected += "accuracy kept kept_reason map distances features plan confidence class_shares images predictions redo"
    assert set(expected.split()) <= set(summary)
    assert [domain["generated"] for domain in summary["domains"]] == [False, True, False, True, False]
    assert len(summary["map"]["points"]) == len(summary["distances"]) == 5
    assert summary["features"][0]["name"] == "u"
    assert sum(feature["share"] for feature in summary["features"]) == pytest.approx(1)
    assert len(summary["plan"]["from"]) == len(summary["plan"]["to"]) <= 300
    assert sum(summary["confidence"]["new"]) == pytest.approx(1)
    assert summary["data"]["n_target"] == 80


def test_several_files_are_snapshots_and_parquet_in_batches_is_the_same(tmp_path, result):
    frame = gaussians()
    paths = []
    for year, part in frame.groupby("year"):
        paths.append(tmp_path / f"{year}.parquet")
        part.drop(columns="year").to_parquet(paths[-1])
    settings = replace(SETTINGS, order=FilePosition())
    by_file = adapt_table(open_table(paths), settings)
    pd.testing.assert_frame_equal(by_file.predictions, result.predictions)
    assert [file.rows for file in by_file.checked.table.files] == [80, 80, 80]


def test_large_windows_are_sampled_for_training_but_never_for_prediction():
    settings = replace(SETTINGS, order=RowPosition(), windows=ByQuantile(2), limits=Limits(100, 40))
    sampled = adapt_frame(gaussians(n=120), settings)
    assert len(sampled.predictions) == 180
    assert sampled.checked.prepared.sampled[-2:] == [
        "models were trained on 100 rows of a window; 2 of 2 windows have more (180)",
        "plans and checks looked at 40 rows of a window; 2 of 2 windows have more (100)",
    ]


def test_the_gate_keeps_the_old_model_where_adaptation_hurts():
    frame = gaussians(shifts=(0, 6.0))
    gated = adapt_frame(
        frame, Settings(label="kind", order=Column("year"), windows=ByValue(), method=DirectSelfTraining())
    )
    asked = adapt_frame(frame, replace(SETTINGS, n_generated=None, method=DirectSelfTraining(), keep=Keep.ADAPTED))
    assert gated.kept == "source"
    assert asked.kept == "adapted"
    assert "the source model is kept" not in summarise(asked)["kept_reason"]
    assert not gated.trusted


@dataclass(frozen=True)
class Losing(Method):
    """A method whose model calls all target rows but one the same."""

    def adapt(self, learner, sequence, on_step=None, workspace=None):
        rows = sequence.target.samples
        return Adaptation(learner.fit(rows, (np.arange(len(rows)) == 0).astype(int)))


def test_a_lost_class_keeps_the_old_model():
    done = adapt_frame(gaussians(), replace(SETTINGS, n_generated=None, method=Losing()))
    assert done.kept == "source"
    told = summarise(done)
    assert told["kept_reason"].startswith("adaptation lost the class '1': 55 % of the labelled rows")
    assert not told["accuracy"]["new"]["reliable"]
    assert told["config"]["method"] == "Losing"
    assert [domain["generated"] for domain in told["domains"]] == [False, False, False]


def test_an_open_number_is_selected_and_told():
    settings = replace(SETTINGS, n_generated=None, method=ChosenGOAT())
    steps = []
    done = adapt_frame(gaussians(), settings, lambda stage, n, total: stage == "adapt" and steps.append((n, total)))
    told = summarise(done)
    assert told["generated"]["how"] == "selection"
    scores = {entry["n_generated"]: entry["score"] for entry in told["generated"]["scores"]}
    assert list(scores) == [0, 1, 2, 3, 4]
    assert done.n_generated == told["config"]["n_generated_used"] == max(scores, key=scores.get)
    assert "carried along the plans" in told["config"]["n_generated_reason"]
    assert sum(domain["generated"] for domain in told["domains"]) == 2 * done.n_generated
    # 1 + 2 + 3 + 4 + 5 steps for each of two pairs of windows.
    assert steps[-1] == (30, 30)
    assert [n for n, total in steps if total == 30] == sorted(n for n, total in steps if total == 30)
    asked = adapt_frame(gaussians(), replace(SETTINGS, n_generated=done.n_generated))
    pd.testing.assert_frame_equal(asked.predictions, done.predictions)
    assert summarise(asked)["generated"] == {
        "n_generated": done.n_generated,
        "how": "asked",
        "sentence": "as asked for",
        "scores": [],
    }


def test_labels_after_the_first_window_do_not_touch_the_selection():
    frame = gaussians()
    first = adapt_frame(frame, replace(SETTINGS, n_generated=None, method=ChosenGOAT()))
    frame.loc[frame.year > 2000, "kind"] = 1 - frame.loc[frame.year > 2000, "kind"]
    again = adapt_frame(frame, replace(SETTINGS, n_generated=None, method=ChosenGOAT()))
    assert again.choice.scores == first.choice.scores
    assert again.choice.sentence == first.choice.sentence


def test_a_huge_table_falls_back_to_the_rule_of_the_check(monkeypatch):
    from driftfit.app import settings

    monkeypatch.setattr(settings, "_MOST_VALUES", 1_000)
    done = adapt_frame(gaussians(), replace(SETTINGS, n_generated=None, method=ChosenGOAT()))
    assert done.choice.how == "rule"
    assert 1 <= done.n_generated <= 8
    assert "too large to try several numbers" in summarise(done)["generated"]["sentence"]
    assert (
        adapt_frame(
            gaussians(), replace(SETTINGS, n_generated=None, method=GradualSelfTraining(freeze_encoder=True))
        ).n_generated
        == 0
    )


def test_classifiers_of_the_users_choice_without_probabilities():
    from sklearn.svm import LinearSVC

    done = adapt_frame(gaussians(), replace(SETTINGS, model=LinearSVC()))
    assert done.predictions["predicted_probability"].between(0.5, 1).all()


def test_nothing_is_adapted_where_only_the_source_model_is_asked_for():
    plain = adapt_frame(
        gaussians(), Settings(label="kind", order=Column("year"), windows=ByValue(), method=SourceOnly())
    )
    assert (plain.kept, plain.decision.after, plain.adaptation.records) == ("source", None, ())
    assert summarise(plain)["accuracy"]["new"] == summarise(plain)["accuracy"]["old"]


def test_true_and_false_stay_true_and_false(tmp_path):
    frame = gaussians()
    frame["kind"] = frame["kind"] == 1
    done = adapt_frame(frame, SETTINGS)
    assert done.predictions["prediction"].dtype == bool
    save_run(done, summarise(done), tmp_path / "RUN")
    again = load_run(tmp_path / "RUN").predictor.predict(frame)[0]
    assert again.dtype == bool
    assert summarise(done)["data"]["classes"] == ["False", "True"]


def test_a_folder_of_images(tmp_path, rng):
    from PIL import Image

    rows = []
    for number in range(120):
        kind, year = number % 2, number // 40
        picture = np.clip(rng.normal(60 + 20 * year, 10, (6, 5)), 0, 255)
        picture[:, :2] += 80 * kind
        Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8)).save(tmp_path / f"{number}.png")
        rows.append((f"{number}.png", "odd" if kind else "even", year))
    pd.DataFrame(rows, columns=["file", "kind", "year"]).to_csv(tmp_path / "list.csv", index=False)
    done = adapt_table(open_table([tmp_path]), SETTINGS)
    images = summarise(done)["images"]
    assert images["shape"] == [6, 5]
    assert [step["generated"] for step in images["steps"]] == [False, True, False, True, False]
    assert all(len(tile) == 30 and 0 <= min(tile) <= max(tile) <= 1 for s in images["steps"] for tile in s["tiles"])
    (tmp_path / "0.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match="is not an image"):
        open_table([tmp_path])


def test_a_folder_appears_whole_or_not_at_all(tmp_path, result):
    summary = summarise(result)

    def fails(results):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_run(result, summary, tmp_path / "RUN", page=fails)
    assert list(tmp_path.iterdir()) == []
    save_run(result, summary, tmp_path / "RUN", page=lambda results: "<p>first")
    names = ["MODEL_CARD.md", "columns.json", "manifest.json", "model.skops"]
    names += ["predictions.parquet", "report.html", "result.json"]
    assert sorted(path.name for path in (tmp_path / "RUN").iterdir()) == names
    with pytest.raises(InputError, match="is not empty"):
        save_run(result, summary, tmp_path / "RUN")
    with pytest.raises(KeyboardInterrupt):
        save_run(result, summary, tmp_path / "RUN", page=fails, force=True)
    assert (tmp_path / "RUN" / "report.html").read_text() == "<p>first"
    save_run(result, summary, tmp_path / "RUN", page=lambda results: "<p>second", force=True)
    assert (tmp_path / "RUN" / "report.html").read_text() == "<p>second"
    assert [path.name for path in tmp_path.iterdir()] == ["RUN"]
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="is not a run that driftfit wrote"):
        save_run(result, summary, tmp_path / "own", force=True)


def test_predictions_carry_the_estimate_and_the_card_the_answer(tmp_path, result):
    save_run(result, summarise(result), tmp_path / "RUN")
    written = pd.read_parquet(tmp_path / "RUN" / "predictions.parquet")
    # A method that was asked for rests on nothing that an accuracy could be estimated from.
    assert written["estimated_accuracy"].isna().all()
    assert not written["estimated_accuracy_reliable"].any()
    card = (tmp_path / "RUN" / "MODEL_CARD.md").read_text()
    assert str(result).splitlines()[0] in card
    assert "| u | number |" in card


def test_skada_arrays_become_a_path():
    skada = pytest.importorskip("skada.datasets")
    data = skada.make_shifted_datasets(5, 5, shift="covariate_shift", random_state=0, return_dataset=True)
    X, y, sample_domain = data.pack(as_sources=["s"], as_targets=["t"], mask_target_labels=True)
    path = from_skada(X, y, sample_domain)
    assert (path.source.labels == y[sample_domain > 0]).all()
    assert path.target.labels is None
    with pytest.raises(InputError, match="positive and negative"):
        from_skada(X, y, np.abs(sample_domain))


def four_of_ten_classes_move(n=100):
    """Ten classes in a row of the plane; in the second year four of them move by three quarters of their spacing."""
    rng = np.random.default_rng(0)
    frames = []
    for year in (0, 1):
        kind = np.repeat(np.arange(10), n // 2)
        x = rng.normal(size=(len(kind), 2)) * 0.15 + np.outer(kind, [2.0, 0.0])
        x[kind < 4] += 1.5 * year * np.array([0.0, 1.0])
        frames.append(pd.DataFrame(x, columns=["u", "v"]).assign(kind=kind, year=year))
    return pd.concat(frames)


def test_the_worst_class_decides_how_many_domains_a_huge_table_gets(monkeypatch):
    asked = []
    whole = Settings.method_for

    def watched(self, largest_ratio, **options):
        asked.append(largest_ratio)
        return whole(self, largest_ratio, **options)

    monkeypatch.setattr(Settings, "method_for", watched)
    done = adapt_frame(
        four_of_ten_classes_move(), Settings(label="kind", order=Column("year"), method=ChosenGOAT(candidates=(0,)))
    )
    (step,) = done.checked.decision.verdict.steps
    assert step.worst_ratio > step.ratio + 0.5
    assert asked == [step.worst_ratio]


@pytest.mark.parametrize("spooled", [False, True])
def test_named_columns_are_carried_along_and_are_no_features(tmp_path, monkeypatch, spooled):
    from driftfit.app import adapt_table, open_table, parquet_files

    frame = gaussians()
    frame = frame.assign(customer=[f"c{number}" for number in range(len(frame))], day=np.arange(len(frame)))
    frame.loc[frame.year == 2000, "customer"] = None
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=40)
    if spooled:
        monkeypatch.setattr(parquet_files, "IN_MEMORY_ROWS", 10)
    settings = replace(SETTINGS, id=("customer", "day"))
    made = adapt_table(open_table([tmp_path / "t.parquet"]), settings)
    found = pd.concat(made.predictions.frames()) if spooled else made.predictions
    assert list(found.columns[:4]) == ["row", "customer", "day", "prediction"]
    assert found["customer"].tolist() == frame["customer"].iloc[found["row"]].tolist()
    assert made.predictor.columns == ["u", "v"]
    # The first batches hold gaps alone, and still have the type of the later ones.
    parts = list(made.predictor.predict_frames(open_table([tmp_path / "t.parquet"])))
    with (tmp_path / "all.parquet").open("wb") as file:
        assert parquet_files.write_frames(parts, file, csv=False) == len(frame)


def test_columns_that_cannot_be_carried_along_are_refused():
    for name, words in (("absent", "absent"), ("row", "has the name of one that is written")):
        with pytest.raises(InputError, match=words):
            adapt_frame(gaussians().assign(row=1), replace(SETTINGS, id=name))
