"""The scoring rule on arrays: closed forms, what must not matter, what must not win."""

import numpy as np
import pytest

from driftfit.errors import InputError
from driftfit.selection import score_candidates

CODES = np.repeat([0, 1, 2], 20)
CARRIED = np.eye(3)[CODES] / 60


def sure(labels, probability=0.8, n_classes=3):
    """Probabilities that give each label the same probability and share the rest."""
    table = np.full((len(labels), n_classes), (1 - probability) / (n_classes - 1))
    table[np.arange(len(labels)), labels] = probability
    return table


def wrong_on(share, first=0):
    """A share of every class is taken for the next one, counted from a row of the class."""
    place = (np.arange(60) - first) % 20
    return sure(np.where(place < 20 * share, (CODES + 1) % 3, CODES))


def test_the_score_is_the_mean_probability_of_the_label_over_classes():
    scores = score_candidates({0: sure(CODES, 0.6), 1: sure(CODES, 0.9)}, CARRIED, share=1.0)
    assert scores.values == pytest.approx({0: 0.6, 1: 0.9})
    assert scores.rows.tolist() == list(range(60))
    assert scores.labels.tolist() == CODES.tolist()
    uneven = np.append(np.zeros(90, dtype=int), np.ones(10, dtype=int))
    half = score_candidates({0: sure(np.zeros(100, dtype=int), 1.0, 2)}, np.eye(2)[uneven], share=1.0)
    assert half.values[0] == pytest.approx(0.5)


@pytest.mark.parametrize("best", [0, 2, 4])
def test_the_best_candidate_is_found(best):
    # Every candidate errs in rows of its own, the best in the fewest.
    candidates = {number: wrong_on(0.1 + 0.1 * abs(number - best), 4 * number) for number in range(5)}
    scores = score_candidates(candidates, CARRIED)
    assert scores.best == best
    ranked = sorted(scores.values, key=scores.values.get, reverse=True)
    assert [abs(number - best) for number in ranked] == sorted(abs(number - best) for number in range(5))


@pytest.mark.parametrize("seed", range(5))
def test_carried_labels_may_be_wrong_if_not_as_the_candidates_are(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, 3_000)

    def spoilt(share):
        return np.where(rng.random(3_000) < share, (codes + rng.integers(1, 3, 3_000)) % 3, codes)

    candidates = {number: sure(spoilt(share)) for number, share in enumerate((0.4, 0.3, 0.1, 0.2, 0.3))}
    assert score_candidates(candidates, np.eye(3)[spoilt(0.4)]).best == 2


@pytest.mark.parametrize("carried", [CARRIED, None])
def test_collapse_onto_one_class_does_not_win_by_being_sure(carried):
    collapsed = sure(np.zeros(60, dtype=int), 1.0)
    candidates = {0: collapsed, 1: wrong_on(0.2), 2: wrong_on(0.1), 3: wrong_on(0.1)}
    scores = score_candidates(candidates, carried)
    assert scores.best != 0
    # The rule that looks at own confidence alone is taken in.
    own = {number: values.max(axis=1).mean() for number, values in candidates.items()}
    assert max(own, key=own.get) == 0


@pytest.mark.parametrize("carried", [CARRIED, None])
def test_the_order_of_candidates_and_of_rows_does_not_matter(rng, carried):
    candidates = {number: rng.dirichlet(np.ones(3), 60) for number in range(5)}
    scores = score_candidates(candidates, carried)
    assert score_candidates(dict(reversed(candidates.items())), carried).values == scores.values
    turn = rng.permutation(60)
    turned = {number: values[turn] for number, values in candidates.items()}
    again = score_candidates(turned, None if carried is None else carried[turn])
    assert again.values == pytest.approx(scores.values)
    assert sorted(turn[again.rows].tolist()) == scores.rows.tolist()


def test_ties_go_to_fewer_domains():
    same = wrong_on(0.3)
    assert score_candidates({4: same, 2: same.copy(), 3: same.copy()}, CARRIED).best == 2
    assert score_candidates({4: same, 2: same.copy(), 3: sure(CODES)}, CARRIED).best == 3


