import json

from ensemblage.datasets._catalogue import PAPER_DATASETS


def test_catalogue_agrees_with_the_shared_manifest(shared):
    manifest = json.loads((shared / "data" / "manifest.json").read_text(encoding="utf-8"))
    facts = {k: (v["openml_id"], v["rows"], v["features"]) for k, v in manifest.items()}
    assert {name: tuple(known) for name, known in PAPER_DATASETS.items()} == facts
