"""Folders and files whose names other programs interpret: all commands work there, and nothing is written elsewhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from command import Answer, Bakeoff, command_in

ALL_SIGNS = 'my%20data what?now [red]a #1 & it\'s "q" b\\s {a} a=b,c ~ grün 日本 🎉 * ; | $HOME :x: %s <b>x !'
"""Signs of URIs, of Rich's markup, of shells, of Hydra, of patterns, of formats and of HTML, in one name."""
ODD_NAMES = ("what?now", "a[/b]", "-dash", "~", "a\nb", "x" * 200)
"""Names that matter as a whole, or by their first or last sign."""
TABLE = "x,z,y\n" + "".join(f"{row % 7},{row % 5}.5,{'ab'[row % 3 == 0]}\n" for row in range(40))
NEW_ROWS = "x,z\n1,2.5\n3,0.5\n"
DATASET = ("dataset=file", "dataset.path=t.csv", "dataset.target=y", "learner=decision_tree")


def make_folder(parent: Path, name: str) -> Path:
    """Make a folder with a table and rows to predict."""
    folder = parent / name
    folder.mkdir(parents=True)
    (folder / "t.csv").write_text(TABLE)
    (folder / "new.csv").write_text(NEW_ROWS)
    return folder


def require_success(bakeoff: Bakeoff, *words: str) -> Answer:
    answer = bakeoff(*words)
    assert answer.status == 0, (words, answer.out + answer.err)
    return answer


def list_files(parent: Path) -> set[Path]:
    """Return the files of a folder and below, without MLflow's and those of Hydra's folders."""
    return {path for path in parent.rglob("*") if path.is_file() and "outputs" not in path.relative_to(parent).parts}


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_run_and_its_model_work_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    folder = make_folder(tmp_path / "parent", name)
    with command_in(folder) as bakeoff:
        answer = require_success(bakeoff, *DATASET)
        require_success(bakeoff, "predict", "latest", "new.csv", "output=o.csv")
    assert answer.out.endswith("\nopen  bakeoff ui\n")
    assert [path.name for path in folder.rglob("*.db")] == ["mlflow.db"]
    assert list_files(tmp_path) == {folder / file for file in ("t.csv", "new.csv", "o.csv")}
    assert len(list((tmp_path / "parent").iterdir())) == 1


def test_every_command_works_in_a_folder_whose_name_has_all_signs(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "parent", ALL_SIGNS)
    with command_in(folder) as bakeoff:
        require_success(bakeoff, *DATASET, "figures=[confusion_matrix]")
        require_success(bakeoff, "-m", *DATASET[:3], "learner=knn,majority")
        compared = require_success(bakeoff, "compare", "sweep=latest", "to=html", "output=r.html")
        require_success(bakeoff, "replay", "latest")
        require_success(bakeoff, "explain", "latest", "output=e.html")
        require_success(bakeoff, "inspect", "t.csv", "target=y", "output=i.html")
        require_success(bakeoff, "figures", "latest", "confusion_matrix", "output=figures")
        require_success(bakeoff, "ship", "latest", "as=m", "dataset=t")
        require_success(bakeoff, "predict", "m", "new.csv", "output=o.csv")
        commands: list[list[str]] = []
        bakeoff.patch.setattr(os, "execv", lambda file, words: commands.append(words))
        shown = require_success(bakeoff, "ui", "port=0")
    assert re.search(r"open http://127\.0\.0\.1:[1-9]\d+/#/experiments/1/runs\?", shown.out)
    assert len(commands) == 1
    assert "the report is in r.html" in compared.err
    made = {"t.csv", "new.csv", "r.html", "e.html", "i.html", "o.csv", "figures/confusion_matrix.png"}
    assert list_files(tmp_path) == {folder / file for file in made}
    assert [path.name for path in folder.rglob("*.db")] == ["mlflow.db"]


def test_a_folder_that_hydra_would_fill_in_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "parent", "${oc.env:HOME}")
    files = list(tmp_path.rglob("*"))
    with command_in(folder) as bakeoff:
        answer = bakeoff(*DATASET)
    assert answer.status == 2
    assert "has ${ in its name, which Hydra would interpolate; rename the folder" in answer.err
    assert list(tmp_path.rglob("*")) == files


def test_a_path_with_the_signs_of_an_interpolation_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "${x}.csv").write_text(TABLE)
    word = "dataset.path='\\${x}.csv'"
    with command_in(tmp_path) as bakeoff:
        require_success(bakeoff, "dataset=file", word, "dataset.target=y", "learner=majority")
        assert "\nidentical: " in require_success(bakeoff, "replay", "latest").out


def test_a_file_with_an_equals_sign_is_a_file(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, "here")
    (folder / "new.csv").rename(folder / "day=1.csv")
    with command_in(folder) as bakeoff:
        require_success(bakeoff, *DATASET)
        require_success(bakeoff, "predict", "latest", "./day=1.csv")
        require_success(bakeoff, "inspect", "./day=1.csv", "output=none")
    assert (folder / "day=1.predictions.csv").is_file()
