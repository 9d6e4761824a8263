import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared():
    """The folder with the papers' datasets: ENSEMBLAGE_SHARED, or ``shared`` beside the project."""
    named = os.environ.get("ENSEMBLAGE_SHARED")
    places = [Path(named)] if named else [up / "shared" for up in Path(__file__).resolve().parents]
    for place in places:
        if (place / "data" / "manifest.json").is_file():
            return place
    pytest.skip("the papers' datasets are not at hand (set ENSEMBLAGE_SHARED to their folder)")
