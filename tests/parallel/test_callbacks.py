from sklearn.base import BaseEstimator

from ensemblage.parallel import CallbackSupportMixin, fit_progress, with_callbacks


class Counter(CallbackSupportMixin, BaseEstimator):
    """Takes three steps, unless it is asked to stop."""

    @with_callbacks
    def fit(self, X=None, y=None):
        with fit_progress(self, "step", 3) as step:
            self.stopped_ = [step() for _ in range(3)]
        return self


def test_without_callbacks_nobody_asks_to_stop():
    assert Counter().fit().stopped_ == [False, False, False]
