"""What is shown of models and results: descriptions, pages, HTML."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

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
