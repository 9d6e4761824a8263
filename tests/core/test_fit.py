import sys
from importlib.util import module_from_spec, spec_from_file_location

import pytest
from sklearn.base import BaseEstimator

from ensemblage._core import _fit as _callbacks


def make_counter(module):
    class Counter(module.CallbackSupportMixin, BaseEstimator):
        """Takes three steps, unless it is asked to stop."""

        @module.with_callbacks
        def fit(self, X=None, y=None):
            with module.fit_progress(self, "step", 3) as step:
                self.stopped_ = [step() for _ in range(3)]
            return self

    return Counter()


@pytest.fixture
def without(monkeypatch):
    """The module as it is where scikit-learn has no callbacks."""
    monkeypatch.setitem(sys.modules, "sklearn.callback", None)
    spec = spec_from_file_location("without_callbacks", _callbacks.__file__)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_callbacks_a_fit_does_not_stop():
    assert make_counter(_callbacks).fit().stopped_ == [False, False, False]


def test_where_scikit_learn_has_no_callbacks_a_fit_has_none_either(without):
    counter = make_counter(without)
    assert counter.fit().stopped_ == [False, False, False]
    assert not hasattr(counter, "set_callbacks")
    assert vars(counter) == {"stopped_": [False, False, False]}