def test_no_candidate_is_judged_by_its_own_labels():
    # Each is right about its own labels; only what the plans carry tells them apart.
    one, other = sure(CODES), sure((CODES + 1) % 3)
    assert score_candidates({0: one, 1: other}, CARRIED).best == 0
    assert score_candidates({0: other, 1: one}, CARRIED).best == 1


def test_only_the_confident_share_of_each_class_is_used(rng):
    candidates = {0: rng.dirichlet(np.ones(3), 60), 1: rng.dirichlet(np.ones(3), 60)}
    opinion = (candidates[0] + candidates[1]) / 2
    scores = score_candidates(candidates, share=0.25)
    for label in range(3):
        rows = np.flatnonzero(opinion.argmax(axis=1) == label)
        used = scores.rows[scores.labels == label]
        assert len(used) == np.ceil(0.25 * len(rows))
        assert opinion[used].max(axis=1).min() >= opinion[np.setdiff1d(rows, used)].max(axis=1).max()


def test_rows_without_carried_mass_are_left_out():
    carried = CARRIED.copy()
    carried[::2] = 0
    scores = score_candidates({0: sure(CODES)}, carried, share=1.0)
    assert scores.rows.tolist() == list(range(1, 60, 2))


def test_classes_that_nobody_names_are_named():
    sure_of_one, varied = np.tile([0.99, 0.01, 0.0], (6, 1)), np.tile([0.6, 0.3, 0.1], (6, 1))
    scores = score_candidates({0: sure_of_one, 1: varied}, np.tile([1.0, 0.0, 0.0], (6, 1)))
    assert scores.missing == (1, 2)
    assert "no row was confidently labelled as class number 1, number 2" in scores.sentence()
    assert "as class b, c" in scores.sentence(["a", "b", "c"])
    assert score_candidates({0: np.eye(3)}, np.eye(3)).missing == ()


def test_the_sentence_says_what_was_compared():
    sentence = score_candidates({0: wrong_on(0.5), 2: sure(CODES)}, CARRIED).sentence()
    assert sentence.startswith(
        "with 2 generated domains between two neighbours the model agrees best with the confident "
    )
    assert sentence.endswith("labels carried along the plans (60 target rows, no target labels; 0: 45.0 %, 2: 80.0 %)")
    assert "all candidates" in score_candidates({0: sure(CODES)}).sentence()


@pytest.mark.parametrize(
    ("candidates", "options", "words"),
    [
        ({}, {}, "no candidate"),
        ({0: np.ones((3, 2)) / 2, 1: np.ones((4, 2)) / 2}, {}, "candidate 1 has probabilities of shape"),
        ({0: np.array([[2.0, -1.0]])}, {}, "softmax"),
        ({0: np.array([[np.nan, 1.0]])}, {}, "softmax"),
        ({0: np.ones((3, 2)) / 2}, {"share": 0.0}, "share must lie"),
        ({0: np.ones((3, 2)) / 2}, {"carried": np.ones((2, 2))}, "carried labels have shape"),
        ({0: np.ones((3, 2)) / 2}, {"carried": np.zeros((3, 2))}, "no row carries"),
        ({0: np.ones((3, 2)) / 2}, {"carried": -np.ones((3, 2))}, "not negative"),
    ],
)
def test_errors_name_the_remedy(candidates, options, words):
    with pytest.raises(InputError, match=words):
        score_candidates(candidates, **options)


def test_a_single_labelled_class_is_not_scored_as_everything():
    one = np.zeros(60, dtype=int)
    scores = score_candidates({0: sure(one, 1.0), 1: sure(one, 0.9)}, np.eye(3)[one], share=1.0)
    assert scores.values == pytest.approx({0: 1 / 3, 1: 0.3})
    sentence = scores.sentence(np.array(["ant", "bee", "cow"]))
    assert "no row was confidently labelled as class bee, cow" in sentence
    assert "100.0 %" not in sentence
