from ._blocks import Bar as Bar
from ._blocks import BarsBlock as BarsBlock
from ._blocks import CardsBlock as CardsBlock
from ._blocks import FactsBlock as FactsBlock
from ._blocks import FigureBlock as FigureBlock
from ._blocks import MapBlock as MapBlock
from ._blocks import MapPanel as MapPanel
from ._blocks import NetworkBlock as NetworkBlock
from ._blocks import NotesBlock as NotesBlock
from ._blocks import Page as Page
from ._blocks import RanksBlock as RanksBlock
from ._blocks import Section as Section
from ._blocks import ShadesBlock as ShadesBlock
from ._blocks import TextBlock as TextBlock
from ._blocks import TreeBlock as TreeBlock
from ._comparison import comparison_page as comparison_page
from ._describe import described_strata as described_strata
from ._describe import explain_model as explain_model
from ._describe import kind_of as kind_of
from ._describe import what_was_learned as what_was_learned
from ._experiment import experiment_page as experiment_page
from ._explanation import Explanation as Explanation
from ._html import render as render
from ._pages import audit_page as audit_page
from ._pages import clustering_page as clustering_page
from ._pages import explanation_page as explanation_page
from ._subspace import CoSelection as CoSelection
from ._subspace import co_selected as co_selected
from ._svg import check_installed as check_installed

__all__ = [
    "Bar",
    "BarsBlock",
    "CardsBlock",
    "CoSelection",
    "Explanation",
    "FactsBlock",
    "FigureBlock",
    "MapBlock",
    "MapPanel",
    "NetworkBlock",
    "NotesBlock",
    "Page",
    "RanksBlock",
    "Section",
    "ShadesBlock",
    "TextBlock",
    "TreeBlock",
    "audit_page",
    "check_installed",
    "clustering_page",
    "co_selected",
    "comparison_page",
    "experiment_page",
    "explain_model",
    "explanation_page",
    "render",
    "what_was_learned",
]
