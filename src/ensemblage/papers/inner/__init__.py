"""The inner ensembles paper."""
