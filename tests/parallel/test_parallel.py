import os
import signal
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from ensemblage.parallel import draw_seeds, run_tasks, set_seed


def square(x):
    return x * x


def die_once(x, folder):
    """Kill the worker process itself the first time that task 3 is tried."""
    marker = Path(folder) / "died"
    if x == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    (Path(folder) / f"{x}-{os.getpid()}").touch()
    return x


def always_die(x):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    assert run_tasks(square, [(x,) for x in range(20)], n_jobs) == [x * x for x in range(20)]


def test_no_task_no_result():
    assert run_tasks(square, []) == []


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_killed_worker_is_replaced(tmp_path, caplog):
    assert run_tasks(die_once, [(x, str(tmp_path)) for x in range(8)], 2) == list(range(8))
    assert "A worker process died" in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL on Windows")
def test_a_task_that_always_kills_its_worker_is_given_up():
    with pytest.raises(BrokenProcessPool):
        run_tasks(always_die, [(0,), (1,)], 2)


def test_an_error_of_a_task_reaches_the_caller():
    with pytest.raises(TypeError, match="can't multiply"):
        run_tasks(square, [("a",)])


def test_seeds_are_distinct_repeatable_and_fit_scikit_learn():
    seeds = draw_seeds(0, 1000)
    assert seeds == draw_seeds(0, 1000)
    # published figures hang on these
    assert seeds[:3] == [379343378, 1004485355, 574019116]
    assert seeds[:10] == draw_seeds(0, 10)
    assert len(set(seeds)) == 1000
    assert min(seeds) >= 0
    assert max(seeds) < 2**31


def test_a_generator_moves_on():
    rng = np.random.RandomState(0)
    assert draw_seeds(rng, 3) != draw_seeds(rng, 3)


def test_nested_random_states_are_all_set():
    model = set_seed(make_pipeline(SVC(), LogisticRegression()), 7)
    params = model.get_params()
    assert params["svc__random_state"] != params["logisticregression__random_state"]
    assert params["svc__random_state"] is not None
    assert (
        set_seed(make_pipeline(SVC(), LogisticRegression()), 7).get_params()["svc__random_state"]
        == params["svc__random_state"]
    )
