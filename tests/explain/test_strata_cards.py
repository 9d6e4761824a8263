"""Strata as cards."""

import numpy as np

from ensemblage.datasets import make_multi_source
from ensemblage.explain import explain_model
from ensemblage.explain._strata_cards import UNDESCRIBED, strata_names, strata_section
from ensemblage.pages import Card, CardsBlock
from ensemblage.strata import (
    HISS,
    ColumnDifference,
    StrataDescription,
    StrataEnsembleClassifier,
    StratumDescription,
)


def test_a_card_by_hand():
    differences = (
        ColumnDifference("age", "number", None, 61.0, 42.0, 0.9),
        ColumnDifference("job", "word", "cook", 0.5, 0.2, 0.6),
        ColumnDifference("pay", "missing", None, 0.3, 0.1, 0.5),
    )
    described = StrataDescription(
        (StratumDescription(0, "age high (61)", 0.25, 0.1, differences),), 40, 0.15, "held out"
    )
    X, y = make_multi_source(3, 90, random_state=0)
    facts = explain_model(StrataEnsembleClassifier(HISS(3, 0.3), random_state=0).fit(X, y)).facts
    assert strata_section(facts)[0].paragraphs == [UNDESCRIBED]
    assert strata_names(facts) == ["stratum 0", "stratum 1", "stratum 2"]
    (block,) = strata_section(type(facts)(**{**_fields(facts), "described": described}))
    assert isinstance(block, CardsBlock)
    assert block.cards == [
        Card(
            "0: age high (61)", "25.0% of the rows, error 10.0%",
            [("age", "61 (all rows 42)"), ("job = cook", "50% (all rows 20%)"),
             ("pay missing", "30% (all rows 10%)")],
        )
    ]  # fmt: skip
    assert block.caption.endswith("had not seen; on all of them 15.0%.")


def test_strata_have_their_names_where_rows_tell_them():
    X, y = make_multi_source(3, 90, random_state=0)
    model = StrataEnsembleClassifier(HISS(3, 0.3), random_state=0).fit(X, y)
    facts = explain_model(model, np.asarray(X)).facts
    assert [name.split(":")[0] for name in strata_names(facts)] == ["0", "1", "2"]
    assert strata_names(facts)[0].endswith(facts.described.names[0])


def _fields(facts):
    return {name: getattr(facts, name) for name in facts.__struct_fields__}
