"""A study as one file: its jobs with all of their settings, in which equal parts are written once.

Jobs are settled configurations and not the words of commands, because words depend on the files from which they are
composed, and on the defaults of a version.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.pipeline.commands.compare.latex_tables import hide_folders
from bakeoff.pipeline.commands.compare.run_grid import RunFacts, read_overrides
from bakeoff.pipeline.config.settle import to_yaml
from bakeoff.pipeline.config.targets import TARGET_KEY
from bakeoff.pipeline.sweep.study_file import DATA_FOLDER, PLACES, REFUSED, WORDS, Line
from bakeoff.pipeline.tracking.stored_config import rename_files
from bakeoff.pipeline.tracking.stored_runs import TRIED_TAG

HEADER = "# The jobs of a study; run them with: bakeoff -m jobs=study.yaml on_invalid=skip\n"
LEFT_OUT = ("tracking", "trust", "figures", "n_jobs")
"""Keys that affect no result, or belong to a machine."""
REFUSED_PREFIX = f"{REFUSED}: "


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
