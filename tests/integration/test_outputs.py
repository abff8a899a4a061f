"""What commands write for users is there as a whole or not at all, and runs in no browser."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import browser
import numpy as np
import pandas as pd
import pytest
from command import command_in

from bakeoff.pipeline.python.inspect import inspect as inspect_in_notebook

TABLE = "x,z,y\n" + "".join(f"{row % 7},{row % 5}.5,{'ab'[row % 3 == 0]}\n" for row in range(40))
KEPT = "an earlier file"
FULL_DISK_BYTES = 4096
"""Of a file system that one file fills: a page."""
SCRIPT = "<script>window.evil=1</script>"
IMAGE = "<img src=x onerror=window.evil=2>"
LINK = "[click](javascript:window.evil=3)"
QUOTED = "\"'><svg onload=window.evil=4>"
CLEARING = "\x1b[2Jclear"
TITLE = "\x1b]0;title\x07"
WRITING: dict[str, Sequence[str]] = {
    "predictions": ["predict", "latest", "new.csv", "output=full/kept.csv"],
    "comparison as text": ["compare", "sweep=latest", "keep=false", "output=full/kept.txt"],
    "comparison as a page": ["compare", "sweep=latest", "keep=false", "to=html", "output=full/kept.html"],
    "explanation": ["explain", "latest", "output=full/kept.html"],
    "inspection": ["inspect", "t.csv", "target=y", "output=full/kept.html"],
    "figures": ["figures", "latest", "confusion_matrix", "output=full"],
    "project": ["init", "full/my_project"],
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the runs of a sweep."""
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "t.csv").write_text(TABLE)
    (folder / "new.csv").write_text("x,z\n1,2.5\n3,0.5\n")
    with command_in(folder) as bakeoff:
        answer = bakeoff("-m", "dataset=file", "dataset.path=t.csv", "dataset.target=y", "learner=knn,majority")
        assert answer.status == 0, answer.err
    return folder


@contextmanager
def full_disk(folder: Path) -> Iterator[None]:
    """Let a folder be a file system without a free byte, on which an earlier file of each extension is."""
    folder.mkdir()
    size = f"size={FULL_DISK_BYTES}"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=False)
    if mounted.returncode != 0:
        pytest.skip("this user may not mount a file system")
    try:
        for extension in ("csv", "txt", "html"):
            (folder / f"kept.{extension}").touch()
        (folder / "kept.txt").write_text(KEPT)
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no command mount")
@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk_leaves_what_was_there_and_says_so(trained: Path, name: str) -> None:
    full = trained / "full"
    with full_disk(full), command_in(trained) as bakeoff:
        files = {path: path.read_bytes() for path in full.rglob("*")}
        answer = bakeoff(*WRITING[name])
        assert answer.status == 2, answer.out + answer.err
        assert "cannot be written: No space left on device" in answer.err
        assert "Traceback" not in answer.err
        assert {path: path.read_bytes() for path in full.rglob("*")} == files


def test_a_file_that_is_replaced_keeps_its_permissions(trained: Path) -> None:
    page = trained / "private.html"
    page.touch(mode=0o600)
    with command_in(trained) as bakeoff:
        assert bakeoff("inspect", "t.csv", "target=y", "output=private.html").status == 0
    assert page.stat().st_mode & 0o777 == 0o600
    assert page.stat().st_size > 0


@pytest.mark.external
@pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())
def test_names_run_in_no_page_or_picture(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        SCRIPT: rng.random(60),
        LINK: rng.random(60),
        QUOTED: rng.choice([IMAGE, QUOTED], 60),
        "target": rng.choice([SCRIPT, IMAGE], 60),
    })  # fmt: skip
    # A name of a file holds no slash.
    name = f"{IMAGE}.csv"
    table.to_csv(tmp_path / name, index=False)
    dataset = ["dataset=file", f"dataset.path='{name}'", "dataset.target=target", "evaluation=kfold"]
    with command_in(tmp_path) as bakeoff:
        commands = (
            ["-m", *dataset, "evaluation.folds=2", "learner=knn,naive_bayes", f"tracking.experiment='{IMAGE}'"],
            ["compare", "sweep=latest", "to=html", "output=comparison.html"],
            ["explain", "latest", "output=explanation.html"],
            ["inspect", f"./{name}", "target=target", "output=inspection.html"],
        )
        for command in commands:
            of_store = [] if command[0] in ("-m", "inspect") else [f"tracking.experiment={IMAGE}"]
            answer = bakeoff(*command, *of_store)
            assert answer.status == 0, answer.err
        (tmp_path / "notebook.html").write_text(inspect_in_notebook(Path(name), target="target")._repr_html_())
    pages = list(tmp_path.glob("*.html"))
    assert {page.name for page in pages} > {"comparison.html", "explanation.html", "inspection.html"}
    with browser.open_page() as opened:
        for page in pages:
            opened.goto(page.as_uri())
            opened.wait_for_load_state("networkidle")
            assert opened.evaluate("window.evil") is None, page.name
            links = "[...document.querySelectorAll('a')].filter(a => a.protocol === 'javascript:').length"
            assert opened.evaluate(links) == 0, page.name
            if page.suffix == ".html":
                assert IMAGE in opened.inner_text("body"), page.name


def test_names_give_the_terminal_no_commands(tmp_path: Path) -> None:
    cells = "".join(f"{row % 7},{row % 5}.5,{TITLE if row % 3 else CLEARING}\n" for row in range(40))
    (tmp_path / "t.csv").write_text(f"x,{CLEARING},y\n{cells}")
    (tmp_path / "new.csv").write_text(f"x,{CLEARING},{TITLE}\n99,0.5,2\n")
    dataset = ["dataset=file", "dataset.path=t.csv", "dataset.target=y"]
    commands = (
        ["-m", *dataset, "learner=knn,majority"],
        [*dataset, "learner=decision_tree"],
        ["compare", "sweep=latest"],
        ["explain", "latest"],
        ["inspect", "t.csv", "target=y"],
        ["predict", "latest", "t.csv"],
        ["predict", "latest", "new.csv"],
        ["replay", "latest"],
        ["ship", "latest", "as=plain"],
    )
    with command_in(tmp_path) as bakeoff:
        for command in commands:
            answer = bakeoff(*command)
            assert answer.status == 0, answer.err
            assert "\x1b" not in answer.out + answer.err, command
        refused = bakeoff(*dataset, "learner=majority", f"evaluation.positive={CLEARING}x")
        assert refused.status == 2
        assert "\x1b" not in refused.err
