"""``bakeoff paper`` and ``bakeoff verify``: a study is repeated to the bit elsewhere, and what was changed is found."""

from __future__ import annotations

import getpass
import io
import json
import socket
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Answer, Bakeoff, command_in
from warm_process import OUTPUT, Start

from bakeoff.pipeline.paper import capsule

CODE = """
from sklearn.dummy import DummyClassifier


class Own(DummyClassifier):
    def fit(self, X, y, sample_weight=None):
        if len(y) > 90:
            raise ValueError("no /home/ann/secret/rows.csv")
        return super().fit(X, y)
"""
ROWS = "u,v,y\n" + "".join(f"{row * 7 % 13}.5,{row * row % 7},{'ab'[row % 3 == 0]}\n" for row in range(60))
OWN_LEARNER = "# Own.\n_target_: mine.Own\nstrategy: stratified\nrandom_state: ${seed}\n"
OWN_DATA = "# Own.\ndefaults: [file]\npath: my.csv\ntarget: y\n".replace("preprocessing: none\n", "")
STUDY = (
    "-m", "learner=knn,own,majority", "dataset=table,iris", "preprocessing=none", "evaluation=kfold",
    "evaluation.folds=3", "trust=[mine]", "hydra.sweep.dir=outputs/sweeps/s",
)  # fmt: skip
PAPER = ("paper", "sweep=s", "trust=[mine]", "data=true")
FILES = {"my.csv": ROWS, "mine.py": CODE, "conf/learner/own.yaml": OWN_LEARNER, "conf/dataset/table.yaml": OWN_DATA}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the capsule of a study of six jobs, one of which fails."""
    folder = tmp_path_factory.mktemp("study")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    with command_in(folder) as bakeoff:
        assert bakeoff(*STUDY).status == 1
        answer = bakeoff(*PAPER)
        assert answer.status == 0, answer.err
        (folder / "again").mkdir()
        assert bakeoff(*PAPER, "output=again/study.capsule.zip").status == 0
    return folder / "study.capsule.zip"


def read(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def change(study: Path, folder: Path, name: str, edit: Callable[[bytes], bytes]) -> Path:
    """Write a capsule with another content of a file, whose digest is that of the manifest."""
    files, facts = capsule.read_capsule(study)
    changed = edit(files[name])
    assert changed != files[name]
    own = {key: value for key, value in facts.items() if key not in ("format", "files")}
    capsule.write_capsule(folder / study.name, {**files, name: changed}, own)
    return folder / study.name


def replace(old: str, new: str) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(old.encode(), new.encode(), 1)


def verify(bakeoff: Bakeoff, path: Path, *words: str) -> Answer:
    return bakeoff("verify", str(path), "trust=[mine]", *words)


@pytest.mark.slow
def test_a_study_is_verified_to_the_bit_in_an_empty_folder_and_a_second_verification_repeats_nothing(
    study: Path, tmp_path: Path, start: Start
) -> None:
    (tmp_path / study.name).write_bytes(study.read_bytes())
    for n_to_run in ("6 to run", "1 to run, 5 already done"):  # the job that fails runs each time
        process = start(tmp_path, ["verify", study.name, "trust=[mine]", "workers=2"])
        output = (tmp_path / OUTPUT).read_text() if process.wait(120) == 0 else ""
        assert f"6 jobs: {n_to_run}" in output
        assert output.splitlines()[-2:] == [
            "1 job without scores, as in the study",
            "6 of 6 jobs, 120 of 120 scores equal to the last bit; the tables are identical",
        ]


def test_a_capsule_names_no_folder_user_or_host_and_has_equal_bytes_each_time(study: Path) -> None:
    assert study.read_bytes() == (study.parent / "again" / study.name).read_bytes()
    files = read(study)
    assert {*capsule.NEEDED, capsule.MANIFEST, "code/mine.py", "data/my.csv"} <= files.keys()
    texts = b"\n".join(content for name, content in files.items() if not name.startswith("code/"))
    for name in (str(study.parent), socket.gethostname(), f"/{getpass.getuser()}", "/home"):
        assert name.encode() not in texts


def test_scores_have_a_row_for_each_job_fold_and_metric_and_failed_jobs_have_a_reason(study: Path) -> None:
    scores = pd.read_parquet(io.BytesIO(read(study)[capsule.SCORES]))
    accuracy = scores[scores["metric"] == "test_accuracy"]
    assert accuracy.groupby("job")["fold"].apply(list).tolist() == [[0, 1, 2]] * 5
    (failed,) = scores[scores["reason"] != ""].to_dict("records")
    assert (failed["learner"], failed["dataset"]) == ("own", "iris")
    assert failed["reason"] == "failed: ValueError: no rows.csv"


def test_the_study_is_one_file_that_runs(study: Path, bakeoff: Bakeoff) -> None:
    files = read(study)
    for name in (capsule.STUDY, "data/my.csv"):
        (bakeoff.folder / name).parent.mkdir(exist_ok=True)
        (bakeoff.folder / name).write_bytes(files[name])
    (bakeoff.folder / "mine.py").write_bytes(files["code/mine.py"])
    answer = bakeoff("-m", "jobs=study.yaml", "trust=[mine]")
    assert answer.out.count("test_accuracy 0.") == 5
    assert "own iris" in answer.out
    assert bakeoff("compare", "sweep=study").status == 0


@pytest.mark.parametrize("name", [*capsule.NEEDED, "code/mine.py", "data/my.csv"])
def test_a_changed_file_is_named(study: Path, bakeoff: Bakeoff, name: str) -> None:
    path = bakeoff.folder / "changed.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for each, content in read(study).items():
            archive.writestr(each, content + b" " if each == name else content)
    answer = verify(bakeoff, path)
    assert answer.status == 2
    assert f"{name} is missing, or is not the file of which" in answer.err
    assert [file.name for file in bakeoff.folder.iterdir()] == ["changed.zip"]


def change_score(content: bytes) -> bytes:
    scores = pd.read_parquet(io.BytesIO(content))
    values = scores["score"].to_numpy(copy=True)
    values[4] = np.nextafter(values[4], 1.0)
    target = io.BytesIO()
    scores.assign(score=values).to_parquet(target)
    return target.getvalue()


@pytest.mark.parametrize(
    ("name", "edit", "status", "sentence"),
    [
        (capsule.SCORES, change_score, 1, "job 0 (knn my), test_error, fold 1: "),
        (capsule.STUDY, replace("n_neighbors: 5", "n_neighbors: 7"), 1, "job 0 (knn my), test_accuracy, fold 0: "),
        (capsule.STUDY, replace("folds: 3", "folds: 4"), 1, "the tables are different"),
        ("data/my.csv", replace("0.5,0,b", "0.5,1,b"), 2, "the rows of dataset my ("),
        ("code/mine.py", replace("super().fit(X, y)", "super().fit(X[:7], y[:7])"), 1, "job 2 (own my), "),
        (capsule.TABLES, replace("0.973", "0.974"), 1, "tables.tex: 'iris & "),
    ],
)  # fmt: skip
def test_a_changed_digit_is_found_where_the_manifest_fits(
    study: Path, bakeoff: Bakeoff, name: str, edit: Callable[[bytes], bytes], status: int, sentence: str
) -> None:
    answer = verify(bakeoff, change(study, bakeoff.folder, name, edit))
    assert answer.status == status, answer.err
    assert sentence in answer.out + answer.err


def add(name: str, content: bytes = b"", mode: int = stat.S_IFREG | 0o644) -> Callable[[zipfile.ZipFile], None]:
    def write(archive: zipfile.ZipFile) -> None:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        archive.writestr(entry, content, zipfile.ZIP_DEFLATED)

    return write


def add_bomb(archive: zipfile.ZipFile) -> None:
    with archive.open(zipfile.ZipInfo("data/zeros.csv"), "w", force_zip64=True) as stream:
        stream.write(b"0")
    archive.infolist()[-1].file_size = 2 * capsule.MAX_BYTES


ATTACKS = {
    "'../x.py' is not a file of a capsule": add("../x.py"),
    "'/tmp/x.pdf' is not a file of a capsule": add("/tmp/x.pdf"),
    "'code/../../x.py' is not a file": add("code/../../x.py"),
    "'code/hook.pth' is not a file": add("code/hook.pth"),
    "'data/../x' is not a file": add("data/../x"),
    "'data/x.csv' is a link": add("data/x.csv", b"/etc/passwd", stat.S_IFLNK | 0o777),
    "a file is in the archive twice": add("tables.tex"),
    "bytes, of at most": add_bomb,
    "more.txt is missing, or is not the file": add("more.txt"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("sentence", ATTACKS)
def test_an_archive_that_could_harm_is_refused(study: Path, bakeoff: Bakeoff, sentence: str) -> None:
    path = bakeoff.folder / "attack.zip"
    path.write_bytes(study.read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        ATTACKS[sentence](archive)
    answer = verify(bakeoff, path)
    assert answer.status == 2
    assert sentence in answer.err
    assert [file.name for file in bakeoff.folder.iterdir()] == ["attack.zip"]


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda manifest: {**manifest, "format": 2}, "has format 2, and this version of bakeoff reads format 1"),
        (lambda manifest: [manifest], "is damaged or not a capsule"),
        (lambda manifest: {**manifest, "comparison": {"alpha": 3}}, "alpha=3"),
    ],
)  # fmt: skip
def test_a_manifest_of_another_version_or_form_is_refused(
    study: Path, bakeoff: Bakeoff, edit: Callable[[dict[str, object]], object], sentence: str
) -> None:
    path = bakeoff.folder / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in read(study).items():
            text = json.dumps(edit(json.loads(content))) if name == capsule.MANIFEST else content
            archive.writestr(name, text)
    answer = verify(bakeoff, path)
    assert answer.status == 2
    assert sentence in answer.err


def test_what_is_no_archive_is_refused(bakeoff: Bakeoff) -> None:
    (bakeoff.folder / "a.zip").write_text("no archive")
    answers = [bakeoff("verify", name) for name in ("a.zip", "missing.zip")]
    assert [answer.status for answer in answers] == [2, 2]
    assert "is damaged or not a capsule" in answers[0].err
    assert "there is no file missing.zip" in answers[1].err


def test_code_runs_only_if_the_command_trusts_it(study: Path, bakeoff: Bakeoff) -> None:
    answer = bakeoff("verify", str(study))
    assert answer.status == 2
    assert "add trust=[mine]" in answer.err
    assert not list(bakeoff.folder.iterdir())


def test_drawn_jobs_prove_a_share_with_the_seed_of_the_verifier(study: Path, bakeoff: Bakeoff) -> None:
    answers = [verify(bakeoff, study, "n=2", "seed=1") for _ in range(2)]
    assert answers[0].out == answers[1].out
    assert answers[0].status == 0, answers[0].err
    assert "2 of 6 jobs are drawn with seed=1" in answers[0].err
    # 1 - 0.05 ** (1 / 2) is 0.776
    assert "with 95% confidence, at most 78 % of all 6 jobs differ" in answers[0].out
    assert "the tables are not written, because not all jobs ran" in answers[0].out


def test_a_difference_within_the_tolerance_is_shown_and_accepted(study: Path, bakeoff: Bakeoff) -> None:
    answer = verify(bakeoff, change(study, bakeoff.folder, capsule.SCORES, change_score), "tolerance=1e-9")
    assert answer.status == 0, answer.out
    assert "5 of 6 jobs, 119 of 120 scores equal to the last bit, 1 equal to 1e-09, 0 different" in answer.out


def test_other_versions_are_named_before_the_first_fit(study: Path, bakeoff: Bakeoff) -> None:
    files, facts = capsule.read_capsule(study)
    versions = {**json.loads(facts["environment"]["versions"]), "numpy": "1.0"}
    environment = {**facts["environment"], "versions": json.dumps(versions)}
    own = {"comparison": facts["comparison"], "style": facts["style"], "environment": environment}
    capsule.write_capsule(bakeoff.folder / "old.zip", files, own)
    answer = verify(bakeoff, bakeoff.folder / "old.zip", "n=1")
    assert answer.err.index("numpy was 1.0 in the study, and is ") < answer.err.index("job")


def test_data_that_are_not_in_the_capsule_are_asked_for(study: Path, bakeoff: Bakeoff) -> None:
    files, facts = capsule.read_capsule(study)
    files = {name: content for name, content in files.items() if name != "data/my.csv"}
    own = {key: facts[key] for key in ("comparison", "style", "environment")}
    capsule.write_capsule(bakeoff.folder / "small.zip", files, own)
    answer = verify(bakeoff, bakeoff.folder / "small.zip")
    assert answer.status == 2
    assert "data=FOLDER is needed: the capsule does not contain my.csv" in answer.err
    (bakeoff.folder / "there").mkdir()
    (bakeoff.folder / "there" / "my.csv").write_text(ROWS)
    assert verify(bakeoff, bakeoff.folder / "small.zip", "data=there").status == 0
