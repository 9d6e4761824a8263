"""Model files with something changed in them."""

import zipfile


def rewrite(path, change):
    """Write the archive again, with each member's bytes changed by ``change(name, data)``."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, change(name, data))
