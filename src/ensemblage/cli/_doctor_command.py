"""``ensemblage doctor``: whether this machine is ready."""
# ruff: noqa: PLC0415  scikit-learn is imported inside the command, so that --help answers at once

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ensemblage.cli._console import guarded, note, say, show_json, show_table
from ensemblage.cli._options import Debug, Json, UnusedJobs, UnusedSeed
from ensemblage.messages import count, listed

if TYPE_CHECKING:
    from ensemblage.methods import DoctorDocument


@guarded
def doctor_command(  # numpydoc ignore=PR01  typer shows the docstring as help
    seed: UnusedSeed = 0,
    jobs: UnusedJobs = 1,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Show versions, cores, caches and extras, and try out whether all of it works."""
    del seed, jobs, debug
    from ensemblage.methods import examine

    found = examine()
    if as_json:
        show_json(found)
    else:
        _show(found)
    if not found.healthy:
        raise typer.Exit(1)


def _show(found: DoctorDocument) -> None:
    say(", ".join(f"{name} {version or 'missing'}" for name, version in found.versions.items()))
    threads = found.blas_threads
    blas = "" if threads is None else f", {count(threads, 'thread')} for products of matrices"
    say(f"{count(found.cores, 'core')}{blas}")
    say(f"compiled kernels are kept {'nowhere' if found.cache is None else f'in {found.cache}'}")
    rows = [
        [extra.name, "yes" if not extra.missing else f"no: {listed(extra.missing)}", extra.install]
        for extra in found.extras
    ]
    show_table([("extra", "left"), ("installed", "left"), ("to install it", "left")], rows)
    for test in found.tests:
        say(f"{test.name}: {'well' if test.error is None else test.error} ({test.seconds:.1f} s)")
    if not found.cache_writable:
        note(
            "compiled kernels cannot be kept there, so that every process compiles again; set "
            "NUMBA_CACHE_DIR to a folder that can be written."
        )
    say("All is well." if found.healthy else "Something is wrong: see above.")
