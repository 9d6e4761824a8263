"""Changes to model files."""

import json
import zipfile

from ensemblage.persistence import load


def rewrite(path, change):
    """Rewrite the archive with ``change(name, data)`` as the data of each entry."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, change(name, data))


def change_header(path, **facts):
    def change(name, data):
        if name != "ensemblage.json":
            return data
        header = json.loads(data) | facts
        return json.dumps({k: v for k, v in header.items() if v != "absent"})

    rewrite(path, change)


def claim_versions(path, versions):
    """Claim that other versions wrote a file, in its header and in its estimators."""
    here = load(path).versions
    there = {**here, **versions}
    change_header(path, versions=there)
    old, new = (each["scikit-learn"].encode() for each in (here, there))
    rewrite(path, lambda name, data: data if name == "ensemblage.json" else data.replace(old, new))
