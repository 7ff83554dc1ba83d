"""A bound on the target error from data, and distances with the noise taken out."""

import time
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from driftfit.datasets.toy import moving_gaussians, rotating_moons
from driftfit.domains import Domain, DomainSequence
from driftfit.errors import InputError
from driftfit.lab.demo import SCENES
from driftfit.methods import GOAT
from driftfit.selection import SourceCrossing, class_distances, debiased_wasserstein, error_certificate
from driftfit.selection.moves import LabelledPoints, Moves
from driftfit.selection.view import encoded_rows

GUESS = SourceCrossing()


def target_error(found, sequence):
    rows = found.rows[-1]
    answers = found.adapted.classes[found.adapted.logits(sequence.target.samples[rows]).argmax(axis=1)]
    return float(np.mean(answers != sequence.target.labels[rows]))


@pytest.mark.parametrize("name", ["gaussians", "moons"])
def test_a_bound_below_one_on_the_path_of_the_demo(name):
    scene = SCENES[name]
    for seed in range(3):
        sequence = scene.make(seed=seed)
        started = time.perf_counter()
        found = error_certificate(
            sequence, scene.make_classifier(), crossing=GUESS, method=GOAT(n_generated=scene.n_generated), seed=seed
        )
        assert time.perf_counter() - started < 60
        assert target_error(found, sequence) <= found.bound.total < 1.0
        # What is guessed on the source vouches for nothing.
        assert found.bound.probability is None
        assert found.bound.standing.kind.value == "heuristic"


def test_the_bound_holds_with_the_crossing_that_is_true():
    # Labels of all domains are looked at here, to give the assumption its true value: then nothing may fail but the
    # draw of the target, and against the counted rows not even that.
    for seed in range(8):
        sequence = moving_gaussians((0, 0.8, 1.6), n_samples=120, seed=seed)
        found = error_certificate(sequence, LogisticRegression(), crossing=1.0, seed=seed)
        points = [
            LabelledPoints(domain.samples[rows], domain.labels[rows])
            for domain, rows in zip(sequence, found.rows, strict=True)
        ]
        true = sum(Moves.between(a, b).crossing for a, b in pairwise(points))
        counted = found.bound["source error"] + found.bound["disagreement"] + true
        assert target_error(found, sequence) <= counted + 1e-9


def turning_groups(seed, angles=(0, 75, 150), n=300):
    """Two groups on opposite sides of the origin that turn, in the worst of cases until each stands for the other."""
    rng, domains = np.random.default_rng(seed), []
    for angle in np.deg2rad(angles):
        labels = np.arange(n) % 2
        centres = np.outer(4.0 * labels - 2.0, [np.cos(angle), np.sin(angle)])
        domains.append(Domain(centres + 0.5 * rng.normal(size=(n, 2)), labels, name=f"{angle:.2f}"))
    return DomainSequence(domains)


def true_crossing(found, sequence):
    points = [
        LabelledPoints(encoded_rows(found.source, domain.samples[rows]), domain.labels[rows])
        for domain, rows in zip(sequence, found.rows, strict=True)
    ]
    return max(Moves.between(a, b).crossing for a, b in pairwise(points))


def test_groups_that_turn_break_the_guess_and_so_it_is_no_guarantee():
    for seed in range(6):
        path = turning_groups(seed)
        guessed = error_certificate(path, LogisticRegression(), crossing=GUESS, seed=seed)
        error = target_error(guessed, path)
        assert error > guessed.bound.total
        assert guessed.guessed
        assert guessed.bound.probability is None
        assert "a shift can join more" in guessed.assumption
        # With a statement that is true the bound holds, and says which statement that is.
        true = true_crossing(guessed, path)
        assert true > guessed.crossing
        stated = error_certificate(path, LogisticRegression(), crossing=true, seed=seed)
        assert error <= stated.bound.total
        assert stated.bound.probability == 0.95
        assert f"more than {100 * true:.3g} % of its mass" in stated.assumption


