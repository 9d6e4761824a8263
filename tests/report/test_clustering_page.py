"""The page of a clustering."""

import numpy as np
from msgspec import structs

from ensemblage.methods import ClusteringDocument, Prototype
from ensemblage.pages import NOTHING, BarsBlock, ShadesBlock, TableBlock
from ensemblage.report import clustering_page

DOCUMENT = ClusteringDocument(
    method="inner", clusters=2, labels=[0, 0, 1], agreement=[1.0, 0.5, 0.8],
    prototypes=[Prototype(0, 2, {"size": -1.5, "kind": "a"}),
                Prototype(1, 1, {"size": 9.0, "kind": None})],
    scores={"nmi": 0.5, "purity": 0.75}, output=None,
)  # fmt: skip


def test_sizes_prototypes_and_agreement():
    columns = {"size": np.array([-2.0, -1.0, 9.0])}
    page = clustering_page(DOCUMENT, name="things.csv", label="Inner K-means", columns=columns)
    assert page.summary[0] == "Inner K-means puts 3 rows into 2 clusters of 1 to 2 rows."
    assert "normalised mutual information 0.5000, purity 0.7500" in page.summary[2]
    sizes, prototypes, notes = page.sections
    assert isinstance(sizes.blocks[0], BarsBlock)
    figure, table = prototypes.blocks
    assert isinstance(figure, ShadesBlock)
    assert isinstance(table, TableBlock)
    assert [field.text for field in table.rows[0]] == [
        "cluster 0", "2", "75.0%", "\N{MINUS SIGN}1.5", "a",
    ]  # fmt: skip
    assert [field.text for field in table.rows[1]][-1] == NOTHING.text
    assert not notes.blocks


def test_a_consensus_has_no_agreement():
    document = structs.replace(DOCUMENT, agreement=None, scores={})
    page = clustering_page(document, name="things.csv", label="MCLA", notes=["Few rows."])
    assert len(page.summary) == 1
    (table,) = page.sections[1].blocks
    assert [column.name for column in table.columns] == ["cluster", "rows", "size", "kind"]
    assert page.sections[2].blocks[0].notes == ["Few rows."]
