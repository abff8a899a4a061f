"""A study as one file: its jobs with all of their settings, in which equal parts are written once.

Jobs are settled configurations and not the words of commands, because words depend on the files from which they are
composed, and on the defaults of a version.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bakeoff.pipeline.comparison.run_facts import RunFacts, read_overrides
from bakeoff.pipeline.config.compose_job import compose_job
from bakeoff.pipeline.config.engine import Schema
from bakeoff.pipeline.config.options import GROUPS, load_yaml
from bakeoff.pipeline.config.settle import settle_config, to_yaml
from bakeoff.pipeline.config.targets import TARGET_KEY
from bakeoff.pipeline.config.words import Invocation, split_sweep_words
from bakeoff.pipeline.errors import UserError, name_error
from bakeoff.pipeline.paper.tables import hide_folders
from bakeoff.pipeline.sweep.compose import require_few_jobs
from bakeoff.pipeline.sweep.jobs import INVALID, Job
from bakeoff.pipeline.tracking.stored_config import move_data, rename_files
from bakeoff.pipeline.tracking.stored_runs import TRIED_TAG

HEADER = "# The jobs of a study; run them with: bakeoff -m jobs=study.yaml on_invalid=skip\n"
LEFT_OUT = ("tracking", "trust", "figures", "n_jobs")
"""Keys that affect no result, or belong to a machine."""
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
REFUSED_PREFIX = f"{REFUSED}: "

Line = dict[str, Any]
"""What identifies a job in the file: the option of each part, and plain values."""
Settle = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Returns a configuration of a study as it runs on this machine."""


def write_study(jobs: Sequence[tuple[RunFacts, Mapping[str, Any]]]) -> str:
    """Return jobs as YAML: the options of each part, what all jobs share, and the jobs.

    Parameters
    ----------
    jobs : sequence of (RunFacts, mapping)
        Each with its settled configuration, which is empty for a job that cannot run again.
    """
    options: dict[str, dict[str, Any]] = {}
    lines = [_write_line(facts, spec, options) for facts, spec in jobs]
    full = [line for line in lines if REFUSED not in line]
    shared = {key: value for key, value in full[0].items() if all(line.get(key) == value for line in full)}
    own = [{key: value for key, value in line.items() if shared.get(key) != value} for line in lines]
    return HEADER + to_yaml({"options": options, "every_job": shared, "jobs": own})


def _write_line(facts: RunFacts, spec: Mapping[str, Any], options: dict[str, dict[str, Any]]) -> Line:
    run = facts.run
    if not spec:
        return {
            "dataset": facts.dataset,
            "learner": facts.learner,
            REFUSED: hide_folders(facts.reason.removeprefix(REFUSED_PREFIX)),
        }
    parts = {key: value for key, value in spec.items() if key not in LEFT_OUT}
    dataset = rename_files(parts["dataset"], DATA_FOLDER)
    parts["dataset"] = {**dataset, **{key: place for key, place in PLACES.items() if key in dataset}}
    if TRIED_TAG in run.tags:  # within a time limit, each machine would try another number of candidates
        parts["tuning"] = {**parts["tuning"], "tried": json.loads(run.tags[TRIED_TAG])}
    line: Line = {}
    for key, value in parts.items():
        is_part = isinstance(value, Mapping)
        line[key] = _name_part(options.setdefault(key, {}), run.params.get(key, "none"), value) if is_part else value
    words = [word for word in read_overrides(run) if word.partition("=")[0].endswith(TARGET_KEY)]
    return {**line, WORDS: words} if words else line


def _name_part(named: dict[str, Any], option: str, value: Any) -> str:
    """Return the name of a part among those with its key, to which it is added."""
    text = json.dumps(value, default=str)  # in Python, 1 equals 1.0 and True
    names = [option, *(f"{option} ({number})" for number in range(2, len(named) + 2))]
    return next(name for name in names if json.dumps(named.setdefault(name, value), default=str) == text)


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
    """Return the words of a sweep, and the jobs of the study that the word ``jobs=FILE`` among them names.

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

    def settle(spec: Mapping[str, Any]) -> dict[str, Any]:
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
    return [f"hydra.sweep.dir=outputs/sweeps/{file.stem}", *sweep_words], jobs


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
            jobs.append(replace(job, spec=settle(_read_spec(line, content["options"]))))
    return jobs


def _read_spec(line: Line, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration of a job; reject a place of the data that its reader did not choose."""
    spec = {key: options[key][value] if key in options else value for key, value in line.items()}
    for key, place in PLACES.items():
        if spec["dataset"].get(key, place) != place:
            raise UserError(f"dataset.{key} of a study must be {place}.")
    return spec
