"""Where the documentation is, for the estimators that link to it."""

DOCUMENTATION = "https://ensemblage.readthedocs.io/en/stable/"


class DocLinkMixin:
    """Let the question mark in an estimator's HTML representation lead to its page."""

    _doc_link_module = "ensemblage"
    _doc_link_template = DOCUMENTATION + "generated/{estimator_module}.{estimator_name}.html"
