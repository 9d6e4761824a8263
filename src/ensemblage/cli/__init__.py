"""The command ``ensemblage``: parse, call, print."""

from ensemblage.cli._app import app as app
from ensemblage.cli._app import main as main
