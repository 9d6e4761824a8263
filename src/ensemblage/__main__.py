"""Run ``python -m ensemblage``, for whoever does not have the command on the path."""

from ensemblage.cli import main

if __name__ == "__main__":
    main()
