"""The reference stays unless a declared assumption stands: what is followed, what is refuted, what is only shown."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from driftfit import AutoAdaptedClassifier
from driftfit.datasets.toy import moving_gaussians
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.estimators import AdaptedClassifier
from driftfit.methods import Assumption, GivenProportions, ProportionCorrection
from driftfit.models import as_learner
from driftfit.selection import IN_USE, ByEvidence, OwnAnswers, Rung, climb
from driftfit.selection.diagnosis import fit_proportions


def world(rng, share=0.5, scale=1.0, move=0.0, n=500, gap=2.5):
    y = (rng.random(n) < share).astype(int)
    x = rng.normal(size=(n, 3)) + gap * y[:, None] * [1.0, 0.5, 0.0]
    return x * scale + move, y


def covariates(rng, move, n=400):
    """What a row says about its label stays; the first column moves."""
    x = rng.normal(size=(n, 3)) + np.array([move, 0.0, 0.0])
    return x, (rng.random(n) < 1 / (1 + np.exp(-(2 * x[:, 0] - 1.5 * x[:, 1] + x[:, 2])))).astype(int)


def ends(old, new):
    return DomainSequence([Domain(*old, name="old"), Domain(*new, name="new")])


def learned(x, y, model=None):
    return as_learner(LogisticRegression() if model is None else model, np.array([0, 1])).fit(x, y)


def adapted(old, new, **options):
    learner = learned(*old)
    adaptation = ByEvidence(**options).adapt(learner, ends(old, new))
    right = [(model.logits(new[0]).argmax(axis=1) == new[1]).mean() for model in (learner, adaptation.learner)]
    return learner, adaptation, right[1] - right[0]


# Nothing declared ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_without_a_drift_the_reference_is_returned_itself(seed):
    rng = np.random.default_rng(seed)
    learner, adaptation, _ = adapted(world(rng), world(rng), assume=tuple(Assumption))
    ladder = adaptation.choice.ladder
    if ladder.moved.rejected:
        pytest.skip("one of twenty by chance")
    assert adaptation.learner is learner
    assert adaptation.choice.best == "source"
    assert ladder.tested == {}
    assert ladder.rung is Rung.NOTHING


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (lambda rng: covariates(rng, 0.0), lambda rng: covariates(rng, 1.5)),
        (world, lambda rng: world(rng, scale=3.0, move=15.0)),
        (world, lambda rng: world(rng, 0.1)),
    ],
    ids=["covariates", "scale", "proportions"],
)
def test_without_an_assumption_the_reference_is_returned_itself(rng, old, new):
    learner, adaptation, _ = adapted(old(rng), new(rng))
    assert adaptation.choice.ladder.moved.rejected
    assert adaptation.learner is learner
    assert "--assume" in adaptation.choice.sentence


def test_what_others_would_change_is_shown_with_the_labels_that_settle_it(rng):
    _, adaptation, _ = adapted(world(rng), world(rng, scale=3.0, move=15.0))
    shown = {one.assumption: one for one in adaptation.choice.ladder.others}
    assert Assumption.SCALE in shown
    assert Assumption.PROPORTIONS not in shown, "it is refuted"
    assert 0.2 < shown[Assumption.SCALE].changed < 0.8
    assert 10 <= shown[Assumption.SCALE].labels <= 40
    assert "own scale changes" in shown[Assumption.SCALE].sentence
    _, silent, _ = adapted(world(rng), world(rng, scale=3.0, move=15.0), show_others=False)
    assert silent.choice.ladder.others == ()


def test_covariates_that_look_like_other_units_do_no_harm(rng):
    """The world in which a choice by a score without labels lost 14 points."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        old, new = covariates(rng, 0.0), covariates(rng, 1.5)
        learner, adaptation, _ = adapted(old, new)
        assert adaptation.learner is learner
        _, declared, gain = adapted(old, new, assume="covariates")
        assert gain > -0.01
        assert declared.choice.ladder.declared == (Assumption.COVARIATES,)


# Declared ------------------------------------------------------------------------------------------------


