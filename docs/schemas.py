"""Write the JSON Schemas of what the commands print, made from the types that they print.

python docs/schemas.py            writes docs/schemas/*.json
python docs/schemas.py --check    writes nothing; exits with 1 if a file is not current
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from ensemblage.datasets import DatasetInfo
from ensemblage.report import explanation_documents
from ensemblage.studies import (
    AdaptationDocument,
    AuditDocument,
    ClusteringDocument,
    Comparison,
    DoctorDocument,
    PredictionDocument,
    RunDocument,
    TrainingDocument,
)

FOLDER = Path(__file__).parent / "schemas"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCE = "#/$defs/{name}"


def schemas() -> dict[str, dict[str, Any]]:
    """Give the schema of each command's output, by the command's name."""
    return {
        "adapt": _schema("adapt", AdaptationDocument),
        "audit": _schema("audit", AuditDocument),
        "cluster": _schema("cluster", ClusteringDocument),
        "compare": _schema("compare", Comparison),
        "datasets": _schema("datasets", list[DatasetInfo]),
        "doctor": _schema("doctor", DoctorDocument),
        "explain": _schema("explain", *explanation_documents()),
        "fit": _schema("fit", TrainingDocument),
        "predict": _schema("predict", PredictionDocument),
        "recalibrate": _schema("recalibrate", AdaptationDocument),
        "reproduce": _schema("reproduce", RunDocument),
        "run": _schema("run", RunDocument),
    }


def _schema(command: str, *documents: Any) -> dict[str, Any]:
    made, parts = msgspec.json.schema_components(documents, ref_template=REFERENCE)
    if len(made) > 1:
        body: dict[str, Any] = {"oneOf": list(made)}
    else:
        # the document itself stands on top, not behind a reference
        (body,) = made
        body = parts.pop(body["$ref"].rpartition("/")[2]) if "$ref" in body else body
    head = {
        "$schema": DIALECT,
        "$id": f"urn:ensemblage:schema:{command}",
        "title": f"ensemblage {command} --json",
    }
    whole = head | {key: value for key, value in _plain(body).items() if key != "title"}
    definitions = {name: _plain(parts[name]) for name in sorted(parts)}
    return whole | ({"$defs": definitions} if definitions else {})


def _plain(schema: Any) -> Any:
    """Keep the first sentences of a docstring; every field is printed, also where it is usual."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: _plain(value) for key, value in schema.items() if key != "default"}
    # versions of msgspec differ in where they put it
    kept.get("anyOf", []).sort(key=lambda each: each.get("type") == "null")
    text = kept.get("description")
    if isinstance(text, str):
        kept["description"] = " ".join(text.partition("\n\n")[0].split())
    if schema.get("type") == "object" and "properties" in schema:
        kept["required"] = list(schema["properties"])
        for name, words in _field_lines(text or "").items():
            kept["properties"][name] = {"description": words} | kept["properties"][name]
    return kept


def _field_lines(docstring: str) -> dict[str, str]:
    """Read the fields of a numpydoc docstring, for types that say it there."""
    found = re.findall(r"(?m)^ *(\w[\w, ]*) : .*\n((?: {4,}\S.*\n?)+)", inspect.cleandoc(docstring))
    return {name: " ".join(words.split()) for names, words in found for name in names.split(", ")}


def main() -> int:
    """Write the files, or tell which are not current."""
    texts = {
        FOLDER / f"{command}.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for command, schema in schemas().items()
    }
    if "--check" not in sys.argv[1:]:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        return 0
    old = [
        path for path, text in texts.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]  # fmt: skip
    for path in old:
        sys.stderr.write(f"{path} is not current: run python docs/schemas.py\n")
    return int(bool(old))


if __name__ == "__main__":
    sys.exit(main())
