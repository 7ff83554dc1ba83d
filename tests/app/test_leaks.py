"""Labels after the first window influence nothing, their values and their types included, through every way in."""

import contextlib
import decimal
import inspect
import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import driftfit.estimators
import driftfit.methods
from driftfit import Domain, DomainSequence
from driftfit.app import Column, History, Settings, adapt_frame, check_frame, check_summary
from driftfit.cli import main
from driftfit.domains import ByValue, from_table
from driftfit.methods import (
    GOAT,
    Alignment,
    Assumption,
    ByConfusion,
    CarriedLabels,
    CovarianceAlignment,
    DirectSelfTraining,
    FromHistory,
    GradualSelfTraining,
    ImportanceWeights,
    LabelledTraining,
    Method,
    ModelInUse,
    OwnRank,
    OwnScale,
    ProportionCorrection,
    RecentScale,
    SourceOnly,
    Taught,
)
from driftfit.methods.baselines import DANN, BaselineMethod, CoVi, DeepCoral, DeepJDOT
from driftfit.models import as_learner
from driftfit.selection import ByEvidence, ChosenGOAT, Gate

torch = pytest.importorskip("torch")
N = 150
YEAR = np.repeat([0, 1, 2], N // 3)
CLASSES = np.array([2, 10, 33])


def samples():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, N)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    return centres[codes] + rng.normal(size=(N, 2)) * 0.8 + 0.5 * YEAR[:, None], CLASSES[codes]


X, TRUE = samples()
SOURCE = YEAR == 0


def later(make):
    """The labels, with those after the first window made by a function of the row."""
    return [int(label) if first else make(k) for k, (label, first) in enumerate(zip(TRUE, SOURCE, strict=True))]


LATER = {
    "true": lambda k: int(TRUE[k]),
    "turned": lambda k: int(CLASSES[(np.flatnonzero(TRUE[k] == CLASSES)[0] + 1) % 3]),
    "none": lambda k: None,
    "nan": lambda k: float("nan"),
    "word": lambda k: "unknown",
    "words and numbers": lambda k: "unknown" if k % 2 else 2,
    "float": lambda k: k + 0.5,
    "huge": lambda k: 2**80 + k,
    "unsigned": lambda k: 2**63 + k % 5,
    "negative": lambda k: -k,
    "truth": lambda k: bool(k % 2),
    "bytes": lambda k: b"\xff",
    "lists": lambda k: [k],
    "records": lambda k: {"a": k},
    "decimals": lambda k: decimal.Decimal(k) / 7,
    "dates": lambda k: pd.Timestamp("2020-01-01") + pd.Timedelta(k, "D"),
    "complex": lambda k: 1 + 2j,
}
SOME = ["turned", "none", "word", "float", "unsigned", "lists"]


def network():
    from driftfit.models.torch.classifier import TorchClassifier

    return TorchClassifier(epochs=2)


def quick(name):
    """A classifier of driftfit.estimators, small."""
    made = getattr(driftfit.estimators, name)
    baselines = {"DANNClassifier": DANN, "DeepCoralClassifier": DeepCoral, "DeepJDOTClassifier": DeepJDOT}
    if name in baselines:
        return made(network(), method=BaselineMethod(baselines[name](), epochs=2), random_state=0)
    if name == "CoViClassifier":
        return made(network(), method=BaselineMethod(CoVi(), epochs=2, sequential=True), random_state=0)
    return made(MLPClassifier((8,), max_iter=30), random_state=0)


def answers(classifier):
    return classifier.classes_, classifier.predict(X), classifier.predict_proba(X)


