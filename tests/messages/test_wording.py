import subprocess
import sys

from ensemblage.messages import count, listed


def test_one_is_singular_and_all_else_is_plural():
    assert count(1, "row") == "1 row"
    assert count(0, "row") == "0 rows"
    assert count(3, "class", "classes") == "3 classes"


def test_names_are_listed_with_an_and_before_the_last():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b and c"


def test_words_cost_no_import():
    code = "import sys, ensemblage.messages; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
