"""scikit-learn's own estimator checks on the baselines, none of them excused."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from driftfit import CoViClassifier, DANNClassifier, DeepCoralClassifier, DeepJDOTClassifier, TorchClassifier
from driftfit.models.torch.training import Adam

# Without sample_domain nothing is adapted, so these are checks of the manners; a few epochs keep them quick.
BASELINES = (CoViClassifier, DANNClassifier, DeepCoralClassifier, DeepJDOTClassifier)


@parametrize_with_checks(
    [baseline(TorchClassifier(epochs=20, optimiser=Adam(0.01, 0.0), device="cpu")) for baseline in BASELINES]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
