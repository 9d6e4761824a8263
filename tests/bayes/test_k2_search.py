import math
from copy import copy
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from bayes.coded import as_lists, draw, space
from ensemblage.bayes import BayesNetClassifier, _k2_search
from ensemblage.bayes._coding import CodedRows
from ensemblage.bayes._k2_search import (
    LeaveOneOutMeasure,
    compress_views,
    k2_search,
    make_measure,
)
from ensemblage.bayes._search_space import Candidates, Structure
from ensemblage.inner import InnerEnsemble, draw_views
from ensemblage.kernels import NO_EXTRA, PROBABILITY, Nodes
from reference import k2 as slow


def test_a_step_that_is_true_keeps_what_there_is():
    """Each feature likes its last candidate best; the search is stopped after two of three."""
    steps = iter([False, True])

    def last(candidates):
        assert candidates.extras[0] == NO_EXTRA
        return np.arange(len(candidates.extras), dtype=float)

    found = k2_search(last, space([3, 1, 2], "empty", 2), lambda: next(steps))
    assert found.parents == ((), (3, 0), (), (0,))


@pytest.mark.parametrize("metric", ["accuracy", "probability", "log"])
@pytest.mark.parametrize("init", ["naive", "empty"])
def test_structures_equal_algorithm_2(metric, init):
    for seed in range(4):
        rows = draw(seed)
        lists, sizes = as_lists(rows)
        view = np.ones(rows.n_rows)
        measure = make_measure(metric, rows, 0.5)
        found = k2_search(partial(measure, view=view), space([1, 2, 3], init)).parents
        expected = slow.k2(
            lambda s, r=lists, z=sizes: slow.leave_one_out(r, [1.0] * len(r), z, s, metric),
            len(sizes), init, 3,
        )  # fmt: skip
        assert [list(parents) for parents in found] == expected


def test_inner_structures_equal_algorithm_4():
    for seed in range(3):
        rows = draw(seed)
        lists, sizes = as_lists(rows)
        views = (np.random.default_rng(seed).random((3, rows.n_rows)) < 0.6).astype(float)
        crowd = InnerEnsemble(make_measure("probability", rows, 0.5), lambda _, v=views: v)
        expected = slow.k2(
            lambda s, r=lists, v=views, z=sizes: slow.ensemble_leave_one_out(
                r, v.tolist(), z, s, "probability"
            ),
            len(sizes), "naive", 3,
        )  # fmt: skip
        found = k2_search(crowd, space([1, 2, 3])).parents
        assert [list(parents) for parents in found] == expected


@given(seed=st.integers(0, 200), share=st.floats(0.1, 1.0), replace=st.booleans())
@settings(max_examples=30, deadline=None)
def test_scores_of_the_first_views_are_those_of_a_measure_that_saw_no_others(seed, share, replace):
    rows = draw(seed, n_rows=30, sizes=(2, 3, 4, 4))
    views = draw_views(rows.n_rows, range(seed, seed + 6), share, replace)
    measure = make_measure("probability", rows, 0.5)
    measure.see(views)
    structure = Structure(((), (0,), (0, 1), ()))
    for node, extras in ((2, [NO_EXTRA, 3]), (3, [NO_EXTRA, 0, 1]), (1, [NO_EXTRA, 2, 3])):
        candidates = Candidates(structure, node, np.array(extras))
        found = measure.score_first(candidates, [1, 4, 6])
        part = copy(measure)
        part.keep_first(4)
        for size, scores in zip([1, 4, 6], found, strict=True):
            fresh = make_measure("probability", rows, 0.5).score_views(candidates, views[:size])
            assert np.array_equal(scores, fresh) or node != 2  # later ones have taken nodes out
            assert scores == pytest.approx(fresh, rel=1e-9)
        assert np.array_equal(part.score_first(candidates, [4])[0], found[1])
    assert measure.n_views == 6


def test_views_keep_their_rows_of_positive_weight():
    rows, starts, weights = compress_views(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    assert rows.tolist() == [1, 0, 2]
    assert starts.tolist() == [0, 1, 3]
    assert weights.tolist() == [2, 1, 3]


def test_hand_computed_scores_of_a_single_feature():
    # class 0 0 1 1, feature 0 0 1 0; naive network, each row left out of its own entries
    columns = np.array([[0, 0, 1, 1], [0, 0, 1, 0]], dtype=np.int32)
    rows = CodedRows(Nodes(columns, np.array([2, 2])), ["class", "x"])
    measure = make_measure("probability", rows, 0.5)
    score = measure(Candidates(Structure(((), (0,))), 1, np.array([NO_EXTRA])), np.ones(4))
    expected = []
    # rows 1, 2: prior 1.5/4 to 2.5/4; P(0 | 0) = 1.5/2, P(0 | 1) = 1.5/3
    own, other = 1.5 / 4 * 1.5 / 2, 2.5 / 4 * 1.5 / 3
    expected += [own / (own + other)] * 2
    # row 3: P(1 | 1) = 0.5/2, P(1 | 0) = 0.5/3; row 4: P(0 | 1) = 0.5/2, P(0 | 0) = 2.5/3
    own, other = 1.5 / 4 * 0.5 / 2, 2.5 / 4 * 0.5 / 3
    expected.append(own / (own + other))
    own, other = 1.5 / 4 * 0.5 / 2, 2.5 / 4 * 2.5 / 3
    expected.append(own / (own + other))
    assert score[0] == pytest.approx(np.mean(expected), abs=1e-14)


@pytest.mark.parametrize("metric", ["accuracy", "probability", "log"])
@pytest.mark.parametrize("seed", range(6))
def test_scores_equal_algorithm_3(metric, seed):
    rows = draw(seed, sizes=(2 + seed % 2, 3, 2, 2))
    lists, sizes = as_lists(rows)
    structure = Structure(((), (0,), (0, 1), () if seed % 3 == 0 else (0,)))
    extras = np.array([NO_EXTRA, 1, 2] + ([0] if seed % 3 == 0 else []))
    measure = make_measure(metric, rows, 0.5)
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], 24)
    for view in (np.ones(24), weights):
        found = measure(Candidates(structure, 3, extras), view)
        for extra, score in zip(extras, found, strict=True):
            trial = [list(p) for p in structure.parents]
            trial[3] += [] if extra == NO_EXTRA else [int(extra)]
            expected = slow.leave_one_out(lists, view.tolist(), sizes, trial, metric)
            assert score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["accuracy", "probability", "log"])
