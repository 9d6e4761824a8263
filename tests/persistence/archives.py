"""Changes to model files."""

import zipfile


def rewrite(path, change):
    """Rewrite the archive with ``change(name, data)`` as the data of each entry."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, change(name, data))
