"""What several test packages need: the shared data folder, if it is there."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# machines differ in speed, and the first example compiles a kernel
settings.register_profile("ensemblage", deadline=None)
settings.load_profile("ensemblage")

# scikit-learn skips one of its checks unless SciPy is asked for this before it is imported
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# a shell's background jobs ignore Ctrl-C, and so would what the tests start and interrupt
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _find_shared():
    named = os.environ.get("ENSEMBLAGE_SHARED")
    if named:
        return Path(named)
    for folder in Path(__file__).resolve().parents:
        if (folder / "shared" / "data" / "manifest.json").is_file():
            return folder / "shared"
    return None


@pytest.fixture(scope="session")
def shared():
    """The folder with the papers' datasets and golden answers; not part of the repository."""
    folder = _find_shared()
    if folder is None or not folder.is_dir():
        pytest.skip("no folder of shared data: set ENSEMBLAGE_SHARED to run this test")
    return folder


@pytest.fixture(scope="session")
def callbacks():
    """scikit-learn's callbacks, where it has them."""
    return pytest.importorskip("sklearn.callback", reason="new in scikit-learn 1.9")


@pytest.fixture(scope="session")
def routed_scores():
    """Folds that pass sources and the like to the score of a pipeline."""
    import sklearn
    from sklearn.utils.fixes import parse_version

    if parse_version(sklearn.__version__) < parse_version("1.8"):
        pytest.skip("folds pass nothing to the score of a pipeline before scikit-learn 1.8")


@pytest.fixture(scope="session")
def people_rows():
    """The text of a small CSV file with numbers, words, missing values and two classes."""
    lines = ["age,job,pay,class"]
    for i in range(40):
        label = "yes" if i % 3 else "no"
        pay = "" if i % 7 == 0 else f"{(10 if label == 'yes' else 2) + i % 5}.5"
        lines.append(f"{20 + i % 17},{['cook', 'smith', 'NA'][i % 3 - i % 2]},{pay},{label}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def table_file(tmp_path, people_rows):
    """The file of ``people_rows``, in a folder of the test's own."""
    path = tmp_path / "people.csv"
    path.write_text(people_rows, encoding="utf-8")
    return path
