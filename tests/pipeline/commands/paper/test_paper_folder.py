"""The folder of a verification belongs to `verify`: nothing else in it is used, replaced or removed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bakeoff.pipeline.commands.paper.capsule import ORIGIN, open_folder
from bakeoff.pipeline.errors import UserError

FILES = {"README.md": b"read", "data/my.csv": b"x,y", "code/mine.py": b"pass"}
OTHER_FILES = {"README.md": b"other", "figures/a.pdf": b"%PDF"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a verification in a folder with a file of the user."""
    (tmp_path / "own").write_text("mine")
    folder = tmp_path / "study.verification"
    open_folder(folder, "a", FILES)
    return folder


def list_contents(folder: Path) -> dict[str, bytes | str]:
    """Return the content of each file below a folder, and the target of each link."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if not path.is_dir()}
    read = {True: os.readlink, False: lambda path: path.read_bytes() if path.is_file() else b"a pipe"}
    return {name: read[path.is_symlink()](path) for name, path in found.items()}


def test_a_store_is_used_again_for_the_same_capsule_alone(folder: Path) -> None:
    stores = [open_folder(folder, digest, FILES) for digest in ("a", "a", "b", "a")]
    assert stores[0] == stores[1]
    assert len(set(stores)) == 3
    assert {store.parents[1] for store in stores} == {folder}


def test_only_the_files_of_the_earlier_capsule_are_removed(folder: Path) -> None:
    (folder / "data" / "own.csv").write_text("mine")
    (folder / "notes.txt").write_text("mine")
    open_folder(folder, "b", OTHER_FILES)
    own = {name: content for name, content in list_contents(folder).items() if not name.startswith(ORIGIN)}
    assert own == {"data/own.csv": b"mine", "notes.txt": b"mine", **OTHER_FILES}


def test_files_that_an_interrupted_verification_did_not_write_are_written(folder: Path) -> None:
    (folder / "README.md").unlink()
    store = open_folder(folder, "a", FILES)
    assert (folder / "README.md").read_bytes() == b"read"
    assert open_folder(folder, "a", FILES) == store


def copy(folder: Path) -> None:
    shutil.copytree(folder, folder.with_name("copy"))
    shutil.rmtree(folder)
    folder.with_name("copy").rename(folder)


def archive(folder: Path) -> None:
    with tarfile.open(folder.with_name("folder.tar"), "w") as tar:
        tar.add(folder, arcname=folder.name)
    shutil.rmtree(folder)
    subprocess.run(["tar", "-xf", "folder.tar"], cwd=folder.parent, check=True)


def replace_folder(make: Callable[[Path], object]) -> Callable[[Path], None]:
    def replace(folder: Path) -> None:
        shutil.rmtree(folder)
        make(folder)

    return replace


def remove_mark(folder: Path) -> None:
    (mark,) = folder.glob(f"{ORIGIN}-*")
    mark.unlink()


def replace_origin_by_pipe(folder: Path) -> None:
    (folder / ORIGIN).unlink()
    os.mkfifo(folder / ORIGIN)


def write_own_figure(folder: Path) -> None:
    (folder / "figures").mkdir()
    (folder / "figures" / "a.pdf").write_text("mine")


def link_to_home(folder: Path) -> None:
    home = folder.with_name("home")
    folder.rename(home)
    folder.symlink_to(home)


FOREIGN: dict[str, Callable[[Path], object]] = {
    "a copy": copy,
    "an archive": archive,
    "an empty folder": replace_folder(Path.mkdir),
    "a file": replace_folder(Path.touch),
    "a link to a folder": link_to_home,
    "a link to nothing": replace_folder(lambda folder: folder.symlink_to("nowhere")),
    "no mark": remove_mark,
    "a pipe as the origin": replace_origin_by_pipe,
    "a link as the origin": lambda folder: (folder / ORIGIN).symlink_to((folder / ORIGIN).rename(folder / "moved")),
    "another origin": lambda folder: (folder / ORIGIN).write_text("later"),
    "no origin": lambda folder: (folder / ORIGIN).unlink(),
}


@pytest.mark.parametrize("change", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_folder_that_verify_did_not_make_here_is_refused(folder: Path, change: Callable[[Path], object]) -> None:
    change(folder)
    before = list_contents(folder.parent)
    with pytest.raises(
        UserError, match=r"study.verification was not made here by `verify` for this user.* move it away"
    ):
        open_folder(folder, "a", FILES)
    assert list_contents(folder.parent) == before


def replace_by_link(name: str) -> Callable[[Path], None]:
    def replace(folder: Path) -> None:
        path = folder / name
        path.unlink() if path.is_file() else shutil.rmtree(path)
        path.symlink_to(folder.parent if path.suffix == "" else folder.parent / "own")

    return replace


CHANGED: dict[str, Callable[[Path], object]] = {
    "an edited file": lambda folder: (folder / "code/mine.py").write_text("mine"),
    "a link to a file": replace_by_link("README.md"),
    "a link to a folder": replace_by_link("data"),
    "a file in place of a folder": lambda folder: (folder / "figures").write_text("mine"),
    "a file of the user with the name of a new one": write_own_figure,
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED.keys())
def test_a_file_that_verify_did_not_write_is_not_replaced(folder: Path, change: Callable[[Path], object]) -> None:
    change(folder)
    before = list_contents(folder.parent)
    with pytest.raises(UserError, match=r"study.verification/.* move it away"):
        open_folder(folder, "b", {**FILES, **OTHER_FILES})
    assert list_contents(folder.parent) == before
