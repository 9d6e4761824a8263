"""Results as one self-contained HTML page: plain data first, templates after."""

from ensemblage.report._clustering import clustering_page
from ensemblage.report._comparison import comparison_page
from ensemblage.report._experiment import experiment_page
from ensemblage.report._explanation import explanation_page
from ensemblage.report._extras import check_installed
from ensemblage.report._figures import (
    co_selection_figure,
    critical_difference_figure,
    network_figure,
    prototype_figure,
    strata_figure,
)
from ensemblage.report._page import (
    Bar,
    BarsBlock,
    Cell,
    Column,
    FactsBlock,
    FigureBlock,
    NotesBlock,
    Page,
    Section,
    TableBlock,
    TextBlock,
)
from ensemblage.report._render import render

__all__ = [
    "Bar",
    "BarsBlock",
    "Cell",
    "Column",
    "FactsBlock",
    "FigureBlock",
    "NotesBlock",
    "Page",
    "Section",
    "TableBlock",
    "TextBlock",
    "check_installed",
    "clustering_page",
    "co_selection_figure",
    "comparison_page",
    "critical_difference_figure",
    "experiment_page",
    "explanation_page",
    "network_figure",
    "prototype_figure",
    "render",
    "strata_figure",
]
