"""What the scores of compared methods show."""

import numpy as np
import pytest
from msgspec.structs import replace

from ensemblage.methods import MethodScores
from ensemblage.methods._summary import chosen, summarised, verdict

SHARE = 1 / 3


def scores(**accuracies):
    known = np.array([[-1 if x is None else x for x in row] for row in accuracies.values()])
    ranks = np.argsort(np.argsort(-known, axis=0), axis=0) + 1.0
    return tuple(
        MethodScores(
            name=name, label=name, ours=False, accuracy=row, balanced_accuracy=row,
            log_loss=(None,) * len(row), seconds=(1.0,) * len(row), ranks=tuple(own.tolist()),
            failures={i: "out of luck" for i, x in enumerate(row) if x is None}, warnings={},
        )
        for (name, row), own in zip(accuracies.items(), ranks, strict=True)
    )  # fmt: skip


def told(methods):
    return verdict(methods, chosen(methods, SHARE))


def test_a_summary_by_hand():
    a, b = summarised(scores(b=(0.1, None, 0.3), a=(0.4, 0.5, 0.6)), SHARE)
    assert (a.method, a.accuracy, a.mean_rank) == ("a", pytest.approx(0.5), 1.0)
    # s² = 0.01, 3 folds that test a third: (1/3 + 1/2) s²
    assert a.accuracy_se == pytest.approx(np.sqrt(0.01 * 5 / 6))
    assert (b.accuracy, b.failed_folds, b.log_loss) == (pytest.approx(0.2), 1, None)
    # one value has no spread
    assert summarised(scores(c=(0.5, None, None)), SHARE)[0].accuracy_se is None


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ((0.9, 0.9, 0.9), (0.8, 0.8, 0.8), "Choose a (mean accuracy 0.9000), the most accurate"),
        ((0.9, 0.9, 0.7), (0.8, 0.8, 0.8), "does not tell it apart from b"),
        ((0.9, 0.9, 0.1), (0.8, 0.8, 0.8), "Choose b (mean accuracy 0.8000)"),
    ],
)
def test_the_verdict_claims_no_more_than_the_folds_show(a, b, words):
    methods = scores(a=a, b=b)
    assert words in told(methods)
    assert chosen(methods, SHARE).sentence == told(methods)


def test_a_method_that_failed_on_a_fold_is_not_chosen():
    methods = scores(a=(0.9, 0.9, None), b=(0.8, 0.8, 0.8), c=(0.5, 0.5, 0.5))
    assert chosen(methods, SHARE).method == "b"
    assert told(methods[:1]) == "No method has a score on every fold, so there is none to choose."
    assert told(methods[:2]).startswith("Only b has a score on every fold")


def test_what_is_not_there_is_not_compared():
    assert told(scores(a=(), b=())).startswith("No fold was computed by every method")
    assert (
        told(scores(a=(0.5,), b=(0.6,))) == "One fold alone does not show which method to choose."
    )
    failed = scores(a=(None, None))
    assert told(failed) == "Every method failed."
    assert told([replace(failed[0], failures={})]).startswith("No method has a score")
