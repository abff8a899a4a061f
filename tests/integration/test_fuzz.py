"""Words and tables that no one thought of: each is taken, or refused in a sentence, and nothing is left behind."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import yaml
from command import command_in
from example_counts import examples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bakeoff.pipeline.config.compose_job import compose_job, own_hydra_state
from bakeoff.pipeline.config.options import CONF, GROUPS, read_options
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import evaluate_splits
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.sweep.job_runner import PreparedJob, prepare_job

N_WORD_EXAMPLES = 60
N_TABLE_EXAMPLES = 60
FAST = ("dataset=iris", "learner=majority", "tracking=none")
SKIPPED_GROUPS = ("tracking", "experiment")
"""Their options write a store, or describe sweeps and figures that take long."""
SLOW_DATASETS = {"openml", "sql", "digits"}
JUNK = (
    "", " ", "null", "None", "no", "off", "yes", "true", "0", "1", "-1", "1.5", "nan", "inf", "-inf", "1e3", "abc",
    "[]", "[1,2]", "{}", "{a: 1}", "[[1]]", "''", "'1'", "it's", "(", "[1", "a,b", "${seed}", "${nowhere}", "???",
    "range(3,1)", "range(1,3)", "glob(z*)", "tag(lgo,choice(1,2))", "${", "é", "a=b", "\t", "1 2", "\\", "../x", "%s",
    "{_target_: os.system}", "\u202e", "x" * 300,
)  # fmt: skip
TABLE = "table.csv"
LEARNERS = ("majority", "decision_tree", "naive_bayes")
REFUSAL_WORDS = ("Traceback", "LexerNoViableAlt", "no viable alternative", "mismatched input", "extraneous input")
"""What no message may hold."""


def read_keys() -> dict[str, list[str]]:
    """Return the keys of each option of conf/: ``group=option`` -> dotted keys."""
    keys = {}
    for group in GROUPS:
        for name in read_options(group):
            if group not in SKIPPED_GROUPS and name not in SLOW_DATASETS:
                content = yaml.safe_load((CONF / group / f"{name}.yaml").read_text()) or {}
                keys[f"{group}={name}"] = [f"{group}.{key}" for key in content if key not in ("_target_", "defaults")]
    return keys


KEYS = read_keys()
TOP_KEYS = ("seed", "n_jobs", "figures", "trust", "resume", "workers", "space.C", "preprocessing.numeric")
VALUES = st.sampled_from(JUNK) | st.integers(-3, 300).map(str) | st.floats(width=16).map(str) | st.text(max_size=8)


@st.composite
def commands(draw: st.DrawFn) -> tuple[str, ...]:
    """Draw options of one or two groups, and words that set, add or remove keys of them: valid, nearly valid, junk."""
    chosen = draw(st.lists(st.sampled_from(sorted(KEYS)), max_size=2, unique_by=lambda word: word.partition("=")[0]))
    known = [*TOP_KEYS, *GROUPS, *(key for option in chosen for key in KEYS[option])]
    words = list(chosen)
    for _ in range(draw(st.integers(1, 2))):
        key = draw(st.sampled_from(known))
        key = draw(st.sampled_from([key, key, key, key[:-1], f"{key}x", f"{key}.x", f" {key}", key.upper()]))
        prefix = draw(st.sampled_from(["", "", "", "", "~", "+", "++"]))
        sign = draw(st.sampled_from(["=", "=", "=", "=", "", "==", "= "]))
        words.append(f"{prefix}{key}{sign}{draw(VALUES) if sign else ''}")
    return tuple(words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return an empty folder, in which the commands are composed."""
    path = tmp_path_factory.mktemp("fuzz")
    with command_in(path), own_hydra_state():
        yield path


def check(words: tuple[str, ...], resources: PartCache) -> str:
    """Compose and prepare a job as a run does, without a fit; return the refusal, empty if there is none."""
    try:
        job = compose_job(words)
        prepare_job(job.spec, job.invocation, resources)
    except UserError as error:
        return str(error)
    return ""


@example(("learner=null",))
@example(("dataset=[iris,wine]",))
@example(("evaluation.stratify=no",))
@example(("~learner.class_order",))
@settings(examples(N_WORD_EXAMPLES), suppress_health_check=list(HealthCheck))
@given(commands())
def test_every_word_is_taken_or_refused_in_a_sentence(folder: Path, words: tuple[str, ...]) -> None:
    refusal = check((*FAST, *words), PartCache())
    assert not any(phrase in refusal for phrase in REFUSAL_WORDS), refusal
    assert "\n" not in refusal
    assert not list(folder.iterdir())


