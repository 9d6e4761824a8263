"""The command ``ensemblage``: parse, call, print."""

from ensemblage.cli._app import app, main

__all__ = ["app", "main"]
