"""Features chosen together, of made-up facts."""

from ensemblage.explain._subspaces_model import SubspacesExplanation, SubspacesFacts

SMALL = SubspacesExplanation(SubspacesFacts(["age", "pay"], [[1.0, 0.5], [0.5, 0.5]]))


def test_the_matrix_in_a_terminal_numbers_its_columns():
    _, table = SMALL.text()
    assert [column.name for column in table.columns] == ["feature", "1", "2"]
    assert [field.text for field in table.rows[1]] == ["2 pay", "50%", "50%"]


def test_a_page_tells_use_and_pairs():
    page = SMALL.page()
    assert page.summary == [
        "Of the 2 features shown, the most used first, 1 is used by every member."
    ]
    use, together = page.sections
    assert [(bar.label, bar.text, bar.strong) for bar in use.blocks[0].bars] == [
        ("age", "100%", True), ("pay", "50%", False),
    ]  # fmt: skip
    figure, table = together.blocks
    assert "Most often together: age and pay, in 50% of the members." in figure.caption
    assert [field.text for field in table.rows[0]] == ["age", "100%", "50%"]


def test_a_single_feature_has_no_pair():
    alone = SubspacesExplanation(SubspacesFacts(["age"], [[1.0]]))
    assert alone.page().sections[1].blocks[0].caption.endswith("at all.")
