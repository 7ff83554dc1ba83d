"""scikit-learn's own estimator checks, none of them excused."""

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from driftfit import (
    AdaptedClassifier,
    AutoAdaptedClassifier,
    CarriedLabelsClassifier,
    DirectSelfTrainingClassifier,
    GOATClassifier,
    GradualSelfTrainingClassifier,
)
from driftfit.methods import CarriedLabels


@parametrize_with_checks(
    [
        DirectSelfTrainingClassifier(LogisticRegression()),
        GradualSelfTrainingClassifier(LogisticRegression()),
        GOATClassifier(LogisticRegression()),
        GOATClassifier(),
        CarriedLabelsClassifier(),
        AutoAdaptedClassifier(LogisticRegression()),
        AdaptedClassifier(method=CarriedLabels()),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
