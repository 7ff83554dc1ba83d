"""What methods declare, and the words that they are offered by."""

import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from driftfit import AdaptedClassifier, offers
from driftfit.datasets.toy import moving_gaussians
from driftfit.errors import InputError
from driftfit.methods import (
    GOAT,
    Adaptation,
    Assumption,
    CarriedLabels,
    DirectSelfTraining,
    FromHistory,
    GradualSelfTraining,
    HalfLife,
    LastWindows,
    Method,
    OwnScale,
    ProportionCorrection,
    RecentScale,
    SourceOnly,
    Taught,
    Transport,
    offered,
)
from driftfit.methods.alignment import CovarianceAlignment
from driftfit.methods.registry import as_method, seeded, word_of
from driftfit.models import as_learner
from driftfit.selection import (
    ALL_LABELS,
    ByEvidence,
    ByHistory,
    Chosen,
    ChosenGOAT,
    backtest,
    history_ways,
    table_methods,
    ways_from_words,
)

PATH = moving_gaussians((0, 0.5, 1.0, 1.5))


class TestDeclarations:
    @pytest.mark.parametrize(
        ("method", "alone", "encoded"),
        [
            (SourceOnly(), False, False),
            (OwnScale(), True, True),
            (GOAT(), True, False),
            (GOAT(feature_space=False), True, True),
            (ChosenGOAT(), True, False),
            (ByEvidence(), True, False),
            (ByHistory(), True, False),
            (Chosen({"GOAT": GOAT()}), True, False),
            (Chosen({"own scale": OwnScale()}), True, True),
            (FromHistory(), False, False),
            (FromHistory(align=OwnScale()), True, True),
            (FromHistory(HalfLife(1.0)), True, True),
            # The teacher gets arrays; the learner may have columns with names.
            (Taught(), False, False),
        ],
    )
    def test_who_needs_arrays(self, method, alone, encoded):
        assert (method.needs_matrices(False), method.needs_matrices(True)) == (alone, encoded)

    @pytest.mark.parametrize(
        "method",
        [
            OwnScale(),
            ProportionCorrection(),
            CarriedLabels(),
            GradualSelfTraining(n_rounds=2),
            DirectSelfTraining(n_rounds=2),
            GOAT(2),
        ],
    )
    def test_as_many_steps_as_are_told(self, method):
        learner = as_learner(LogisticRegression(), PATH.source.classes).fit(PATH.source.samples, PATH.source.codes())
        steps = []
        method.adapt(learner, PATH, lambda record, student: steps.append(record))
        assert len(steps) == method.n_steps(PATH)

    def test_all_candidates_are_steps(self):
        assert ChosenGOAT(candidates=(0, 2)).n_steps(PATH) == 3 * (1 + 3)
        # The rule of huge tables names one number: steps of a quarter of what the worst class moves.
        assert ChosenGOAT(max_values=1, largest_ratio=0.5).n_steps(PATH) == 3 * 2

    def test_what_is_inside_is_assumed_too(self):
        assert FromHistory(align=OwnScale(), then=ProportionCorrection()).assumes == {
            Assumption.SCALE,
            Assumption.PROPORTIONS,
        }
        assert SourceOnly().assumes == frozenset()

    def test_a_method_without_a_body_says_so(self):
        with pytest.raises(NotImplementedError, match="Method has neither adapt nor one_step"):
            Method().adapt(None, PATH)


