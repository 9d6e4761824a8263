"""Results as one self-contained HTML page: plain data first, templates after."""

from ensemblage.report._audit_page import audit_page
from ensemblage.report._clustering_page import clustering_page
from ensemblage.report._comparison_page import comparison_page
from ensemblage.report._explanation_page import explanation_page
from ensemblage.report._extras import check_installed
from ensemblage.report._render import render
from ensemblage.report._run_page import experiment_page

__all__ = [
    "audit_page",
    "check_installed",
    "clustering_page",
    "comparison_page",
    "experiment_page",
    "explanation_page",
    "render",
]
