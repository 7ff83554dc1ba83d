"""scikit-learn's own estimator checks, none of them excused."""

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from gradapt import DirectSelfTraining, GOATClassifier, GradualSelfTrainingClassifier


@parametrize_with_checks(
    [
        DirectSelfTraining(LogisticRegression()),
        GradualSelfTrainingClassifier(LogisticRegression()),
        GOATClassifier(LogisticRegression()),
        GOATClassifier(),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
