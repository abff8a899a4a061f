"""A user without a home, such as a number without an entry in the list of users of a container."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bakeoff.pipeline.tracking import set_home
from bakeoff.pipeline.tracking.results import RUN_FILE, read_kept_run
from bakeoff.pipeline.tracking.sqlite_file import find_cache

HOMELESS = """
import os, pwd, sys

def find_nobody(number):
    raise KeyError(number)

pwd.getpwuid = find_nobody
for name in ("HOME", "XDG_CACHE_HOME", "USER", "LOGNAME", "LNAME", "USERNAME"):
    os.environ.pop(name, None)
from bakeoff.pipeline.cli.main import main
main()
"""


def find_nobody(number: int) -> pwd.struct_passwd:
    raise KeyError(number)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Take away the home of this user, and return the one that replaces it."""
    monkeypatch.setattr(pwd, "getpwuid", find_nobody)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", "")  # to be restored
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return tmp_path / f"bakeoff-{os.geteuid()}"


def test_a_user_without_a_home_has_one_that_the_next_command_finds(home: Path) -> None:
    for _ in range(2):
        set_home()
        assert os.environ["HOME"] == str(home)
        assert home.stat().st_mode & 0o777 == 0o700
        assert find_cache() == home / ".cache" / "bakeoff"
        del os.environ["HOME"]


@pytest.mark.parametrize("way", ["a link", "a file", "open to others"])
def test_a_home_that_others_made_is_not_used(home: Path, way: str) -> None:
    if way == "a link":
        (home.parent / "theirs").mkdir()
        home.symlink_to(home.parent / "theirs")
    elif way == "a file":
        home.touch(0o666)
        home.chmod(0o666)
    else:
        home.mkdir()
        home.chmod(0o777)
    set_home()
    given = Path(os.environ["HOME"])
    assert given.parent == home.parent
    assert given != home
    assert given.stat().st_mode & 0o777 == 0o700


def test_a_user_with_a_home_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    set_home()
    assert os.environ["HOME"] == "/home/me"


def test_a_kept_result_that_others_can_write_is_not_read(tmp_path: Path) -> None:
    (tmp_path / RUN_FILE).write_text('{"run_id": "a", "ended": 1, "values": {}}')
    tmp_path.chmod(0o700)
    assert read_kept_run(tmp_path) is not None
    tmp_path.chmod(0o777)
    assert read_kept_run(tmp_path) is None


@pytest.mark.slow
def test_a_run_of_a_user_without_a_home_is_stored(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for words in (["dataset=iris", "learner=majority"], ["list", "runs"]):
        command = [sys.executable, "-c", HOMELESS, *words]
        ended = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert ended.returncode == 0, ended.stderr
    assert "majority iris  FINISHED" in ended.stdout
