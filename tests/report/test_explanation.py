"""The page of a model, of made-up facts; the commands' tests have real ones."""

from ensemblage.report import BarsBlock, FigureBlock, TableBlock, TextBlock, explanation_page

MEMBER = {"member": "0", "estimator": "SVC", "n_rows": 50, "classes": ["a", "b"], "weight": None,
          "score": 0.9, "closest": 0.6}  # fmt: skip
STRATA = {
    "stratifier": "HISS", "fusion": "Gate", "n_strata": 2, "stratum_size": 0.3, "rows": "training",
    "members": [MEMBER, {**MEMBER, "member": "1", "classes": ["a"], "closest": 0.4},
                {**MEMBER, "member": "anchor", "closest": None}],
}  # fmt: skip
STORY = {
    "row": 7, "prediction": "a", "classes": ["a", "b"], "scores": [0.75, 0.25],
    "members": [
        {"member": "0", "membership": 0.2, "outputs": [0.5, 0.5], "weight": 0.25},
        {"member": "1", "membership": 1.0, "outputs": [0.8, 0.2], "weight": 0.75},
        {"member": "2", "membership": 0.0, "outputs": [0.0, 1.0], "weight": 0.0},
    ],
}  # fmt: skip


def named(page):
    return {section.title: section.blocks for section in page.sections if section.blocks}


def test_strata_and_members():
    page = explanation_page(STRATA, name="model.skops")
    assert page.summary == [
        "2 strata by HISS, each 30% of the rows; their members are fused by Gate.",
        "1 stratum holds rows of one class only, and its member is constant.",
    ]
    assert list(named(page)) == ["Map", "Members"]
    (hint,) = named(page)["Map"]
    assert isinstance(hint, TextBlock)
    bars, table = named(page)["Members"]
    assert isinstance(bars, BarsBlock)
    assert len(bars.bars) == 2
    names = [column.name for column in table.columns]
    assert "weight" not in names
    assert "closest" in names
    assert [cell.text for cell in table.rows[1]][:4] == ["1", "constant", "50", "a only"]


def test_one_rows_way():
    figure = FigureBlock("<svg></svg>", "alt", "caption")
    page = explanation_page(STRATA, name="m", strata_map=figure, story=STORY)
    text, table = named(page)["Row 7"]
    assert text.paragraphs == ["Predicted: a. All members together say a 0.750, b 0.250."]
    assert [row[0].text for row in table.rows] == ["1", "0"]
    assert table.legend.endswith("Left out: 1 member without a part.")
    assert named(page)["Map"] == [figure]


def test_features_chosen_together():
    document = {"features": ["age", "pay"], "co_selection": [[1.0, 0.5], [0.5, 0.5]]}
    page = explanation_page(document, name="m")
    assert page.summary == [
        "Of the 2 features shown, the most used first, 1 is used by every member."
    ]
    figure, table = named(page)["Chosen together"]
    assert "Most often together: age and pay, in 50% of the members." in figure.alt
    assert [cell.text for cell in table.rows[0]] == ["age", "100%", "50%"]


def test_a_network_with_its_tables():
    tables = {"class": {"states": ["a", "b"], "cuts": None, "parents": [],
                        "rows": [{"given": [], "probabilities": [0.5, 0.5]}]}}  # fmt: skip
    document = {"parents": {"class": [], "age": ["class"]}, "target": "class", "tables": tables}
    details = {"dataset": "people.csv", "n_rows": 1200, "accuracy": 0.9, "accuracy_se": 0.01,
               "learned": ["x0 depends on class"]}  # fmt: skip
    page = explanation_page(document, name="m", details=details)
    assert page.summary[0] == "A network of 2 nodes and 1 arrow."
    assert page.summary[-1].endswith("cross-validated accuracy was 0.9000 ± 0.0100.")
    assert ("rows", "1,200") in page.facts.facts
    assert list(named(page)) == ["Network", "Nodes", "Tables"]
    assert "age depends on class." in named(page)["Network"][0].alt
    assert isinstance(named(page)["Tables"][0], TableBlock)


def test_what_was_noted_in_training():
    page = explanation_page(STRATA, name="m", details={"learned": ["4 columns", "5 strata"]})
    assert named(page)["Noted in training"][0].paragraphs == ["4 columns.", "5 strata."]