class TestWords:
    def test_ways_of_the_past_are_these_in_this_order(self):
        assert list(history_ways(3, in_order=True).items()) == [
            (ALL_LABELS, FromHistory(seed=3)),
            ("recent labels, half-life 1 window", FromHistory(HalfLife(1.0), seed=3)),
            ("last window", FromHistory(LastWindows(1), seed=3)),
            ("with time", FromHistory(HalfLife(2.0), with_time=True, seed=3)),
            ("own covariance, recent labels", FromHistory(HalfLife(1.0), CovarianceAlignment(), seed=3)),
            ("rows before, recent labels", FromHistory(HalfLife(1.0), before=(6, 24, 96), seed=3)),
        ]
        assert set(history_ways(in_order=True)) - set(history_ways()) == {"rows before, recent labels"}

    def test_what_labels_of_today_compare(self):
        plans = Transport(max_samples=50, seed=3, certified=False)
        found = table_methods(50, 3)
        assert found["own scale, labels carried over"].then == CarriedLabels(transport=plans, direct=True, joint=True)
        assert found["own scale, proportions"] == OwnScale(then=ProportionCorrection(seed=3))
        assert set(found) - set(table_methods(in_order=False)) == {"recent scale"}
        assert len(found) == 8

    def test_each_way_by_its_word(self):
        ways = ways_from_words(["recent", "goat"], seed=2)
        assert ways["recent labels, half-life 1 window"] == FromHistory(HalfLife(1.0), seed=2)
        assert ways["goat"] == FromHistory(then=GOAT(transport=Transport(seed=2)), seed=2)
        with pytest.raises(InputError, match="there is no method 'gaot'; choose own-scale"):
            ways_from_words(["gaot"])

    def test_a_seed_goes_to_what_is_inside_and_changes_nothing_else(self):
        assert seeded(RecentScale(7), 3) == RecentScale(7)
        method = OwnScale(then=ProportionCorrection(n_folds=5))
        assert seeded(method, 3) == OwnScale(then=replace(method.then, seed=3))

    def test_classifiers_take_words(self):
        X, y, step = PATH.as_samples()
        methods = ("covariance", offered()["covariance"].method)
        one, other = (AdaptedClassifier(method=method).fit(X, y, sample_domain=step) for method in methods)
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))

    def test_records_call_methods_by_their_words(self):
        assert [word_of(one.method) for one in offered().values()] == list(offered())
        assert word_of(ChosenGOAT()) == "goat"
        assert word_of(ByEvidence("scale")) == "auto"
        assert word_of(Taught()) == "Taught"

    def test_words_are_listed_without_what_is_slow_to_import(self):
        code = "import sys; from driftfit.cli import run_command; from driftfit.offers import found; found(); "
        code += "assert not {'numpy', 'sklearn', 'scipy'} & set(sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_the_source_says_what_is_offered(self):
        assert {word: one.about for word, one in offered().items()} == {
            w: about for w, (_, about) in offers.found().items()
        }
        assert all(one.about for one in offered().values())


class TestRefused:
    @dataclass(frozen=True)
    class Duck:
        def adapt(self, learner, sequence, on_step=None, workspace=None):
            return Adaptation(learner)

    def test_what_is_no_method_is_refused_with_the_remedy(self):
        with pytest.raises(InputError, match=r"got TestRefused\.Duck\(\); a class of your own inherits from"):
            as_method(self.Duck())
        with pytest.raises(InputError, match="method must be a value such as GOAT"):
            AdaptedClassifier(method=self.Duck()).fit_path(PATH)
        with pytest.raises(InputError, match="method must be a value such as GOAT"):
            backtest(PATH, ways={ALL_LABELS: self.Duck()})
        with pytest.raises(InputError, match="candidate 'mine' must be a method"):
            Chosen({"mine": self.Duck()})

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("\noffer('source', SourceOnly())\n", "offers 'source', which registry offers already; rename one"),
            ("\noffer(\n", "offers no method that can be read"),
            ("\noffer(word, SourceOnly())\n", "offers no method that can be read"),
            ("\noffer('mine')\n", "offers no method that can be read"),
        ],
    )
    def test_a_file_that_cannot_offer_is_named(self, tmp_path, monkeypatch, text, words):
        (tmp_path / "mine.py").write_text(text)
        monkeypatch.setenv("DRIFTFIT_METHODS", str(tmp_path))
        with pytest.raises(InputError, match=rf"mine\.py' .*{words}|mine\.py' {words}"):
            offers.found()
