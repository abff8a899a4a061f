"""``bakeoff paper`` and ``bakeoff verify``: a study is repeated to the bit elsewhere, and what was changed is found."""

from __future__ import annotations

import contextlib
import getpass
import io
import json
import os
import shutil
import socket
import sqlite3
import stat
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command import Answer, Bakeoff, command_in
from pyarrow import parquet
from warm_process import OUTPUT, Start

from bakeoff.pipeline.commands.paper import capsule
from bakeoff.pipeline.errors import UserError

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
ABSENT = object()
FACTS = [f"{place}.{key}" for place, kinds in capsule.FACTS.items() for key in kinds]
WRONG_PARTS: tuple[Any, ...] = (None, [], "text")
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
    runs = {"6 to run": "6 jobs ran now", "1 to run, 5 already done": "1 job ran now and 5 in an earlier call of yours"}
    for n_to_run, ran in runs.items():  # the job that fails runs each time
        process = start(tmp_path, ["verify", study.name, "trust=[mine]", "workers=2"])
        output = (tmp_path / OUTPUT).read_text() if process.wait(400) == 0 else ""
        assert f"6 jobs: {n_to_run}" in output
        assert output.splitlines()[-2:] == [
            "1 job without scores, as in the study",
            f"6 of 6 jobs, 120 of 120 scores equal to the last bit; the tables are identical; {ran}",
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
    assert f"{name} is missing, or does not match its digest" in answer.err
    assert [file.name for file in bakeoff.folder.iterdir()] == ["changed.zip"]


def write_parquet(table: pa.Table) -> bytes:
    target = io.BytesIO()
    parquet.write_table(table, target)
    return target.getvalue()


def repeat_long_text(content: bytes) -> bytes:
    """Return scores with one text of a megabyte in 500 rows, which takes a few kilobytes."""
    metrics = pa.DictionaryArray.from_arrays(pa.array([0] * 500), ["a" * 1_000_000])
    return write_parquet(pa.table({"job": [0] * 500, "metric": metrics}))


def edit_scores(edit: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[bytes], bytes]:
    return lambda content: write_parquet(pa.Table.from_pandas(edit(pd.read_parquet(io.BytesIO(content)))))


change_score = edit_scores(
    lambda table: table.assign(score=table["score"].where(table.index != 4, np.nextafter(table["score"], 1.0)))
)


@pytest.mark.parametrize(
    ("name", "edit", "status", "sentence"),
    [
        (capsule.SCORES, change_score, 1, "job 0 (knn my), test_error  fold 1"),
        (capsule.STUDY, replace("n_neighbors: 5", "n_neighbors: 7"), 1, "job 0 (knn my), test_accuracy"),
        (capsule.STUDY, replace("folds: 3", "folds: 4"), 1, "the tables are different"),
        ("data/my.csv", replace("0.5,0,b", "0.5,1,b"), 2, "the rows of dataset my ("),
        ("code/mine.py", replace("super().fit(X, y)", "super().fit(X[:7], y[:7])"), 1, "job 2 (own my), "),
        (capsule.TABLES, replace("0.973", "0.974"), 1, "tables.tex: 'iris & "),
        (capsule.TABLES, replace("\n", "\f"), 1, "the tables are different"),
    ],
)  # fmt: skip
def test_a_changed_digit_is_found_where_the_manifest_fits(
    study: Path, bakeoff: Bakeoff, name: str, edit: Callable[[bytes], bytes], status: int, sentence: str
) -> None:
    answer = verify(bakeoff, change(study, bakeoff.folder, name, edit))
    assert answer.status == status, answer.err
    assert sentence in answer.out + answer.err


def write_manifest(study: Path, folder: Path, edit: Callable[[dict[str, Any]], object]) -> Path:
    """Write a capsule whose manifest is edited."""
    path = folder / study.name
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in read(study).items():
            text = json.dumps(edit(json.loads(content))) if name == capsule.MANIFEST else content
            archive.writestr(name, text)
    return path


def edit_manifest(path: str, value: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that sets a part of a manifest, or a fact in it such as style.std; `ABSENT` removes it."""

    def edit(manifest: dict[str, Any]) -> dict[str, Any]:
        place, _, key = path.partition(".")
        edited: dict[str, Any] = {**manifest, place: {**manifest[place], key: value} if key else value}
        if value is ABSENT:
            del (edited[place] if key else edited)[key or place]
        return edited

    return edit


def add(name: str, content: bytes = b"", mode: int = stat.S_IFREG | 0o644) -> Callable[[zipfile.ZipFile], None]:
    def write(archive: zipfile.ZipFile) -> None:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        archive.writestr(entry, content, zipfile.ZIP_DEFLATED)

    return write


def declare(name: str, n_bytes: int, content: bytes = b"0") -> Callable[[zipfile.ZipFile], None]:
    """Add a file with another size than the archive declares."""

    def write(archive: zipfile.ZipFile) -> None:
        with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as stream:
            stream.write(content)
        archive.infolist()[-1].file_size = n_bytes

    return write


def add_other_compression(archive: zipfile.ZipFile) -> None:
    archive.writestr(zipfile.ZipInfo("data/x.xz"), b"", zipfile.ZIP_LZMA)


def test_an_entry_is_not_decompressed_beyond_its_declared_size(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/zeros.csv", bytes(100_000_000))
        archive.infolist()[-1].file_size = 1
    tracemalloc.start()
    try:
        with pytest.raises(UserError, match="Bad CRC-32"):
            capsule.read_capsule(tmp_path / "a.zip")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


ATTACKS = {
    "'../x.py' is not a file of a capsule": add("../x.py"),
    "'/tmp/x.pdf' is not a file of a capsule": add("/tmp/x.pdf"),
    "'code/../../x.py' is not a file": add("code/../../x.py"),
    "'code/hook.pth' is not a file": add("code/hook.pth"),
    "'data/../x' is not a file": add("data/../x"),
    "'data/x.csv' is a link": add("data/x.csv", b"/etc/passwd", stat.S_IFLNK | 0o777),
    "a file is in the archive twice": add("tables.tex"),
    "the files have 2,147,": declare("data/zeros.csv", 2 * capsule.MAX_BYTES),
    "figures/a.pdf has 16,777,217 bytes, but may have at most": declare("figures/a.pdf", capsule.MAX_TEXT_BYTES + 1),
    "code/a.py has 16,777,217 bytes": declare("code/a.py", capsule.MAX_TEXT_BYTES + 1),
    "Bad CRC-32 for file 'data/more.csv'": declare("data/more.csv", 1, b"0" * 100_000),
    "'data/x.xz' is not a file of a capsule": add_other_compression,
    "data/more.csv is missing, or does not match its digest": add("data/more.csv"),
    "'more.txt' is not a file of a capsule": add("more.txt"),
    "'mlflow.db' is not a file of a capsule": add("mlflow.db"),
    "'verification.json' is not a file of a capsule": add("verification.json"),
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
        (edit_manifest("format", 2), "has format 2, and this version of bakeoff reads format 1"),
        (lambda manifest: [manifest], "is damaged or not a capsule"),
        (edit_manifest("files", []), "tables.tex is missing"),
        (edit_manifest("files.x", 3), "x is missing"),
        (edit_manifest("files.data.csv", ["a"]), "data.csv is missing"),
        *[(edit_manifest(place, ABSENT), f"KeyError('{place}')") for place in ("format", "files", *capsule.FACTS)],
        *[
            (edit_manifest(place, value), "is damaged or not a capsule")
            for place in capsule.FACTS
            for value in WRONG_PARTS
        ],
        *[
            row
            for fact in FACTS
            for row in (
                (edit_manifest(fact, {"nested": []}), f"{fact}={{'nested': []}} in"),
                (edit_manifest(fact, ABSENT), f"KeyError('{fact.partition('.')[2]}')"),
            )
        ],
        (edit_manifest("style.more", 1), "unexpected keyword argument"),
        (edit_manifest("comparison.sweep", "a"), "multiple values for keyword argument"),
        (edit_manifest("environment.versions", "no JSON"), "environment.versions='no JSON'"),
        (edit_manifest("environment.versions", '["numpy"]'), "environment.versions='["),
        (edit_manifest("environment.threads", '{"blas": "one"}'), "environment.threads='{"),
        (edit_manifest("environment.blas", "a" * 200_000), "environment.blas='aaa"),

        (edit_manifest("comparison.alpha", float("nan")), "alpha=nan must be above 0"),
        (edit_manifest("comparison.metrics", [3]), "is damaged or not a capsule"),
        (edit_manifest("comparison.metrics", ["a"] * 10_000), "comparison.metrics=['a', 'a'"),



    ],
)  # fmt: skip
def test_a_manifest_of_another_version_or_form_is_refused_before_anything_runs(
    study: Path, bakeoff: Bakeoff, edit: Callable[[dict[str, Any]], object], sentence: str
) -> None:
    answer = verify(bakeoff, write_manifest(study, bakeoff.folder, edit))
    assert answer.status == 2
    assert sentence in answer.err
    assert len(answer.err) < 3000
    assert [file.name for file in bakeoff.folder.iterdir()] == [study.name]


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"[" * 100_000, b"9" * 5000])
def test_a_manifest_that_is_no_json_is_refused(study: Path, bakeoff: Bakeoff, text: bytes) -> None:
    path = bakeoff.folder / study.name
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in read(study).items():
            archive.writestr(name, text if name == capsule.MANIFEST else content)
    answer = verify(bakeoff, path)
    assert answer.status == 2
    assert "is damaged or not a capsule" in answer.err


def make_hole(path: Path) -> None:
    path.touch()
    os.truncate(path, 2 * capsule.MAX_BYTES)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), Path.mkdir, make_hole])
def test_what_is_no_file_or_too_large_is_refused(bakeoff: Bakeoff, make: Callable[[Path], object]) -> None:
    make(bakeoff.folder / "study.zip")
    answer = bakeoff("verify", "study.zip")
    assert answer.status == 2
    assert "study.zip is not a file" in answer.err


def test_a_pipe_is_no_study(bakeoff: Bakeoff) -> None:
    os.mkfifo(bakeoff.folder / "study.yaml")
    answer = bakeoff("-m", "jobs=study.yaml")
    assert answer.status == 2
    assert "jobs=study.yaml cannot be read: it is not a file" in answer.err


@pytest.mark.parametrize(
    ("name", "edit", "sentence"),
    [
        (capsule.SCORES, repeat_long_text, "scores.parquet cannot be read as CSV or Parquet: it holds more than"),
        (capsule.SCORES, lambda content: b"PAR1" + b"0" * 100 + b"PAR1", "cannot be read as a table"),
        (capsule.SCORES, edit_scores(lambda table: table.drop(columns="reason")), "is damaged or not a capsule"),
        (capsule.SCORES, edit_scores(lambda table: table.assign(job="one")), "is damaged or not a capsule"),
        (capsule.SCORES, edit_scores(lambda table: table.assign(score="high")), "is damaged or not a capsule"),
        (capsule.SCORES, edit_scores(lambda table: table.assign(job=table["job"] + 1)), "has other jobs than"),

        (capsule.SCORES, edit_scores(lambda table: pd.concat([table, table[:1]])), "has two rows of the same job"),
        (capsule.DATA, replace("digest", "sum"), "KeyError('digest')"),
        (capsule.TABLES, lambda content: content + b"\xff", "UnicodeDecodeError"),
        (capsule.STUDY, lambda content: content + b"\xff", "UnicodeDecodeError"),
        (capsule.STUDY, lambda content: b"- a\n", "is damaged or not a capsule"),

        (capsule.STUDY, lambda content: content[: content.index(b"\njobs:")] + b"\njobs: [" + b"1," * 100_001 + b"]",
         "make more than max_jobs=100000 jobs"),
    ],
)  # fmt: skip
def test_a_file_of_another_form_is_refused_before_anything_runs(
    study: Path, bakeoff: Bakeoff, name: str, edit: Callable[[bytes], bytes], sentence: str
) -> None:
    answer = verify(bakeoff, change(study, bakeoff.folder, name, edit))
    assert answer.status == 2
    assert sentence in answer.err
    assert len(answer.err) < 3000
    assert [file.name for file in bakeoff.folder.iterdir()] == [study.name]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["data=nope"], "data=nope is not a folder"),
        (["data=study.verification/data"], "study.verification was not made here by `verify`"),
    ],
)  # fmt: skip
def test_words_without_effect_are_refused_before_anything_is_written(
    study: Path, bakeoff: Bakeoff, words: list[str], sentence: str
) -> None:
    own = bakeoff.folder / "study.verification" / "data" / "my.csv"
    own.parent.mkdir(parents=True)
    own.write_text(ROWS)
    answer = verify(bakeoff, study, *words)
    assert answer.status == 2
    assert sentence in answer.err
    assert [file for file in bakeoff.folder.rglob("*") if file.is_file()] == [own]
    assert own.read_text() == ROWS


def test_a_folder_is_without_effect_if_no_dataset_is_a_file(bakeoff: Bakeoff) -> None:
    bakeoff("-m", "dataset=iris", "learner=majority,naive_bayes", "hydra.sweep.dir=outputs/sweeps/s")
    assert bakeoff("paper", "sweep=s", "output=s.zip").status == 0
    answer = bakeoff("verify", "s.zip", "data=outputs")
    assert answer.status == 2
    assert "data=outputs has no effect, because no dataset of the study is a file" in answer.err


def forge(folder: Path) -> None:
    """Set all scores of a store below a folder to another number."""
    (store,) = folder.rglob("mlflow.db")
    with closing(sqlite3.connect(store)) as database, database:
        for table in ("metrics", "latest_metrics"):
            database.execute(f"UPDATE {table} SET value = 0.99 WHERE key LIKE 'test_%'")


def test_scores_are_not_those_of_a_store_that_came_with_the_capsule(study: Path, bakeoff: Bakeoff) -> None:
    false = change(study, bakeoff.folder, capsule.SCORES, edit_scores(lambda table: table.assign(score=0.99)))
    (bakeoff.folder / "author").mkdir()
    with contextlib.chdir(bakeoff.folder / "author"):
        assert verify(bakeoff, false).status == 1
        forge(Path())
    shutil.copytree(bakeoff.folder / "author", bakeoff.folder / "cloned")
    shutil.rmtree(bakeoff.folder / "author")
    with contextlib.chdir(bakeoff.folder / "cloned"):
        answer = verify(bakeoff, false)
        assert answer.status == 2
        assert "study.verification was not made here by `verify` for this user" in answer.err
        shutil.rmtree("study.verification")
        answer = verify(bakeoff, false)
        assert answer.status == 1
        assert answer.out.splitlines()[-1].endswith("; 6 jobs ran now")


def test_tables_that_cannot_be_written_are_no_difference_of_scores(study: Path, bakeoff: Bakeoff) -> None:
    path = write_manifest(study, bakeoff.folder, edit_manifest("comparison.base", "nobody"))
    answer = verify(bakeoff, path)
    assert answer.status == 2
    assert "tables.tex cannot be written: " in answer.out
    assert "120 of 120 scores equal to the last bit; the tables are not written; 6 jobs ran now" in answer.out


def test_code_runs_only_if_the_command_trusts_it(study: Path, bakeoff: Bakeoff) -> None:
    answer = bakeoff("verify", str(study))
    assert answer.status == 2
    assert "add trust=[mine]" in answer.err
    assert not list(bakeoff.folder.iterdir())


def test_drawn_jobs_prove_a_share_with_the_seed_of_the_verifier(study: Path, bakeoff: Bakeoff) -> None:
    answers = [verify(bakeoff, study, "n=2", "seed=1") for _ in range(2)]
    assert [answer.out.splitlines()[:-1] for answer in answers] == [answers[0].out.splitlines()[:-1]] * 2
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
    environment = {**facts["environment"], "versions": json.dumps(versions), "more": "a"}
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
