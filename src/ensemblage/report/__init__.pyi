from ._blocks import Page as Page
from ._describe import draws_rows as draws_rows
from ._describe import explain_model as explain_model
from ._describe import explanation_documents as explanation_documents
from ._describe import training_summary as training_summary
from ._explanation import Explanation as Explanation
from ._html import render as render
from ._pages import clustering_page as clustering_page
from ._pages import explanation_page as explanation_page
from ._strata import described_strata as described_strata
from ._svg import check_installed as check_installed

__all__ = ["Explanation", "explain_model", "render"]
