"""What a fitted model is made of, as data."""

from ensemblage.explain._co_selected import CoSelection, co_selected
from ensemblage.explain._learned import what_was_learned
from ensemblage.explain._readable import (
    draw_readable,
    model_kind,
    named_co_selection,
    named_parents,
    named_tables,
)
from ensemblage.explain._strata import (
    Explanation,
    MemberFacts,
    draw_strata,
    explain_model,
    explain_row,
    plain_explanation,
)

__all__ = [
    "CoSelection",
    "Explanation",
    "MemberFacts",
    "co_selected",
    "draw_readable",
    "draw_strata",
    "explain_model",
    "explain_row",
    "model_kind",
    "named_co_selection",
    "named_parents",
    "named_tables",
    "plain_explanation",
    "what_was_learned",
]
