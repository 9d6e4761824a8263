"""Run ``python -m ensemblage``, where the command is not on the path."""

from ensemblage.cli import main

if __name__ == "__main__":
    main()
