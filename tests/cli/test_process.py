"""What only a process of its own can show: start-up, signals, pipes, limits, screens."""

import os
import signal
import subprocess
import sys
import time

import pytest

COMMAND = [sys.executable, "-m", "ensemblage.cli"]
posix = pytest.mark.skipif(os.name != "posix", reason="signals and limits of POSIX")


def run(*arguments, **options):
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, **options
    )


def test_help_imports_nothing_heavy():
    script = (
        "import sys; from ensemblage.cli import app\n"
        "heavy = {'sklearn', 'numba', 'scipy', 'numpy', 'skops'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"


def test_help_answers_at_once():
    def seconds():
        before = os.times()
        assert run("--help").returncode == 0
        after = os.times()
        spent = after.children_user + after.children_system
        return spent - before.children_user - before.children_system

    # Of the processor, and the best of several: other work on the machine is not the program's.
    assert min(seconds() for _ in range(3)) < 0.6


@posix
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_interrupt_exits_with_130_and_writes_nothing(tmp_path, jobs):
    arguments = ["compare", "--repeats", "500", "--jobs", jobs, "--output", "out.csv"]
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert "bundled dataset" in process.stderr.readline()
    time.sleep(3)
    # A terminal sends Ctrl-C to the workers too.
    os.killpg(process.pid, signal.SIGINT)
    try:
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Stopped; nothing was written." in errors
    assert "Traceback" not in errors
    assert output == ""
    assert list(tmp_path.iterdir()) == []


@posix
def test_a_full_disk_leaves_no_file(tmp_path):
    import resource

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    result = run(
        "fit", "iris", "-m", "logistic", "-o", "m.skops", "--folds", "2", "--jobs", "1",
        cwd=tmp_path, preexec_fn=limit,
    )  # fmt: skip
    assert result.returncode == 1
    assert "m.skops cannot be written: File too large." in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


@posix
def test_a_reader_that_leaves_early_is_no_error():
    process = subprocess.Popen(
        [*COMMAND, "datasets"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait()
    assert "Traceback" not in errors


@posix
def test_a_screen_gets_a_bar_with_the_time_left(tmp_path):
    import pty

    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [*COMMAND, "compare", "iris", "-m", "forest", "--jobs", "1", "--json"],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=child,
    )  # fmt: skip
    os.close(child)
    shown = b""
    try:
        while chunk := os.read(parent, 4096):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(parent)
    output = process.stdout.read()
    process.stdout.close()
    assert process.wait() == 0
    assert b"Comparing 1 method" in shown
    assert b"time left" in shown
    assert output.startswith(b"{")
