"""What commands write for users is there as a whole or not at all, and runs in no browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path

import browser
import numpy as np
import pandas as pd
import pytest
from command import command_in

from bakeoff.pipeline.cli.main import VERBS, load
from bakeoff.pipeline.commands.doctor.request import DIAGNOSIS
from bakeoff.pipeline.commands.inspect.python import inspect as inspect_in_notebook
from bakeoff.pipeline.commands.report.run_report import RUN_REPORT
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables import output_file

TABLE = "x,z,y\n" + "".join(f"{row % 7},{row % 5}.5,{'ab'[row % 3 == 0]}\n" for row in range(40))
KEPT = "Which of a and b is best on t, An earlier file."
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
            ["report", "latest", "output=report.html"],
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


FORMATS = {
    "ablate": ".txt .csv .json .md .tex .html",
    "compare": ".txt .csv .json .md .tex .html .pdf .svg",
    "diff": ".txt .csv .json .md .tex .html",
    "doctor": ".txt .json .html",
    "explain": ".html .htm",
    "inspect": ".html .htm .yaml .yml",
    "paper": ".zip",
    "predict": ".csv .tsv .parquet .feather .arrow .jsonl .xlsx",
    "report": ".html .htm",
    "schema": ".json",
    "work": ".txt .md .tex .html",
}
"""The verbs that write a file -> the allowed extensions."""
WORDS: dict[str, Sequence[str]] = {
    "ablate": ["latest", "keep=false"],
    "compare": ["sweep=study", "keep=false"],
    "diff": ["A", "B", "keep=false"],
    "doctor": ["latest", "quick=true", "keep=false"],
    "explain": ["latest"],
    "inspect": ["t.csv", "target=y"],
    "paper": ["sweep=study"],
    "predict": ["latest", "new.csv"],
    "report": ["latest"],
    "schema": [],
    "work": ["learner=knn", "dataset=colours"],
}
FOLDERS: dict[str, Sequence[str]] = {
    "figures": ["figures", "latest", "importances", "output=written"],
    "students": ["work", "learner=knn", "table=random", "blank=0.5", "students=1", "output=written"],
    "init": ["init", "written"],
    "sweep": ["-m", "learner=majority", "seed=1,2", "dataset=iris", "hydra.sweep.dir=written"],
}
"""The commands that write into a folder."""
KINDS = {
    "ablate": output_file.DIFFERENCE,
    "compare": output_file.COMPARISON,
    "diff": output_file.DIFFERENCE,
    "doctor": DIAGNOSIS,
    "explain": output_file.EXPLANATION,
    "inspect": output_file.INSPECTION,
    "paper": output_file.CAPSULE,
    "predict": output_file.PREDICTIONS,
    "report": RUN_REPORT,
    "schema": output_file.SCHEMA,
    "work": output_file.CALCULATION,
}
BEGINNINGS = {
    ".csv": rb"[\w,]+\n",
    ".tsv": rb"\w+\t",
    ".json": rb"\{\n",
    ".jsonl": rb"\{.*\}\n",
    ".md": rb"# ",
    ".tex": rb"%|\\",
    ".html": rb"<!DOCTYPE html>",
    ".htm": rb"<!DOCTYPE html>",
    ".txt": rb"(Which|Why|What|knn) ",
    ".pdf": rb"%PDF",
    ".svg": rb"<\?xml.*\n<svg",
    ".yaml": rb"# .*\ndefaults:",
    ".yml": rb"# .*\ndefaults:",
    ".zip": rb"PK",
    ".xlsx": rb"PK",
    ".parquet": rb"PAR1",
    ".feather": rb"ARROW1",
    ".arrow": rb"ARROW1",
}
"""Extension -> the beginning of what is written."""
FOREIGN = {".pdf": b"%PDF-1.4 a letter", ".zip": b"PK\3\4 holiday", ".parquet": b"PAR1", ".html": b"<!DOCTYPE html>\n"}
"""Files of others; those of further extensions are a table."""


@dataclass(frozen=True)
class Made:
    """A folder with a file of each verb and extension.

    Attributes
    ----------
    folder : Path
    commands : mapping of str to sequence of str
        Verb -> the words of its command without ``output=``.
    files : mapping of (str, str) to Path
        Verb and extension -> file.
    """

    folder: Path
    commands: Mapping[str, Sequence[str]]
    files: Mapping[tuple[str, str], Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a folder with a sweep of three learners on six datasets, and what every verb writes about it."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    for number in range(6):
        cells = pd.DataFrame({"x": rng.random(30), "z": rng.random(30), "y": rng.choice(["a", "b"], 30)})
        cells.to_csv(folder / f"t{number}.csv", index=False)
    (folder / "t.csv").write_text(TABLE)
    (folder / "new.csv").write_text("x,z\n1,2.5\n3,0.5\n")
    paths = ",".join(f"t{number}.csv" for number in range(6))
    sweep = ["-m", "dataset=file", f"dataset.path={paths}", "dataset.target=y", "hydra.sweep.dir=study"]
    tree = ["dataset=file", "dataset.path=t.csv", "dataset.target=y", "learner=decision_tree", "learner.max_depth=3"]
    with command_in(folder) as bakeoff:
        for words in ([*sweep, "learner=majority,naive_bayes,knn"], tree):
            answer = bakeoff(*words)
            assert answer.status == 0, answer.err
        tree_run, first, second = (run.info.run_id for run in bakeoff.runs()[:3])
        own = {**WORDS, "ablate": [tree_run, "keep=false"], "diff": [first, second, "keep=false"]}
        commands = {verb: [verb, *words] for verb, words in own.items()}
        files = {}
        for verb, extensions in FORMATS.items():
            for extension in extensions.split():
                file = files[verb, extension] = folder / f"{verb}{extension}"
                answer = bakeoff(*commands[verb], f"output={file.name}")
                assert answer.status == 0, answer.err
    return Made(folder, commands, files)


def test_the_table_has_every_verb_that_writes() -> None:
    requests = {name: load(verb.request) for name, verb in VERBS.items() if verb.request}
    writing = {name for name, request in requests.items() if "output" in {each.name for each in fields(request)}}
    folders, capsules = {"figures", "grade"}, {"reference", "watch"}
    assert writing == {*WORDS, *folders, *capsules}
    assert {verb: " ".join(KINDS[verb].formats) for verb in WORDS} == FORMATS


@pytest.mark.parametrize(("verb", "extension"), [(verb, each) for verb in FORMATS for each in FORMATS[verb].split()])
def test_the_extension_of_an_output_decides_its_format(made: Made, verb: str, extension: str) -> None:
    assert re.match(BEGINNINGS[extension], made.files[verb, extension].read_bytes())


@pytest.mark.parametrize("verb", WORDS)
@pytest.mark.parametrize("name", ["report.docx", "report"])
def test_an_extension_without_a_format_is_refused_with_those_allowed(made: Made, verb: str, name: str) -> None:
    with command_in(made.folder) as bakeoff:
        answer = bakeoff(*made.commands[verb], f"output={name}")
    assert answer.status == 2
    assert f"Allowed: {', '.join(FORMATS[verb].split())}." in answer.err
    assert not (made.folder / name).exists()


@pytest.mark.parametrize("verb", WORDS)
def test_an_output_replaces_its_own_kind_alone(made: Made, verb: str) -> None:
    with command_in(made.folder) as bakeoff:
        for extension in FORMATS[verb].split():
            own = made.files[verb, extension]
            os.utime(own, (0, 0))
            assert bakeoff(*made.commands[verb], f"output={own.name}").status == 0
            assert own.stat().st_mtime > 0
            other = made.folder / f"other{extension}"
            link = made.folder / f"link{extension}"
            other.write_bytes(FOREIGN.get(extension, TABLE.encode()))
            link.symlink_to(own)
            before = {path: path.read_bytes() for path in (own, other)}
            for path, reason in ((other, "is a file that this command has not written"), (link, "is a link")):
                answer = bakeoff(*made.commands[verb], f"output={path.name}")
                assert answer.status == 2
                assert f"output={path.name!r} {reason}" in answer.err
            assert {path: path.read_bytes() for path in (own, other)} == before
            assert link.is_symlink()
            link.unlink()


def test_no_output_is_taken_for_one_of_another_kind(made: Made) -> None:
    for (verb, extension), file in made.files.items():
        for kind in {id(each): each for each in KINDS.values()}.values():
            if extension not in kind.formats:
                continue
            refused = pytest.raises(UserError, match="has not written")
            with nullcontext() if kind is KINDS[verb] else refused:
                kind.require_own(file)


@pytest.mark.parametrize("name", ["inspect", "explain", "report"])
def test_the_page_that_no_word_names_replaces_no_file_of_others(made: Made, name: str) -> None:
    with command_in(made.folder) as bakeoff:
        answer = bakeoff(*made.commands[name])
        (page,) = re.findall(r"\S+\.html", answer.out)
        (made.folder / page).write_text("a letter")
        answer = bakeoff(*made.commands[name])
    assert answer.status == 2
    assert "has not written" in answer.err
    assert (made.folder / page).read_text() == "a letter"


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("way", ["a link", "a file"])
def test_a_folder_to_write_into_is_no_link_and_no_file(made: Made, tmp_path: Path, name: str, way: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "multirun.yaml").write_text("a letter")
    path = made.folder / "written"
    if way == "a link":
        path.symlink_to(home)
    else:
        path.write_text("a letter")
    with command_in(made.folder) as bakeoff:
        answer = bakeoff(*FOLDERS[name])
        assert answer.status == 2, answer.err
        assert "written' is a file or a link, and links are not followed" in answer.err
    assert [file.read_text() for file in home.iterdir()] == ["a letter"]
    path.unlink()


@pytest.mark.parametrize("name", ["importances.png", "importances.csv"])
@pytest.mark.parametrize("way", ["a link", "a file"])
def test_figures_replace_figures_alone(made: Made, tmp_path: Path, name: str, way: str) -> None:
    letter = tmp_path / "letter"
    letter.write_text("a letter")
    folder = made.folder / "written"
    with command_in(made.folder) as bakeoff:
        for _ in range(2):
            answer = bakeoff(*FOLDERS["figures"])
            assert answer.status == 0, answer.err
        (folder / name).unlink()
        if way == "a link":
            (folder / name).symlink_to(letter)
        else:
            (folder / "importances.png").unlink(missing_ok=True)
            (folder / name).write_text("a letter")
        answer = bakeoff(*FOLDERS["figures"])
    assert answer.status == 2
    assert name in answer.err
    assert letter.read_text() == (folder / name).read_text() == "a letter"
    shutil.rmtree(folder)


def test_a_sweep_writes_into_no_link_of_its_folder(made: Made, tmp_path: Path) -> None:
    letter = tmp_path / "letter"
    letter.write_text("a letter")
    folder = made.folder / "written"
    folder.mkdir()
    (folder / "multirun.yaml").symlink_to(letter)
    with command_in(made.folder) as bakeoff:
        assert bakeoff(*FOLDERS["sweep"], "dry_run=false").status == 0
    assert letter.read_text() == "a letter"
    assert "learner=majority" in (folder / "multirun.yaml").read_text()
    shutil.rmtree(folder)


def test_a_run_writes_into_no_link_of_its_folder(made: Made, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("a letter")
    folder = made.folder / "written"
    folder.mkdir()
    (folder / ".hydra").symlink_to(tmp_path)
    with command_in(made.folder) as bakeoff:
        answer = bakeoff("dataset=iris", "learner=majority", "hydra.run.dir=written")
    assert answer.status == 2
    assert ".hydra' is a file or a link, and links are not followed" in answer.err
    assert [file.read_text() for file in tmp_path.iterdir()] == ["a letter"]
    shutil.rmtree(folder)
