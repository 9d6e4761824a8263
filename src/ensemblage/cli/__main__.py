"""Run ``python -m ensemblage.cli``."""

from ensemblage.cli import main

main()
