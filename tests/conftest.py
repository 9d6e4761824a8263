import os
from pathlib import Path

import pytest


def find_shared() -> Path | None:
    """Folder with the papers' data: named by ENSEMBLAGE_SHARED, or beside a folder above."""
    if named := os.environ.get("ENSEMBLAGE_SHARED"):
        return Path(named)
    beside = (parent / "shared" for parent in Path(__file__).resolve().parents)
    return next((folder for folder in beside if (folder / "data" / "manifest.json").exists()), None)


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = find_shared()
    if folder is None or not folder.exists():
        pytest.skip("the papers' data are not at hand; set ENSEMBLAGE_SHARED to their folder")
    return folder
