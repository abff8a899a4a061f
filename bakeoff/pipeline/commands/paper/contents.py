"""The content of a capsule, from the store: jobs, data, scores, code, and what a paper shows of them.

Jobs are settled configurations and not the words of commands, because words depend on the files from which they are
composed, and on the defaults of a version.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from bakeoff.pipeline.commands.compare.run_grid import RUN_KEY, RunFacts, read_overrides
from bakeoff.pipeline.commands.compare.stored_comparison import compare_selection, select_runs
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.comparison_report.latex_tables import TableStyle, hide_folders, write_tables
from bakeoff.pipeline.commands.comparison_report.pictures import write_pictures
from bakeoff.pipeline.commands.paper import capsule
from bakeoff.pipeline.commands.paper.carried_runs import write_runs
from bakeoff.pipeline.commands.paper.methods import write_methods, write_references
from bakeoff.pipeline.commands.paper.request import PaperRequest
from bakeoff.pipeline.commands.repetition.differences import TIME_PREFIXES
from bakeoff.pipeline.config.settle import to_yaml
from bakeoff.pipeline.config.targets import TARGET_KEY, require_names, walk
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.identity.source_code import get_finder, get_package
from bakeoff.pipeline.model.estimator_file import list_own_code
from bakeoff.pipeline.model.training_record import SCORE_PREFIXES
from bakeoff.pipeline.stages.dataset.files import find_files
from bakeoff.pipeline.sweep.study_file import DATA_FOLDER, PLACES, REFUSED, WORDS, Line
from bakeoff.pipeline.tracking.provenance import pin_versions
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_config import list_files, rename_files, restore_config
from bakeoff.pipeline.tracking.stored_runs import TRIED_TAG, StoredRun, read_series

README = """\
# {}

{n_jobs} jobs with {n_scores} scores. Two commands repeat them in an empty folder, and compare every score and table:

```sh
pip install -r requirements.txt
bakeoff verify {words}
```