def test_a_declared_scale_that_stands_is_followed(rng):
    there, hidden = world(rng, scale=3.0, move=15.0)
    _, adaptation, gain = adapted(world(rng), (there, hidden), assume="scale")
    choice, right = adaptation.choice, (adaptation.learner.logits(there).argmax(axis=1) == hidden).mean()
    assert (choice.best, choice.ladder.used, choice.ladder.rung) == ("own scale", Assumption.SCALE, Rung.ASSUMPTION)
    assert gain > 0.3
    assert choice.gains["own scale"].low > 0
    assert choice.ladder.estimate.low <= right <= choice.ladder.estimate.high
    assert choice.ladder.estimate.reliable


def test_declared_proportions_that_stand_are_followed(rng):
    _, adaptation, gain = adapted(world(rng, gap=1.2), world(rng, share=0.05, gap=1.2), assume="proportions")
    assert adaptation.choice.best == "proportions"
    assert gain > 0.05
    own = adaptation.choice.gains["proportions"]
    assert own.low - 0.05 <= gain <= own.high + 0.05


@pytest.mark.parametrize("word", ["proportions", "scale", "structure"])
def test_a_declared_assumption_that_the_rows_contradict_is_refuted(rng, word):
    old, (there, hidden) = world(rng), world(rng)
    there = np.where(rng.random((500, 1)) < 0.4, there, [9.0, -9.0, 30.0] + there[:, ::-1] ** 2)
    learner, adaptation, _ = adapted(old, (there, hidden), assume=word)
    assert adaptation.learner is learner
    assert adaptation.choice.ladder.tested[Assumption(word)].rejected
    assert "refuted" in adaptation.choice.sentence


@pytest.mark.parametrize(("step", "tried"), [(0.5, {"gradual self-training", "carried labels"}), (1.5, set())])
def test_what_generates_no_domains_does_not_follow_steps_that_are_too_large(step, tried):
    path = moving_gaussians(tuple(step * np.arange(4)), seed=3)
    learner = learned(path.source.samples, path.source.labels)
    choice = ByEvidence("path").adapt(learner, path).choice
    assert choice.ladder.tested[Assumption.PATH].generated == (not tried)
    assert set(choice.scores) == {"source", "GOAT"} | tried


def test_the_first_assumption_that_stands_is_followed(rng):
    old, new = world(rng), world(rng, scale=3.0, move=15.0)
    _, adaptation, _ = adapted(old, new, assume=("proportions", "scale"))
    assert adaptation.choice.ladder.used is Assumption.SCALE
    assert adaptation.choice.struck.keys() >= {"proportions"} or "proportions" in adaptation.choice.ladder.tested


def test_labels_of_the_target_are_never_looked_at(rng):
    old, (there, hidden) = world(rng), world(rng, scale=3.0, move=15.0)
    for word in (None, *Assumption):
        _, one, _ = adapted(old, (there, hidden), assume=word)
        _, other, _ = adapted(old, (there, 1 - hidden), assume=word)
        assert one.choice.sentence == other.choice.sentence
        np.testing.assert_array_equal(one.learner.logits(there), other.learner.logits(there))


def test_candidates_are_shown_as_they_are_tried(rng):
    seen = []
    adapted(
        world(rng), world(rng, scale=3.0, move=15.0), assume="scale", on_candidate=lambda name, _: seen.append(name)
    )
    assert seen == ["source", "own scale"]


def test_a_word_that_is_no_assumption_is_named():
    with pytest.raises(InputError, match="there is no assumption 'scales'; choose among covariates"):
        ByEvidence("scales")
    with pytest.raises(InputError, match="no assumption 3"):
        ByEvidence([3])


def test_given_proportions_count_as_declared(rng):
    # Nearer classes would be told apart so badly that the correction hardly ever names the rare one: it is then lost.
    old, new = world(rng, gap=1.6), world(rng, share=0.05, gap=1.6)
    _, adaptation, gain = adapted(old, new, given=GivenProportions((0.95, 0.05)))
    assert adaptation.choice.ladder.declared == (Assumption.PROPORTIONS,)
    assert adaptation.choice.best == "proportions"
    assert gain > 0.05


# The same whatever things are called --------------------------------------------------------------------


