"""Threads, processes, their number, and how they start: the same labels, and the same bits."""

import json
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from made_estimators import MADE, fit_on, made_rows, outputs_of

X, _, _ = made_rows()
BIG = np.tile(X, (50, 1))
EVERY = pytest.mark.parametrize("made", MADE.values(), ids=MADE)
ELSEWHERE = """
import json, sys
from made_estimators import MADE, fit_on, made_rows, outputs_of
X = made_rows()[0]
said = {n: {k: v.tolist() for k, v in outputs_of(fit_on(MADE[n], X), X).items()} for n in NAMES}
print(json.dumps(said))
"""
NAMES = ["HISS", "BayesNetClassifier", "InnerTreeClassifier", "InnerKMeans", "ScaledRidge"]


def test_eight_threads_ask_at_once():
    models = [fit_on(MADE[name], X) for name in NAMES]
    expected = [outputs_of(model, BIG) for model in models]
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(outputs_of, model, BIG) for _ in range(8) for model in models]
        for future, said in zip(asked, expected * 8, strict=True):
            for name, each in future.result().items():
                np.testing.assert_array_equal(each, said[name])


@EVERY
def test_one_worker_or_two(made):
    if "n_jobs" not in made.estimator.get_params() or made.name == "ScaledLogisticRegression":
        return  # scikit-learn's own parameter, which has no effect any more
    one, two = (
        made._replace(estimator=clone(made.estimator).set_params(n_jobs=n_jobs))
        for n_jobs in (1, 2)
    )
    expected, said = (outputs_of(fit_on(each, X), X) for each in (one, two))
    for name, each in expected.items():
        np.testing.assert_array_equal(said[name], each)


def test_one_thread_of_linear_algebra_or_two():
    for name in NAMES:
        said = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                said.append(outputs_of(fit_on(MADE[name], BIG, np.tile(made_rows()[1], 50)), BIG))
        for method in ("predict",):
            if method in said[0] and said[0][method].dtype.kind != "f":
                np.testing.assert_array_equal(said[0][method], said[1][method])


def test_another_process_has_the_same_bits():
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE.replace("NAMES", repr(NAMES))], check=True,
        cwd=Path(__file__).parents[1], capture_output=True, text=True,
    )  # fmt: skip
    for name, said in json.loads(done.stdout.splitlines()[-1]).items():
        here = outputs_of(fit_on(MADE[name], X), X)
        for method, each in said.items():
            np.testing.assert_array_equal(np.array(each), here[method])


def _ask(name):
    return outputs_of(fit_on(MADE[name], X), X)


@pytest.mark.skipif(os.name != "posix", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes_started_in_any_way(start):
    context = multiprocessing.get_context(start)
    names = NAMES[:2]
    with context.Pool(1) as pool:
        there = pool.map_async(_ask, names).get(timeout=120)
    for name, said in zip(names, there, strict=True):
        for method, each in _ask(name).items():
            np.testing.assert_array_equal(said[method], each)
