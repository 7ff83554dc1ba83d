"""scikit-learn's own estimator checks on `TorchClassifier`, none of them excused."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from driftfit.models.torch.classifier import TorchClassifier
from driftfit.models.torch.training import Adam


@parametrize_with_checks([TorchClassifier(epochs=20, optimiser=Adam(0.01, 0.0), device="cpu")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
