"""Clusters as a table of colours."""

import numpy as np

from ensemblage.methods import Prototype
from ensemblage.report._prototype_figure import prototype_figure


def test_prototypes_of_words_are_not_drawn():
    assert prototype_figure([Prototype(0, 2, {"kind": "a"})], {}) is None
    gone = {"x": np.array([np.nan, np.nan])}
    assert prototype_figure([Prototype(0, 2, {"x": None})], gone) is None


def test_of_many_columns_the_telling_ones_are_drawn():
    rng = np.random.default_rng(0)
    rows = {f"c{j:02d}": rng.normal(size=30) for j in range(40)}
    prototypes = [Prototype(k, 15, {name: k * j for j, name in enumerate(rows)}) for k in (0, 1)]
    block = prototype_figure(prototypes, rows)
    names = [name for name, _ in block.rows]
    assert "c39" in names
    assert "c00" not in names
    assert "The 16 columns in which the clusters differ least are left out." in block.caption


def test_levels_are_standard_deviations_from_the_mean_row():
    rows = {"x": np.array([0.0, 2.0])}
    block = prototype_figure([Prototype(0, 1, {"x": 0.0}), Prototype(1, 1, {"x": 9.0})], rows)
    # mean 1, deviation 1, full strength at 2
    assert [shade.level for shade in block.rows[0][1]] == [-0.5, 1.0]
    assert block.signed