def prepare(spec: Mapping[str, Any], invocation: Invocation) -> tuple[PreparedJob | None, str]:
    """Read the data of a job and check it; return the job, or the refusal."""
    try:
        return prepare_job(spec, invocation, PartCache()), ""
    except UserError as error:
        return None, str(error)


@pytest.fixture(scope="module")
def composed(folder: Path) -> dict[str, tuple[Mapping[str, Any], Invocation]]:
    """Return a job for each learner, on a file that each example writes."""
    words = ("dataset=file", f"dataset.path={TABLE}", "dataset.target=y", "tracking=none")
    jobs = {name: compose_job((*words, f"learner={name}")) for name in LEARNERS}
    return {name: (job.spec, job.invocation) for name, job in jobs.items()}


TEXTS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs"), include_characters="\",;\t\n'|"), max_size=6
)
NUMBERS = st.one_of(
    st.integers(-99, 99).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["1e308", "-0.0", "1_000", "0x10", "1,5", "1.000,5", "٣", "1e400", "+1", "1.", ".5"]),
)
ODD_CELLS = st.sampled_from(
    [
        "",
        " ",
        "NA",
        "NaN",
        "nan",
        "null",
        "None",
        "?",
        "-",
        "inf",
        "true",
        "no",
        "2024-02-30",
        "2024-01-05",
        "1 mm",
        "'",
        '"',
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[list[str]], bytes]:
    """Draw the cells of a table, the names first, and the file in which Python's csv module writes them."""
    n_columns = draw(st.integers(1, 4))
    n_rows = draw(st.integers(1, 14))
    name = draw(st.sampled_from(["x", "x", "é x", 'a"b', "a,b", "", "1", "y", "line\nbreak"]))
    names = [*(f"{name}{number or ''}" for number in range(n_columns - 1)), "y"]
    if n_columns > 2 and draw(st.integers(0, 9)) == 0:
        names[1] = names[0]
    kinds = [draw(st.sampled_from([NUMBERS, TEXTS, ODD_CELLS, NUMBERS | ODD_CELLS])) for _ in names[:-1]]
    classes = draw(st.sampled_from([["a", "b"], ["yes", "no"], ["0", "1"], ["a b", 'c"d'], ["a"], ["1.5", "2.5", "x"]]))
    rows = []
    for number in range(n_rows):
        label = classes[number % len(classes)] if draw(st.integers(0, 19)) else draw(ODD_CELLS)
        rows.append([*(draw(kind) for kind in kinds), label])
    cells = [names, *rows]
    delimiter = draw(st.sampled_from([",", ",", ";", "\t", "|"]))
    line_end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    text = io.StringIO(newline="")
    quoting: Literal[0, 1] = csv.QUOTE_ALL if draw(st.booleans()) else csv.QUOTE_MINIMAL
    csv.writer(text, delimiter=delimiter, lineterminator=line_end, quoting=quoting).writerows(cells)
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    end = draw(st.sampled_from(["", "", line_end, line_end * 2, "\x00", f"{delimiter}{line_end}"]))
    return cells, f"{mark}{text.getvalue()}{end}".encode()


@settings(examples(N_TABLE_EXAMPLES), suppress_health_check=list(HealthCheck))
@given(tables(), st.sampled_from(LEARNERS))
def test_every_table_is_learned_to_finite_scores_or_refused_in_a_sentence(
    folder: Path, composed: Mapping[str, Any], table: tuple[list[list[str]], bytes], learner: str
) -> None:
    _, content = table
    (folder / TABLE).write_bytes(content)
    spec, invocation = composed[learner]
    try:
        prepared, refusal = prepare(spec, invocation)
    finally:
        (folder / TABLE).unlink()
    assert (prepared is None) == bool(refusal)
    assert refusal == "" or refusal.endswith((".", "?", ")"))
    assert not list(folder.iterdir())
    for fold in evaluate_splits(prepared.experiment, prepared.splits.folds) if prepared is not None else ():
        accuracy = fold.scores.get("test_accuracy", fold.scores.get("test_rmse"))
        assert accuracy is not None
        assert np.isfinite(accuracy)