`scores.parquet` has a row for each job, metric and fold; `study.yaml` has all settings of each job; `manifest.json` has
the SHA-256 of each file.
"""

STD_SUFFIX = "_std"
HEADER = "# The jobs of a study; run them with: bakeoff -m jobs=study.yaml on_invalid=skip\n"
LEFT_OUT = ("tracking", "trust", "figures", "n_jobs")
"""Keys that affect no result, or belong to a machine."""
REFUSED_PREFIX = f"{REFUSED}: "

Jobs = Sequence[tuple[RunFacts, Mapping[str, Any]]]
"""Jobs with their settled configurations, which are empty for jobs that cannot run again."""
Score = tuple[int, str, int, float]
SCORE_COLUMNS = ["job", "metric", "fold", "score"]
"""The columns of a score, of which the first three identify it."""


def make_capsule(request: PaperRequest) -> tuple[capsule.Files, dict[str, Any]]:
    """Return the files of the capsule of a study, and the facts for its manifest.

    Parameters
    ----------
    request : PaperRequest

    Raises
    ------
    UserError
        The runs cannot be compared or repeated, data are missing or have changed, or code needs trust.
    """
    store, comparison, jobs = _select_jobs(request)
    runs = {number: facts.run for number, (facts, _) in enumerate(jobs) if facts.run.is_finished}
    newest = max(runs.values(), key=lambda run: run.started)
    scores = read_scores(store, runs)
    style = TableStyle(request.decimals, request.percent, request.std)
    methods = write_methods(comparison, list(runs.values()))
    get_finder().trust(request.trust)
    packages = _list_packages(jobs)
    code = {f"{capsule.CODE_FOLDER}/{name}": file for name, file in list_own_code(packages).items()}
    data = _find_data(jobs)
    words = [request.output.name]
    words += [f"trust=[{','.join(sorted(capsule.list_packages(code)))}]"] * bool(code)
    words += ["data=FOLDER"] * (bool(data) and not request.data)
    texts = {
        capsule.TABLES: write_tables(comparison, style),
        "methods.tex": methods,
        "references.bib": write_references(methods),
        capsule.STUDY: _write_study(jobs),
        capsule.DATA: _describe_data(jobs),
        capsule.REQUIREMENTS: _write_requirements(newest, packages),
        "README.md": README.format(comparison.question, n_jobs=len(jobs), n_scores=len(scores), words=" ".join(words)),
    }
    files = {
        **{name: text.encode() for name, text in texts.items()},
        capsule.SCORES: _write_scores(scores, jobs),
        capsule.RUNS: write_runs([facts for facts, _ in jobs]),
        **{f"figures/{name}": content for name, content in write_pictures(comparison, ".pdf").items()},
        **{name: file.read_bytes() for name, file in (code | data if request.data else code).items()},
    }
    return files, _list_facts(request, style, newest)


def _list_facts(request: PaperRequest, style: TableStyle, newest: StoredRun) -> dict[str, Any]:
    """Return what the manifest has besides digests: what decides the tables, and where the newest run was made."""
    return {
        "comparison": {key: getattr(request, key) for key in capsule.FACTS["comparison"]},
        "style": asdict(style),
        "environment": {tag: newest.tags[tag] for tag in capsule.FACTS["environment"]},
    }


def _select_jobs(request: PaperRequest) -> tuple[Store, Comparison, Jobs]:
    """Return the jobs of a study and their comparison; reject one that no other machine can repeat."""
    request.require_one_selection()
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    selection = select_runs(store, request)
    comparison = compare_selection(store, selection, request)
    if any(RUN_KEY in row.params for row in comparison.configurations):
        raise UserError("the rows are named by ids of runs, which no other store has; select the runs by sweep=NAME.")
    if any(metric.name.startswith(TIME_PREFIXES) for metric in comparison.metrics):
        raise UserError("metrics: times cannot be repeated; name scores.")
    return store, comparison, [(facts, _read_spec(store, facts, request.trust)) for facts in selection.facts]


def _read_spec(store: Store, facts: RunFacts, trust: Sequence[str]) -> dict[str, Any]:
    """Return the settled configuration of a job; empty if it ended before it was stored."""
    if not facts.configuration:
        return {}
    try:
        spec = restore_config(store, facts.run.run_id, trust)
    except UserError:
        if facts.run.is_finished:
            raise
        return {}  # its process was killed
    require_names(spec, "", trust)
    return spec


def _list_packages(jobs: Jobs) -> list[str]:
    """Return the packages whose classes and functions the jobs name."""
    targets = [str(value) for _, spec in jobs for path, value in walk(spec) if path and path[-1] == TARGET_KEY]
    return sorted(set(map(get_package, targets)))


def _write_requirements(run: StoredRun, packages: Sequence[str]) -> str:
    """Return the versions of a run, and those of further packages that are installed."""
    versions = json.loads(run.tags["versions"])
    python = versions.pop("python")
    pinned = {*pin_versions(*packages), *(f"{name}=={version}" for name, version in versions.items())}
    return "\n".join([f"# Python {python}", *sorted(pinned), ""])


def _find_data(jobs: Jobs) -> dict[str, Path]:
    """Return the files of the datasets by their names in the capsule."""
    found: dict[str, Path] = {}
    for path in dict.fromkeys(path for _, spec in jobs if spec for path in list_files(spec["dataset"])):
        for file in find_files("path", path):
            if found.setdefault(f"{DATA_FOLDER}/{file.name}", file) != file:
                raise UserError(f"{file} has the same name as another file of the study; rename one of them.")
    return dict(sorted(found.items()))


def _describe_data(jobs: Jobs) -> str:
    """Return the names, sizes, digests and sources of the datasets as CSV.

    Raises
    ------
    UserError
        Rows have changed since a run.
    """
    resources = PartCache()
    rows = {}
    for facts, spec in jobs:
        if not spec:
            continue
        dataset = resources.get_dataset(spec)
        if dataset.digest() != facts.digest:
            raise UserError(
                f"the rows of dataset {dataset.name} have changed since run {facts.short_id}; restore them, or run the "
                "study again."
            )
        files = [Path(path).name for path in list_files(spec["dataset"])]
        rows[facts.digest] = {
            "dataset": dataset.name,
            "rows": len(dataset.X),
            "columns": dataset.X.shape[1],
            "classes": len(dataset.classes) if dataset.is_classification else None,
            "digest": facts.digest,
            "source": " ".join(files) or ("a database" if "url" in spec["dataset"] else dataset.source),
        }
    return str(pd.DataFrame(rows.values()).astype({"classes": "Int64"}).to_csv(index=False))


def read_scores(store: Store, runs: Mapping[int, StoredRun]) -> list[Score]:
    """Return every score on test, validation and training rows.

    Parameters
    ----------
    store : Store
    runs : mapping of int to StoredRun
        The number of a job -> its finished run.
    """
    metrics = {name for run in runs.values() for name in run.metrics if name.startswith(SCORE_PREFIXES)}
    means = sorted(name for name in metrics if not name.endswith(STD_SUFFIX))
    series = read_series(store, list(runs.values()), means)
    return [
        (number, metric, fold, score)
        for number, run in runs.items()
        for metric, scores in series[run.run_id].items()
        for fold, score in enumerate(scores)
    ]


def _write_scores(scores: Sequence[Score], jobs: Jobs) -> bytes:
    """Return scores as Parquet, with a row without a score, but with the reason, for each job that has none."""
    names = pd.DataFrame(
        {"learner": facts.learner, "dataset": facts.dataset, "reason": hide_folders(facts.reason)} for facts, _ in jobs
    )
    table = names.rename_axis("job").reset_index().merge(pd.DataFrame(scores, columns=SCORE_COLUMNS), how="left")
    return table.to_parquet(index=False)


def _write_study(jobs: Jobs) -> str:
    """Return jobs as YAML: the options of each part, written once, what all jobs share, and the jobs.

    Parameters
    ----------
    jobs : sequence of (RunFacts, mapping)
        Each with its settled configuration.
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
    if TRIED_TAG in run.tags:  # within a time limit, each machine would try a different number of candidates
        parts["tuning"] = {**parts["tuning"], "tried": json.loads(run.tags[TRIED_TAG])}
    line: Line = {}
    for key, value in parts.items():
        is_part = isinstance(value, Mapping)
        line[key] = _name_part(options.setdefault(key, {}), run.params.get(key, "none"), value) if is_part else value
    words = [word for word in read_overrides(run) if word.partition("=")[0].endswith(TARGET_KEY)]
    return {**line, WORDS: words} if words else line


def _name_part(named: dict[str, Any], option: str, value: Any) -> str:
    """Return the name of a part among those with its key, to which it is added."""
    text = json.dumps(value, default=str)  # compare text, because Python's 1 equals 1.0 and True
    names = [option, *(f"{option} ({number})" for number in range(2, len(named) + 2))]
    return next(name for name in names if json.dumps(named.setdefault(name, value), default=str) == text)