@pytest.mark.parametrize("word", [None, "covariates", "proportions", "scale"])
@pytest.mark.parametrize("seed", range(3))
def test_names_of_classes_order_of_rows_and_units_change_nothing(word, seed):
    rng = np.random.default_rng(seed)
    (x, y), (there, _) = covariates(rng, 0.0), covariates(rng, 1.0)
    X, domain = np.concatenate([x, there]), np.repeat([0, 1], len(x))

    def answers(X, y, domain=domain):
        clf = AutoAdaptedClassifier(LogisticRegression(C=1e3, tol=1e-10, max_iter=5_000), assume=word, random_state=0)
        clf.set_params(history="first").fit(X, y, sample_domain=domain)
        return clf.predict(X), clf.choice_.best

    labels = np.concatenate([y, np.zeros(len(there), dtype=int)])
    plain, best = answers(X, labels)
    renamed, again = answers(X, 1 - labels)
    assert again == best
    assert (renamed == plain).mean() < 0.005
    rescaled, again = answers(X * [1000.0, 1.0, 1.0], labels)
    assert again == best
    assert (rescaled == plain).mean() > 0.995
    order = np.concatenate([rng.permutation(len(x)), len(x) + rng.permutation(len(there))])
    shuffled, again = answers(X[order], labels[order])
    assert again == best
    assert (shuffled == plain[order]).mean() > 0.99


@pytest.mark.parametrize("word", [(), "scale", "proportions"])
def test_a_table_in_other_words_gets_the_same_answers(rng, word):
    pd = pytest.importorskip("pandas")
    from driftfit.app import Column, History, Settings, adapt_frame

    (x, y), (there, _) = world(rng, n=300), world(rng, n=300, scale=3.0, move=15.0)
    rows = np.concatenate([x, there])
    table = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(year=np.repeat([1, 2], 300), kind=np.append(y, y))
    settings = Settings("kind", order=Column("year"), assume=word, history=History.FIRST)

    def answers(frame):
        result = adapt_frame(frame, settings)
        return result.kept, result.predictions["prediction"].to_numpy()

    kept, plain = answers(table)
    assert kept == ("adapted" if word == "scale" else "source")
    renamed = answers(table.assign(kind=1 - table["kind"]))
    assert (renamed[0], (renamed[1] == 1 - plain).mean() > 0.99) == (kept, True)
    rescaled = answers(table.assign(a=table["a"] * 1000.0 + 7.0))
    assert (rescaled[0], (rescaled[1] == plain).mean() > 0.99) == (kept, True)
    order = np.append(rng.permutation(300), 300 + rng.permutation(300))
    shuffled = answers(table.iloc[order].reset_index(drop=True))
    assert (shuffled[0], (shuffled[1] == plain[order[300:] - 300]).mean() > 0.99) == (kept, True)


# A model that is in use ----------------------------------------------------------------------------------


def apart(rng, n=500):
    y = rng.integers(0, 2, 2 * n)
    x = rng.normal(size=(2 * n, 3)) + 2.5 * y[:, None] * [1.0, 0.5, 0.0]
    x[n:] = x[n:] * 3.0 + 15.0
    return x, y


def windows(x, y, n=500):
    return DomainSequence([Domain(x[:n], y[:n]), Domain(x[n:])])


def test_the_model_in_use_is_what_others_are_compared_with(rng):
    x, y = apart(rng)
    learner = learned(x[:500], y[:500])
    perfect = OwnAnswers(y[:500], y[500:])
    kept = ByEvidence("scale", in_use=perfect).adapt(learner, windows(x, y)).choice
    assert kept.best == kept.reference == IN_USE
    lost = OwnAnswers(learner.logits(x[:500]).argmax(axis=1), np.zeros(500, dtype=int))
    assert ByEvidence(in_use=lost).adapt(learner, windows(x, y)).choice.best == IN_USE
    choice = ByEvidence("scale", in_use=lost).adapt(learner, windows(x, y)).choice
    assert (choice.reference, choice.best) == (IN_USE, "own scale")


def test_nothing_stands_on_a_model_that_is_worse_than_the_one_in_use(rng):
    x, y = apart(rng)
    better = OwnAnswers(y[:500], np.zeros(500, dtype=int))
    weak = learned(x[:500], y[:500], RandomForestClassifier(1, max_depth=1, random_state=0))
    choice = ByEvidence("scale", in_use=better).adapt(weak, windows(x, y)).choice
    assert choice.best == IN_USE
    assert "worse than the one in use" in choice.sentence


# Around it -----------------------------------------------------------------------------------------------