def same(first, second):
    for one, other in zip(first, second, strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::driftfit.errors.AdaptationWarning")
class TestArrays:
    @pytest.mark.parametrize("kind", LATER)
    def test_every_kind_of_label(self, kind):
        plain = quick("GOATClassifier").fit(X, TRUE, sample_domain=YEAR)
        for y in (later(LATER[kind]), pd.Series(later(LATER[kind]), dtype=object)):
            same(answers(quick("GOATClassifier").fit(X, y, sample_domain=YEAR)), answers(plain))

    def test_whole_numbers_beside_gaps_of_numpy(self):
        plain = answers(quick("GOATClassifier").fit(X, TRUE, sample_domain=YEAR))
        gaps = np.where(SOURCE, TRUE, np.nan)
        masked = np.ma.array(TRUE, mask=~SOURCE)
        for y in (gaps, masked, TRUE.astype(np.uint8), pd.Series(gaps).astype("Int64"), pd.Categorical(gaps)):
            found = answers(quick("GOATClassifier").fit(X, y, sample_domain=YEAR))
            np.testing.assert_array_equal(found[1], plain[1])
            same(found[2:], plain[2:])

    @pytest.mark.parametrize("name", sorted(driftfit.estimators.__all__))
    def test_every_classifier(self, name):
        def fitted(y):
            return quick(name).set_params(history="first").fit(X, y, sample_domain=YEAR)

        plain = answers(fitted(TRUE))
        for kind in SOME:
            same(answers(fitted(later(LATER[kind]))), plain)

    @pytest.mark.parametrize("name", ["GOATClassifier", "GradualSelfTrainingClassifier"])
    def test_the_gate_and_the_choice(self, name):
        def fitted(y):
            options = {"n_generated": "auto"} if name == "GOATClassifier" else {}
            return quick(name).set_params(gate=Gate(seed=0), **options).fit(X, y, sample_domain=YEAR)

        plain = fitted(TRUE)
        for kind in SOME:
            found = fitted(later(LATER[kind]))
            same(answers(found), answers(plain))
            assert found.decision_.sentence == plain.decision_.sentence
            assert repr(found.decision_) == repr(plain.decision_)

    @pytest.mark.parametrize(
        "method",
        [
            SourceOnly(),
            GradualSelfTraining(),
            DirectSelfTraining(),
            GOAT(2),
            GOAT(1, feature_space=False),
            CarriedLabels(),
            ChosenGOAT(candidates=(0, 2)),
            OwnScale(),
            OwnRank(),
            CovarianceAlignment(),
            OwnScale(then=ProportionCorrection()),
            ProportionCorrection(ByConfusion()),
            ImportanceWeights(),
            RecentScale(4),
            Taught(),
            ByEvidence(),
            *(ByEvidence(word) for word in Assumption),
            BaselineMethod(DANN(), epochs=2),
            BaselineMethod(DeepCoral(), epochs=2),
            BaselineMethod(DeepJDOT(), epochs=2),
            BaselineMethod(CoVi(), epochs=2, sequential=True),
            BaselineMethod(DANN(), epochs=2, with_given=True),
        ],
        ids=repr,
    )
    def test_every_method(self, method):
        def adapted(make):
            labels = [np.array(later(make), dtype=object)[year == YEAR] for year in range(3)]
            path = DomainSequence([Domain(X[year == YEAR], labels[year], name=str(year)) for year in range(3)])
            model = network().set_params(random_state=0) if isinstance(method, BaselineMethod) else LogisticRegression()
            learner = as_learner(model, path.source.classes).fit(path.source.samples, path.source.codes())
            return method.adapt(learner, path).learner.logits(X)

        plain = adapted(LATER["true"])
        for kind in SOME:
            same([adapted(LATER[kind])], [plain])

    def test_no_method_is_left_out(self):
        public = set(filter(inspect.isclass, vars(driftfit.methods).values())) - {Method}
        tried = {SourceOnly, GradualSelfTraining, DirectSelfTraining, GOAT, CarriedLabels}
        tried |= {OwnScale, OwnRank, CovarianceAlignment, ProportionCorrection, ImportanceWeights}
        # What the three alignments have in common; the one that is handed labels by name; and one that does nothing.
        tried |= {RecentScale, Taught, Alignment, LabelledTraining, ModelInUse}
        # This one is there to learn from labels of later windows (tests/selection/test_backtest.py).
        tried |= {FromHistory}
        untried = [c for c in public if hasattr(c, "adapt") and c not in tried]
        assert untried == []


def frame(make, dtype=object):
    table = pd.DataFrame(X, columns=["x", "y"]).assign(year=YEAR, day=pd.date_range("2024-01-01", periods=N))
    return table.assign(kind=pd.Series(later(make), dtype=dtype))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
class TestTables:
    @pytest.mark.parametrize("kind", LATER)
    def test_frames(self, kind):
        model = MLPClassifier((8,), max_iter=30)
        settings = Settings(
            "kind", Column("year"), windows=ByValue(), model=model, n_generated=1, history=History.FIRST
        )
        plain, found = (adapt_frame(frame(LATER[name]), settings) for name in ("true", kind))
        pd.testing.assert_frame_equal(found.predictions, plain.predictions, check_exact=True)
        assert found.source.classes.tolist() == CLASSES.tolist()
        assert found.decision.sentence == plain.decision.sentence
        one, other = (check_summary(check_frame(frame(LATER[name]), settings)) for name in ("true", kind))
        for summary in (one, other):
            summary["sampled"] = [said for said in summary["sampled"] if "not looked at" not in said]
        assert one == other

    @pytest.mark.parametrize("kind", LATER)
    def test_domains_of_a_table(self, kind):
        path = from_table(frame(LATER[kind]), label="kind", order="year", windows=ByValue())
        assert path.source.labels.dtype == np.int64
        np.testing.assert_array_equal(path.source.labels, TRUE[SOURCE])

    @pytest.mark.parametrize("command", [["check"], ["adapt", "-o", "RUN"]])
    @pytest.mark.parametrize(
        "kind",
        ["none", "words and numbers", *(pytest.param(kind, marks=pytest.mark.slow) for kind in sorted(LATER))],
    )
    def test_the_command_line(self, tmp_path, monkeypatch, command, kind):
        monkeypatch.chdir(tmp_path)
        options = [
            "--label",
            "kind",
            "--order",
            "year",
            "--window-by",
            "value",
            "--model",
            "mlp",
            "--generated",
            "auto",
            "--history",
            "first",
        ]
        told = []
        for name in ("true", kind):
            frame(LATER[name]).to_csv("table.csv", index=False)
            force = ["--force"] if command[0] == "adapt" else []
            out, hidden = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
            with hidden, out as text, pytest.raises(SystemExit) as leaving:
                main([*command, "table.csv", *options, *force, "--json"])
            assert not leaving.value.code
            result = json.loads(text.getvalue())
            if command[0] == "adapt":
                told.append((pd.read_parquet("RUN/predictions.parquet"), result["accuracy"], result["kept_reason"]))
            else:
                told.append((pd.DataFrame(result["steps"]), result["accuracy"], result["reasons"]))
        pd.testing.assert_frame_equal(told[0][0], told[1][0], check_exact=True)
        assert told[0][1:] == told[1][1:]