@pytest.mark.parametrize("seed", range(5))
def test_by_entry_and_by_row_agree(metric, seed, monkeypatch):
    rows = draw(seed, n_rows=60, sizes=(3, 3, 2, 2))
    views = np.random.default_rng(seed).choice([0.0, 1.0, 3.0], (4, 60))
    candidates = Candidates(Structure(((), (0,), (0, 1), (0,))), 3, np.array([NO_EXTRA, 1, 2]))
    by_entry = make_measure(metric, rows, 0.5)
    by_row = make_measure(metric, rows, 0.5)
    with monkeypatch.context() as patch:
        patch.setattr(_k2_search, "leave_one_out_scores", None)
        first = by_entry.score_views(candidates, views)
    monkeypatch.setattr(_k2_search, "leave_one_out_scores_by_entry", None)
    by_row.see(views)
    by_row._fewest_rows = [-1] * len(views)
    np.testing.assert_allclose(by_row.score_views(candidates, views), first, atol=1e-13)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from(["accuracy", "probability", "log"]))
def test_copies_and_weights_are_the_same(seed, metric):
    rows = draw(seed, n_rows=20)
    weights = np.random.default_rng(seed).integers(1, 4, 20)
    codes = np.ascontiguousarray(rows.nodes.codes.repeat(weights, axis=1))
    copied = CodedRows(rows.nodes._replace(codes=codes), rows.names)
    candidates = Candidates(Structure(((), (0,), (0,), (0,))), 3, np.array([NO_EXTRA, 1, 2]))
    weighted = make_measure(metric, rows, 0.5)(candidates, weights.astype(float))
    repeated = make_measure(metric, copied, 0.5)(candidates, np.ones(weights.sum()))
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)


def test_ratios_follow_the_structure():
    """The kept ratios after many changes are those of a fresh measure."""
    rows = draw(3, n_rows=40)
    view = np.ones(40)
    kept = LeaveOneOutMeasure(rows, PROBABILITY, 0.5)
    structure = Structure(((), (0,), (0,), (0,)))
    for node, parents in ((1, (0,)), (2, (0, 1)), (3, (0, 2, 1)), (1, ())):
        families = list(structure.parents)
        families[node] = parents
        structure = Structure(tuple(families))
        for asked in (1, 2, 3):
            candidates = Candidates(structure, asked, np.array([NO_EXTRA]))
            fresh = LeaveOneOutMeasure(rows, PROBABILITY, 0.5)
            np.testing.assert_allclose(kept(candidates, view), fresh(candidates, view), rtol=1e-12)


def test_local_scores_by_hand():
    columns = np.array([[0, 0, 1, 1], [0, 0, 1, 0]], dtype=np.int32)
    rows = CodedRows(Nodes(columns, np.array([2, 2])), ["class", "x"])
    candidates = Candidates(Structure(((), ())), 1, np.array([NO_EXTRA, 0]))
    bic = make_measure("bic", rows, 0.5)(candidates, np.ones(4))
    alone = 3 * math.log(3 / 4) + math.log(1 / 4) - 0.5 * math.log(4)
    under_class = 2 * math.log(1 / 2) - 0.5 * math.log(4) * 2
    np.testing.assert_allclose(bic, [alone, under_class])
    uniform = make_measure("k2", rows, 0.5)(candidates, np.ones(4))
    # (r - 1)! / (N + r - 1)! times the factorials of the counts
    np.testing.assert_allclose(uniform, np.log([6 / 120, (2 / 6) * (1 / 6)]))
    bdeu = make_measure("bdeu", rows, 0.5)(candidates, np.ones(4))
    lg = math.lgamma
    alone = lg(1) - lg(5) + lg(3.5) - lg(0.5) + lg(1.5) - lg(0.5)
    rows = lg(0.5) - lg(2.5) + lg(2.25) - lg(0.25)
    mixed = lg(0.5) - lg(2.5) + 2 * (lg(1.25) - lg(0.25))
    np.testing.assert_allclose(bdeu, [alone, rows + mixed])


def test_many_columns_do_not_overflow_the_odds():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = np.where(rng.random((100, 1500)) < 0.9, y[:, None], 1 - y[:, None]).astype(str)
    network = BayesNetClassifier(max_parents=1).fit(X, y)
    assert np.isfinite(network.predict_log_proba(X)).all()
    assert network.score(X, y) == 1.0


def test_weights_of_any_scale_leave_numbers_finite():
    X, y = load_iris(return_X_y=True)
    weights = np.random.default_rng(0).gamma(0.01, size=150) + 1e-9
    network = BayesNetClassifier().fit(X, y, sample_weight=weights)
    assert np.isfinite(network.predict_log_proba(X)).all()
