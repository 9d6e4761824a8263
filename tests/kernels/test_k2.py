import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensemblage.bayes._cells import Configurations
from ensemblage.bayes._measures import Candidates, LeaveOneOutMeasure, Structure, make_measure
from ensemblage.bayes._search import k2_search
from ensemblage.inner import InnerEnsemble
from ensemblage.kernels import _k2 as kernels
from reference import k2 as slow


def draw(seed, n_rows=24, sizes=(2, 3, 2, 2)):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, sizes[0], n_rows)
    rows = [label]
    for size in sizes[1:]:
        noise = rng.integers(0, size, n_rows)
        rows.append(np.where(rng.random(n_rows) < 0.5, noise, (label + rows[-1]) % size))
    columns = np.ascontiguousarray(rows, dtype=np.int32)
    return Configurations(columns, np.array(sizes, dtype=np.int64), list("cabd")[: len(sizes)])


def as_rows(cells):
    return cells.columns.T.tolist(), cells.n_categories.tolist()


def test_hand_computed_scores_of_a_single_feature():
    # class 0 0 1 1, feature 0 0 1 0; naive network, each row left out of its own cells
    columns = np.array([[0, 0, 1, 1], [0, 0, 1, 0]], dtype=np.int32)
    cells = Configurations(columns, np.array([2, 2]), ["class", "x"])
    measure = make_measure("probability", cells, 0.5)
    score = measure(Candidates(Structure([[], [0]]), 1, np.array([1])), np.ones(4))
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
    cells = draw(seed, sizes=(2 + seed % 2, 3, 2, 2))
    rows, sizes = as_rows(cells)
    structure = Structure([[], [0], [0, 1], [] if seed % 3 == 0 else [0]])
    extras = np.array([3, 1, 2] + ([0] if seed % 3 == 0 else []))
    measure = make_measure(metric, cells, 0.5)
    weights = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 2.0], 24)
    for view in (np.ones(24), weights):
        found = measure(Candidates(structure, 3, extras), view)
        for extra, score in zip(extras, found, strict=True):
            trial = [list(p) for p in structure.parents]
            trial[3] += [] if extra == 3 else [int(extra)]
            expected = slow.leave_one_out(rows, view.tolist(), sizes, trial, metric)
            assert score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["accuracy", "probability", "log"])
@pytest.mark.parametrize("seed", range(5))
def test_by_cell_and_by_row_agree(metric, seed):
    cells = draw(seed, n_rows=60, sizes=(3, 3, 2, 2))
    views = np.random.default_rng(seed).choice([0.0, 1.0, 3.0], (4, 60))
    candidates = Candidates(Structure([[], [0], [0, 1], [0]]), 3, np.array([3, 1, 2]))
    by_cell = make_measure(metric, cells, 0.5)
    by_row = make_measure(metric, cells, 0.5)
    first = by_cell.score_views(candidates, views)
    assert by_cell._whole_rows
    assert "factors" in by_cell._buffers
    by_row.score_views(candidates, views)
    by_row._few_cells = -1
    np.testing.assert_allclose(by_row.score_views(candidates, views), first, atol=1e-13)


@pytest.mark.parametrize("metric", ["accuracy", "probability", "log"])
@pytest.mark.parametrize("init", ["naive", "empty"])
def test_structures_equal_algorithm_2(metric, init):
    for seed in range(4):
        cells = draw(seed)
        rows, sizes = as_rows(cells)
        view = np.ones(len(rows))
        measure = make_measure(metric, cells, 0.5)
        found = k2_search(lambda c, m=measure, v=view: m(c, v), [1, 2, 3], init, 3).parents
        expected = slow.k2(
            lambda s, r=rows, z=sizes: slow.leave_one_out(r, [1.0] * len(r), z, s, metric),
            len(sizes), init, 3,
        )  # fmt: skip
        assert found == expected


