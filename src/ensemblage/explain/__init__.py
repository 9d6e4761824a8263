"""What a fitted model is made of, as data."""

from typing import TYPE_CHECKING

from ensemblage.messages import lazy_door

if TYPE_CHECKING:
    from ensemblage.explain._co_selected import CoSelection, co_selected
    from ensemblage.explain._explanation import Explanation
    from ensemblage.explain._explanation import ModelPage as ModelPage
    from ensemblage.explain._kinds import described_strata as described_strata
    from ensemblage.explain._kinds import explain_model
    from ensemblage.explain._kinds import explanation_documents as explanation_documents
    from ensemblage.explain._kinds import kind_of as kind_of
    from ensemblage.explain._learned import what_was_learned
else:
    __getattr__, __dir__ = lazy_door(__name__, __file__)

__all__ = [
    "CoSelection",
    "Explanation",
    "co_selected",
    "explain_model",
    "what_was_learned",
]