def test_the_crossing_has_to_be_stated():
    path = moving_gaussians((0, 0.5))
    with pytest.raises(TypeError, match="crossing"):
        error_certificate(path, LogisticRegression())
    with pytest.raises(InputError, match=r"between 0 and 1, or SourceCrossing\(\), got 1\.5"):
        error_certificate(path, LogisticRegression(), crossing=1.5)
    with pytest.raises(InputError, match="n_splits must be a whole number of at least 1, got 0"):
        SourceCrossing(0)
    found = error_certificate(path, LogisticRegression(), crossing=1.0)
    assert found.bound.vacuous()
    assert "mix classes no more than assumed" in str(found.bound)
    assert "no data without target labels show" in str(found.bound)


def test_target_labels_are_not_looked_at():
    path = moving_gaussians((0, 0.5, 1.0))
    spoilt = DomainSequence([path.source, *(Domain(d.samples, 1 - d.labels, name=d.name) for d in path[1:])])
    bounds = [error_certificate(sequence, LogisticRegression(), crossing=GUESS).bound for sequence in (path, spoilt)]
    assert bounds[0] == bounds[1]


def test_an_adaptation_that_went_wrong_has_a_large_bound():
    # One jump of three: self-training turns half of the answers round, and the bound shows it.
    jump = moving_gaussians((0, 3))
    found = error_certificate(jump, LogisticRegression(), crossing=0.1)
    assert target_error(found, jump) > 0.4
    assert found.bound["disagreement"] > 0.4


def test_what_cannot_be_counted_is_refused():
    path = moving_gaussians((0, 0.5))
    with pytest.raises(InputError, match="has 30 samples; the certificate needs 40"):
        error_certificate(DomainSequence([path[0], path[1].take(np.arange(30))]), LogisticRegression(), crossing=0.1)
    weighted = DomainSequence([Domain(d.samples, d.labels, np.arange(1.0, 1 + len(d)), d.name) for d in path])
    with pytest.raises(InputError, match="sample weights, which the certificate does not count"):
        error_certificate(weighted, LogisticRegression(), crossing=0.1)


# Distances ----------------------------------------------------------------------------------------


def test_the_noise_of_many_dimensions_is_taken_out():
    # Two samples of one law in twenty dimensions: the plug-in is as large as a move of four spreads.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 400, 20))
    same, moved = debiased_wasserstein(x, y), debiased_wasserstein(x, y + np.eye(20)[0] * 3.0)
    assert same.plug_in > 4.0
    assert same.value < 1.0
    assert same.low == 0.0
    assert moved.low <= 3.0 <= moved.high
    assert moved.value == pytest.approx(3.0, abs=0.3)


def test_distances_class_by_class():
    before, after = rotating_moons((0, 40), n_samples=200)
    found = class_distances(before.samples, before.labels, after.samples, after.labels)
    assert set(found) == {0, 1}
    assert all(each.low > 0.2 for each in found.values())
    with pytest.raises(InputError, match="needs 20 rows of each sample"):
        debiased_wasserstein(before.samples[:5], after.samples)


@pytest.mark.slow
def test_a_bound_below_one_on_a_real_path(benchmark_data):
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.pipeline import make_pipeline

    from driftfit.datasets import portraits

    if not (benchmark_data / "portraits").is_dir():
        pytest.skip("portraits is not there")
    windows = list(portraits(4, n_samples=1_000, seed=0))[:3]
    path = DomainSequence([Domain(d.samples.reshape(len(d), -1), labels=d.labels, name=d.name) for d in windows])
    model = make_pipeline(PCA(60, random_state=0), LinearDiscriminantAnalysis(n_components=1), LogisticRegression())
    started = time.perf_counter()
    found = error_certificate(path, model, crossing=GUESS)
    assert time.perf_counter() - started < 60
    assert target_error(found, path) <= found.bound.total < 0.6
    # What is assumed of the plans is true of them, by labels that the certificate never saw.
    assert true_crossing(found, path) <= found.crossing
