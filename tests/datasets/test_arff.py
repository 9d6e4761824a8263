import numpy as np
import pytest

from ensemblage.datasets import read_table
from ensemblage.datasets._arff import parse_arff

ARFF = """% a comment
@RELATION play
@attribute 'the outlook' {sunny, 'over cast', rainy}
@attribute temp numeric
@attribute note string
@attribute class {yes,no}
@data
sunny, 85, 'it\\'s hot', no
'over cast',?,"x, y",yes
% another
rainy,1e2,?,yes
"""


def test_declarations_and_rows():
    table = parse_arff(ARFF, "play.arff")
    assert table.names == ("the outlook", "temp", "note", "class")
    assert table.kinds == ("word", "number", "word", "word")
    assert table.column("the outlook").tolist() == ["sunny", "over cast", "rainy"]
    np.testing.assert_array_equal(table.column("temp"), [85.0, np.nan, 100.0])
    assert table.column("note").tolist() == ["it's hot", "x, y", None]
    assert table.categories["the outlook"] == ("sunny", "over cast", "rainy")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "sunny, 85",
            "foggy, 85",
            r"Line 8 of a\.arff has 'foggy' for 'the outlook'; declared are",
        ),
        ("rainy,1e2,?,yes", "rainy,1e2", "Line 11 .* has 2 values, but 4 attributes"),
        ("rainy,1e2", "rainy,hot", "Column 'temp' holds 'hot'"),
        ("rainy,1e2,?,yes", "{0 rainy}", "sparse ARFF"),
        ("rainy,1e2,?", "rainy,1e2,'x", "quotation mark that is not closed"),
        ("@RELATION play", "x,y", "Line 2 of a.arff is not an ARFF declaration"),
        (ARFF, "", "declares no @attribute"),
        (ARFF[ARFF.index("sunny, 85") :], "", "no rows after @data"),
    ],
)
def test_bad_arff_names_the_line(old, new, message):
    with pytest.raises(ValueError, match=message):
        parse_arff(ARFF.replace(old, new), "a.arff")


def test_arff_equals_csv_on_real_data(shared):
    text = (shared / "data" / "vote.csv").read_text(encoding="utf-8")
    header, *rows = text.splitlines()
    lines = [f"@attribute {name} string" for name in header.split(",")]
    rows = [",".join(value or "?" for value in row.split(",")) for row in rows]
    arff = parse_arff("\n".join(["@relation v", *lines, "@data", *rows]), "v.arff")
    csv = read_table(shared / "data" / "vote.csv")
    assert arff.names == csv.names
    assert arff.to_array().tolist() == csv.to_array().tolist()
