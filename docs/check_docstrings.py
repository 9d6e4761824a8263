"""Check that every exported name carries numpydoc in full; a private helper needs one sentence."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from numpydoc.validate import validate

import ensemblage

LEFT_OUT = {
    "ES01", "EX01", "GL08", "PR02", "RT02", "SA01", "SA04", "YD01",
    "RT03",  # a type with its shape often says it all
    "SS05",  # takes a plural noun for a verb: "Memberships of new rows"
    "GL01", "GL02",  # one line is enough where one line is all
}  # fmt: skip


def exported() -> Iterator[str]:
    """Name what users call: exported classes with their own methods, and functions."""
    for package in iter_modules(ensemblage.__path__):
        if not package.ispkg:
            continue
        door = import_module(f"ensemblage.{package.name}")
        for name in getattr(door, "__all__", ()):
            value = getattr(door, name)
            if not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            yield f"{door.__name__}.{name}"
            if inspect.isclass(value):
                for method, own in vars(value).items():
                    if not method.startswith("_") and inspect.isfunction(own):
                        yield f"{door.__name__}.{name}.{method}"


def main() -> None:
    """Print what is wrong; exit with 1 if anything is."""
    wrong = 0
    for name in exported():
        for code, text in validate(name)["errors"]:
            if code not in LEFT_OUT:
                wrong += 1
                print(f"{name}: {code} {text}")  # noqa: T201
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
