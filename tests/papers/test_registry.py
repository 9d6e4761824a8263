import pkgutil
from importlib import import_module

import pytest

import ensemblage.papers
from ensemblage.papers import PAPER_EXPERIMENTS, paper_experiment
from ensemblage.papers import _declaration as _paper_table
from ensemblage.papers._declaration import PaperTable, find_table


def test_all_are_there():
    assert set(PAPER_EXPERIMENTS) == {
        "flagship", "hiss-members", "hiss-multiclass", "hiss-readings", "hiss-table2",
        "hiss-table3", "inner-figure2", "inner-noise", "inner-sampling", "inner-table1",
        "inner-table2", "inner-table3", "inner-tree", "joint-figure1", "joint-figure2",
        "joint-table2", "pool-peers", "sources", "sources-multilevel",
    }  # fmt: skip


@pytest.mark.parametrize("name", PAPER_EXPERIMENTS)
def test_every_name_is_a_table_of_the_registry(name):
    table = find_table(name)
    assert isinstance(table, PaperTable)
    assert table.name == name
    assert table.printed.title


def test_every_table_of_the_registry_has_a_name():
    for module in pkgutil.walk_packages(ensemblage.papers.__path__, "ensemblage.papers."):
        import_module(module.name)
    assert sorted(_paper_table._TABLES) == sorted(PAPER_EXPERIMENTS)


def test_unknown_arguments_are_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"Unknown experiment 'hiss-table4'.*hiss-table2, hiss-table3"
    ):
        paper_experiment("hiss-table4")
    with pytest.raises(ValueError, match="scale='huge' is not one of: quick"):
        paper_experiment("hiss-table2", scale="huge")
    with pytest.raises(ValueError, match="seed=-1 is negative"):
        paper_experiment("hiss-table2", seed=-1)
    with pytest.raises(ValueError, match=r"no dataset 'iris'\. Its datasets are: ecoli, pendigits"):
        paper_experiment("hiss-table2", datasets=["iris"])
    with pytest.raises(ValueError, match="which is not a folder"):
        paper_experiment("hiss-table2", data_dir=tmp_path / "nowhere")
