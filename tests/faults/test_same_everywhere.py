"""Any number of threads and processes gives the same labels and the same bits."""

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
SCRIPT = """
import json, sys
from made_estimators import MADE, fit_on, made_rows, outputs_of
X = made_rows()[0]
outputs = {n: {k: v.tolist() for k, v in outputs_of(fit_on(MADE[n], X), X).items()} for n in NAMES}
print(json.dumps(outputs))
"""
NAMES = ["HISS", "BayesNetClassifier", "InnerTreeClassifier", "InnerKMeans", "ScaledRidge"]


def test_eight_threads_predict_concurrently():
    models = [fit_on(MADE[name], X) for name in NAMES]
    expected = [outputs_of(model, BIG) for model in models]
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(outputs_of, model, BIG) for _ in range(8) for model in models]
        for future, outputs in zip(futures, expected * 8, strict=True):
            for name, each in future.result().items():
                np.testing.assert_array_equal(each, outputs[name])


@EVERY
def test_number_of_workers(made):
    if "n_jobs" not in made.estimator.get_params() or made.name == "ScaledLogisticRegression":
        return  # scikit-learn's parameter, which has no effect
    one, two = (
        made._replace(estimator=clone(made.estimator).set_params(n_jobs=n_jobs))
        for n_jobs in (1, 2)
    )
    expected, outputs = (outputs_of(fit_on(each, X), X) for each in (one, two))
    for name, each in expected.items():
        np.testing.assert_array_equal(outputs[name], each)


def test_number_of_blas_threads():
    for name in NAMES:
        outputs = []
        for threads in (1, 2):
            with threadpool_limits(threads):
                outputs.append(
                    outputs_of(fit_on(MADE[name], BIG, np.tile(made_rows()[1], 50)), BIG)
                )
        for method in ("predict",):
            if method in outputs[0] and outputs[0][method].dtype.kind != "f":
                np.testing.assert_array_equal(outputs[0][method], outputs[1][method])


def test_other_process_gives_the_same_bits():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("NAMES", repr(NAMES))], check=True,
        cwd=Path(__file__).parents[1], capture_output=True, text=True,
    )  # fmt: skip
    for name, outputs in json.loads(done.stdout.splitlines()[-1]).items():
        here = outputs_of(fit_on(MADE[name], X), X)
        for method, each in outputs.items():
            np.testing.assert_array_equal(np.array(each), here[method])


def _fit_and_predict(name):
    return outputs_of(fit_on(MADE[name], X), X)


@pytest.mark.skipif(os.name != "posix", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_fork_and_spawn(start):
    context = multiprocessing.get_context(start)
    names = NAMES[:2]
    with context.Pool(1) as pool:
        there = pool.map_async(_fit_and_predict, names).get(timeout=120)
    for name, outputs in zip(names, there, strict=True):
        for method, each in _fit_and_predict(name).items():
            np.testing.assert_array_equal(outputs[method], each)