def test_as_a_method_of_a_classifier(rng):
    (x, y), (there, hidden) = world(rng), world(rng, scale=3.0, move=15.0)
    X, when = np.concatenate([x, there]), np.repeat([0, 1], len(x))
    fitted = AdaptedClassifier(LogisticRegression(), method=ByEvidence("scale")).fit(
        X, np.concatenate([y, np.full(len(y), -1)]), sample_domain=when
    )
    assert (fitted.predict(there) == hidden).mean() > 0.9


def test_what_was_found_elsewhere_is_not_asked_again(rng):
    old, new = world(rng), world(rng, scale=3.0, move=15.0)
    learner = learned(*old)
    ladder = climb(learner, ends(old, new), (Assumption.SCALE,))
    one, other = (ByEvidence("scale", ladder=own).adapt(learner, ends(old, new)) for own in (ladder, None))
    assert one.choice.sentence == other.choice.sentence


@pytest.mark.slow
def test_intervals_of_gains_by_proportions_hold():
    """In worlds where proportions are all that moves, the gain on other rows of the target lies inside."""
    inside = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        (x, y), (there, _), (other, truth) = (world(rng, share, gap=1.2) for share in (0.5, 0.1, 0.1))
        learner = learned(x, y)
        path = DomainSequence([Domain(x, y), Domain(there)])
        fit = fit_proportions(learner, path, seed)
        student = ProportionCorrection(seed=seed).adapt(learner, path).learner
        right = [(model.logits(other).argmax(axis=1) == truth).mean() for model in (learner, student)]
        inside.append(fit.low <= right[1] - right[0] <= fit.high)
        assert fit.high - fit.low < 0.5
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize(
    ("word", "why"),
    [("covariates", "hang together in"), ("scale", "hang together in"), ("proportions", "do not explain")],
)
def test_rows_that_follow_each_other_too_closely_keep_the_reference(rng, word, why):
    """What a method gains cannot be known from rows that are all one draw; this is no failure."""
    y = np.arange(300) % 2
    slow = np.sin(np.linspace(0.0, 3.0, 300))[:, None] * 4.0
    old, new = (3.0 * y[:, None] + rng.normal(size=(300, 1)) for _ in range(2))
    windows = DomainSequence([Domain(np.hstack([old, slow]), y), Domain(np.hstack([9.0 + 5.0 * new, slow]))])
    learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(windows.source.samples, y)
    adaptation = ByEvidence(word).adapt(learner, windows)
    assert adaptation.learner is learner
    assert why in adaptation.choice.sentence


def test_scale_is_not_relied_on_where_a_few_groups_could_hide_anything(rng):
    """Forty customers a window, and other ones in the newest: own scales make nearly any of them look alike."""
    y, customer = np.arange(400) % 2, np.repeat(np.arange(40), 10)
    old, new = (rng.normal(size=(400, 2)) + y[:, None] + rng.normal(size=(40, 2))[customer] for _ in range(2))
    windows = DomainSequence([Domain(old, y, groups=customer), Domain(3.0 * new + 5.0, groups=40 + customer)])
    learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(old, y)
    adaptation = ByEvidence("scale").adapt(learner, windows)
    assert adaptation.learner is learner
    assert "hang together in 40 and 40 parts" in adaptation.choice.sentence
    # With rows that stand for themselves it can be relied on.
    free = DomainSequence([Domain(old, y), Domain(3.0 * old + 5.0)])
    assert ByEvidence("scale").adapt(learner, free).choice.best == "own scale"


def test_rows_that_nothing_stands_for_are_counted_as_unknown(rng):
    """Values that went missing stand at the median: a weight cannot make rows of them."""
    x, moved = rng.normal(size=(2, 800, 2)), np.array([0.3, 0.0])
    y = (x.sum(axis=2) + 0.5 * rng.normal(size=(2, 800)) > 0).astype(int)
    gone = x.copy()
    gone[1][rng.random((800, 2)) < 0.5] = 0.0
    learner = as_learner(LogisticRegression(), np.array([0, 1])).fit(x[0], y[0])
    whole, holed = (DomainSequence([Domain(x[0], y[0]), Domain(rows + moved)]) for rows in (x[1], gone[1]))
    reliable, refused = (ByEvidence("covariates").adapt(learner, one).choice.ladder.estimate for one in (whole, holed))
    assert reliable.reliable
    assert reliable.high - reliable.low < 0.15
    truth = (learner.logits(gone[1] + moved).argmax(axis=1) == y[1]).mean()
    assert refused.low < truth < refused.high
    assert refused.high - refused.low > 0.3
