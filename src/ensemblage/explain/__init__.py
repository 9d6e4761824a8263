"""What a fitted model is made of, as data."""

from ensemblage.explain._co_selected import CoSelection, co_selected
from ensemblage.explain._explanation import Explanation
from ensemblage.explain._explanation import ModelPage as ModelPage
from ensemblage.explain._kinds import explain_model
from ensemblage.explain._kinds import kind_of as kind_of
from ensemblage.explain._learned import what_was_learned
from ensemblage.explain._network_model import NetworkDocument as NetworkDocument
from ensemblage.explain._strata_facts import RowFacts as RowFacts
from ensemblage.explain._strata_facts import StrataFacts as StrataFacts
from ensemblage.explain._subspaces_model import SubspacesFacts as SubspacesFacts

__all__ = [
    "CoSelection",
    "Explanation",
    "co_selected",
    "explain_model",
    "what_was_learned",
]
