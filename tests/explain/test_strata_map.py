"""Maps of the strata that matter."""

import numpy as np
import pytest

from ensemblage.explain._explanation import Subject
from ensemblage.explain._strata_map import strata_map
from ensemblage.pages import TextBlock
from ensemblage.strata import HISS, BootstrapStrata

X = np.random.default_rng(0).normal(size=(60, 3))
NAMES = [f"stratum {k}" for k in range(9)]


@pytest.fixture(scope="module")
def strata():
    return HISS(9, 0.3, random_state=0).fit(X)


def test_few_strata_are_all_shown_in_their_order():
    few = HISS(3, 0.3, random_state=0).fit(X)
    block = strata_map(Subject(few, X=X, y=np.array(["a", "b"] * 30)), NAMES)
    assert [panel.title for panel in block.panels] == NAMES[:3]
    assert block.groups == ["a", "b"] * 30
    assert len(block.points) == 60
    assert block.mark is None
    memberships = few.transform(X)
    for k, panel in enumerate(block.panels):
        assert panel.rows == np.flatnonzero(memberships[:, k] >= 0.5).tolist()
        assert panel.text == f"{len(panel.rows)} rows"


def test_of_many_strata_the_rows_own_come_first(strata):
    block = strata_map(Subject(strata, X=X, row=7), NAMES)
    assert len(block.panels) == 6
    own = {NAMES[k] for k in np.flatnonzero(strata.transform(X)[7] >= 0.5)}
    assert {panel.title for panel in block.panels if panel.own} == own
    assert all(panel.own for panel in block.panels[: len(own)])
    assert (block.mark, block.mark_name) == (7, "row 7")
    assert "6 of the 9 strata, the row's own first" in block.caption


def test_the_stratum_that_decided_comes_before_the_others(strata):
    shares = [0.0] * 9
    decided = int(np.flatnonzero(strata.transform(X)[7] >= 0.5)[-1])
    shares[decided] = 1.0
    block = strata_map(Subject(strata, X=X, row=7), NAMES, shares)
    assert block.panels[0].title == NAMES[decided]


def test_no_map_where_there_is_none():
    alike = BootstrapStrata(3, random_state=0).fit(X)
    assert isinstance(strata_map(Subject(alike, X=X), NAMES), TextBlock)
    narrow = HISS(2, 0.4, random_state=0).fit(X[:, :1])
    said = strata_map(Subject(narrow, X=X[:, :1]), NAMES).paragraphs
    assert said == ["A map needs at least two columns; the strata see 1."]
