"""The jobs of a study, read from the file that `bakeoff paper` writes.

Jobs are settled configurations and not the words of commands, because words depend on the files from which they are
composed, and on the defaults of a version.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.pipeline.config.compose_job import compose_job
from bakeoff.pipeline.config.engine import Schema
from bakeoff.pipeline.config.options import GROUPS, load_yaml
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.config.words import Invocation, split_sweep_words
from bakeoff.pipeline.errors import UserError, name_error
from bakeoff.pipeline.sweep.command import require_few_jobs
from bakeoff.pipeline.sweep.jobs import INVALID, SWEEPS_FOLDER, Job
from bakeoff.pipeline.tracking.stored_config import move_data

PLACES = {"url": "${oc.env:BAKEOFF_DATABASE}", "data_home": None}
"""Keys of datasets that name a place -> their values in a study."""
DATA_FOLDER = Path("data")
WORDS = "words"
JOBS_PREFIX = "jobs="
LIMIT_PREFIX = "max_jobs="
JOB_MARK = "\n- "
"""The beginning of each job in the text of a study."""
OWN_PREFIXES = ("tracking", "trust")
"""The beginnings of the words of jobs that a study leaves open."""
REFUSED = "refused"
Line = dict[str, Any]
"""What identifies a job in the file: the option of each part, and plain values."""
Settle = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Returns a configuration of a study as it runs on this machine."""


def read_study(text: str, words: Sequence[str] = ()) -> Any:
    """Return the content of a study; reject one with more jobs than the words of its sweep allow."""
    has_limit = any(word.startswith(LIMIT_PREFIX) for word in words)
    most = sys.maxsize if has_limit else Schema.max_jobs
    require_few_jobs(text.count(JOB_MARK), "the lines of the study", most)  # parsing them takes long
    study = load_yaml(text, "the study")
    require_few_jobs(len(study["jobs"]), "the entries of the study", most)
    return study


def read_study_words(
    words: Sequence[str], folder: Path | None = None, place: str = "", study: Any = None
) -> tuple[list[str], list[Job]]:
    """Return the words of a sweep, and the jobs of the study given by ``jobs=FILE``.

    Jobs that were refused are invalid, with their reasons.

    Parameters
    ----------
    words : sequence of str
        Next to ``jobs=FILE``, words of the sweep, of its store, and of trusted packages.
    folder : Path, optional
        The folder of the files of datasets; by default the folder `DATA_FOLDER` beside the file.
    place : str
        This folder in the words of the user, for messages.
    study : object, optional
        The content of the file if it was read.

    Raises
    ------
    UserError
        A word belongs neither to the sweep nor to its store, the file cannot be read or is no study, a class needs
        trust, or a file of a dataset is missing.
    """
    file = Path(next(word for word in words if word.startswith(JOBS_PREFIX)).removeprefix(JOBS_PREFIX))
    sweep_words, others = split_sweep_words([word for word in words if not word.startswith(JOBS_PREFIX)])
    foreign = [word for word in others if not word.startswith(OWN_PREFIXES)]
    if foreign:
        raise UserError(
            f"{foreign[0]} has no effect on the jobs of {file}, which have all of their settings; leave it out."
        )
    if study is None and not file.is_file():
        raise UserError(
            f"jobs={file} cannot be read: it is not a file (looked in {Path.cwd()}); give the study.yaml that "
            "`bakeoff paper` writes."
        )
    own = compose_job(others).spec
    folder = folder or file.parent / DATA_FOLDER

    def settle(spec: Mapping[str, Any]) -> Mapping[str, Any]:
        dataset = move_data(spec["dataset"], folder, place or str(folder))
        changed = {"dataset": dataset, "tracking": own["tracking"], "trust": own["trust"], "figures": []}
        return settle_config({**spec, **changed})

    try:
        content = study or read_study(file.read_text(encoding="utf-8"), sweep_words)
        jobs = _read_jobs(content, file.stem, settle)
    except (KeyError, TypeError, AttributeError, OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"jobs={file} is not a study.yaml written by `bakeoff paper`, or was changed: {name_error(error)}."
        ) from error
    return [f"hydra.sweep.dir={SWEEPS_FOLDER}/{file.stem}", *sweep_words], jobs


def _read_jobs(content: Mapping[str, Any], sweep: str, settle: Settle) -> list[Job]:
    lines = content["jobs"]
    varying = tuple(dict.fromkeys(key for line in lines for key in line if key not in (WORDS, REFUSED)))
    jobs = []
    for number, own in enumerate(lines):
        line = {**content["every_job"], **own}
        words = tuple(map(str, line.pop(WORDS, ())))
        choices = {key: str(value).partition(" (")[0] for key, value in line.items() if key in GROUPS}
        job = Job(
            number=number,
            name=f"{choices['learner']} {choices['dataset']}",
            invocation=Invocation(choices, varying, sweep, number, words),
        )
        if REFUSED in line:
            jobs.append(replace(job, state=INVALID, reason=str(line[REFUSED])))
        else:
            options = content["options"]
            spec = {key: options[key][value] if key in options else value for key, value in line.items()}
            for key, place in PLACES.items():
                if spec["dataset"].get(key, place) != place:
                    raise UserError(f"dataset.{key} of a study must be {place}.")
            jobs.append(replace(job, spec=settle(spec)))
    return jobs
