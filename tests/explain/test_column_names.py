from ensemblage.explain._column_names import column_name, column_names

COLUMNS = ("age", "job")


def test_features_are_named_after_their_columns():
    assert column_name("x1", COLUMNS) == "job"
    assert column_name("x1 = cook", COLUMNS) == "job = cook"
    assert column_name("x0 missing", COLUMNS) == "age missing"
    assert column_name("x1: share of yes", COLUMNS) == "job: share of yes"
    assert column_name("class", COLUMNS) == "class"
    assert column_name("x7", COLUMNS) == "x7"


def test_several_keep_their_order():
    assert column_names(["x1", "class"], COLUMNS) == ["job", "class"]
