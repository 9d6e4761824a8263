import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ensemblage.persistence import check_writable, open_atomically, write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="file modes and limits of POSIX")


def test_text_and_bytes(tmp_path):
    write_atomically(tmp_path / "a.txt", "é\n")
    write_atomically(tmp_path / "b.bin", b"\x00\xff")
    assert (tmp_path / "a.txt").read_bytes() == "é\n".encode()
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\xff"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.bin"]


@posix
def test_file_mode_follows_umask_or_existing_file(tmp_path):
    path = tmp_path / "a"
    mask = os.umask(0o027)
    try:
        write_atomically(path, "x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    write_atomically(path, "y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix
def test_symlinks_and_devices_are_kept(tmp_path):
    (tmp_path / "real").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text(encoding="utf-8") == "new"
    write_atomically(os.devnull, "gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_invalid_paths(tmp_path):
    with pytest.raises(ValueError, match="is a folder; expected a file"):
        check_writable(tmp_path)
    with pytest.raises(ValueError, match=r"no folder .*nowhere"):
        check_writable(tmp_path / "nowhere" / "a")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_no_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ValueError, match="no permission"):
        check_writable(tmp_path / "a")


@posix
def test_full_disk_leaves_only_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_text("old", encoding="utf-8")
    script = f"""
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        from ensemblage.persistence import write_atomically
        try:
            write_atomically({str(path)!r}, b"x" * 5000)
        except ValueError as error:
            print(error)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    assert "cannot be written: File too large" in run.stdout
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_file_appears_when_complete(tmp_path):
    path = tmp_path / "out.bin"
    with open_atomically(path) as file:
        file.write(b"one")
        assert not path.exists()
        file.write(b"two")
    assert path.read_bytes() == b"onetwo"
    with pytest.raises(TypeError), open_atomically(path) as file:
        file.write("half")
    assert path.read_bytes() == b"onetwo"
    assert [each.name for each in tmp_path.iterdir()] == ["out.bin"]