def test_inner_structures_equal_algorithm_4():
    for seed in range(3):
        cells = draw(seed)
        rows, sizes = as_rows(cells)
        views = (np.random.default_rng(seed).random((3, len(rows))) < 0.6).astype(float)
        crowd = InnerEnsemble(make_measure("probability", cells, 0.5), lambda _, v=views: v)
        expected = slow.k2(
            lambda s, r=rows, v=views, z=sizes: slow.ensemble_leave_one_out(
                r, v.tolist(), z, s, "probability"
            ),
            len(sizes), "naive", 3,
        )  # fmt: skip
        assert k2_search(crowd, [1, 2, 3], "naive", 3).parents == expected


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from(["accuracy", "probability", "log"]))
def test_copies_and_weights_are_the_same(seed, metric):
    cells = draw(seed, n_rows=20)
    weights = np.random.default_rng(seed).integers(1, 4, 20)
    copied = Configurations(
        np.ascontiguousarray(cells.columns.repeat(weights, axis=1)), cells.n_categories, cells.names
    )
    candidates = Candidates(Structure([[], [0], [0], [0]]), 3, np.array([3, 1, 2]))
    weighted = make_measure(metric, cells, 0.5)(candidates, weights.astype(float))
    repeated = make_measure(metric, copied, 0.5)(candidates, np.ones(weights.sum()))
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)


def test_ratios_follow_the_structure():
    """The kept ratios after many changes are those of a fresh measure."""
    cells = draw(3, n_rows=40)
    view = np.ones(40)
    kept = LeaveOneOutMeasure(cells, kernels.PROBABILITY, 0.5)
    structure = Structure([[], [0], [0], [0]])
    for node, parents in ((1, [0]), (2, [0, 1]), (3, [0, 2, 1]), (1, [])):
        structure.parents[node] = parents
        for asked in (1, 2, 3):
            candidates = Candidates(structure, asked, np.array([asked]))
            fresh = LeaveOneOutMeasure(cells, kernels.PROBABILITY, 0.5)
            np.testing.assert_allclose(kept(candidates, view), fresh(candidates, view), rtol=1e-12)


def test_local_scores_by_hand():
    columns = np.array([[0, 0, 1, 1], [0, 0, 1, 0]], dtype=np.int32)
    cells = Configurations(columns, np.array([2, 2]), ["class", "x"])
    candidates = Candidates(Structure([[], []]), 1, np.array([1, 0]))
    bic = make_measure("bic", cells, 0.5)(candidates, np.ones(4))
    alone = 3 * math.log(3 / 4) + math.log(1 / 4) - 0.5 * math.log(4)
    under_class = 2 * math.log(1 / 2) - 0.5 * math.log(4) * 2
    np.testing.assert_allclose(bic, [alone, under_class])
    uniform = make_measure("k2", cells, 0.5)(candidates, np.ones(4))
    # (r - 1)! / (N + r - 1)! times the factorials of the counts
    np.testing.assert_allclose(uniform, np.log([6 / 120, (2 / 6) * (1 / 6)]))
    bdeu = make_measure("bdeu", cells, 0.5)(candidates, np.ones(4))
    lg = math.lgamma
    alone = lg(1) - lg(5) + lg(3.5) - lg(0.5) + lg(1.5) - lg(0.5)
    rows = lg(0.5) - lg(2.5) + lg(2.25) - lg(0.25)
    mixed = lg(0.5) - lg(2.5) + 2 * (lg(1.25) - lg(0.25))
    np.testing.assert_allclose(bdeu, [alone, rows + mixed])


@pytest.mark.parametrize(
    "kernel",
    [
        "leave_one_out_scores", "leave_one_out_scores_by_cell", "add_log_ratios", "local_scores",
    ],
)  # fmt: skip
def test_the_compiled_kernels_are_the_python_ones(kernel, monkeypatch):
    from ensemblage.bayes import _measures

    cells = draw(1, n_rows=50)
    views = np.random.default_rng(1).choice([0.0, 1.0], (2, 50))
    if kernel == "leave_one_out_scores":
        views = views / 2
    candidates = Candidates(Structure([[], [0], [0, 1], [0]]), 3, np.array([3, 1, 2]))
    scores = (
        ("bic", "k2", "bdeu") if kernel == "local_scores" else ("accuracy", "probability", "log")
    )
    for score in scores:
        expected = make_measure(score, cells, 0.5).score_views(candidates, views)
        with monkeypatch.context() as patch:
            patch.setattr(_measures, kernel, getattr(kernels, kernel).python)
            found = make_measure(score, cells, 0.5).score_views(candidates, views)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
