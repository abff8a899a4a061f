"""A question that is sealed before its first run: metrics, base, level, rope, tests and candidates.

The seal is a JSON file of a run in the experiment of the comparisons, and its SHA-256 digest is a tag. The store shows
whether the runs of the sealed jobs started later. Anyone who can write to the store can change it, so the seal proves
the order to others only if its digest was published elsewhere.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from bakeoff.pipeline.commands.compare.request import BEST_WORDS, CompareRequest, SelectionRequest
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.comparison_report.kept_report import DIGEST_TAG, KIND_TAG, SUFFIX
from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.sweep.jobs import Job
from bakeoff.pipeline.text.wording import count_nouns, name_first
from bakeoff.pipeline.tracking import artifacts, history, provenance, stored_runs
from bakeoff.pipeline.tracking.mlflow_tables import find_experiment
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import REMOVED_PREFIX, load_runs, search_runs

KIND = "seal"
FILE = "seal.json"
REPEATS = "repeats until sure"
UNITS, FOLDS = "the unit of the tests", "folds"
MILLISECONDS_PER_SECOND = 1000
FIRST_REPEAT_WORDS = ("evaluation.repeats=1", "evaluation.first_repeat=0")
SEAL_KEYS = ("seal", "metrics", "base", "alpha", "rope", "until", "repeats")
"""Keys of the comparison; all others are keys of the sweep."""


@dataclass(frozen=True)
class Seal:
    """A sealed question.

    Attributes
    ----------
    name : str
    sealed : str
        The time in ISO 8601, in UTC.
    settings : mapping of str to object
        Metrics, base, alpha, rope, the largest number of repeats with ``until=sure``, otherwise 0, and the test over
        datasets.
    candidates : mapping of str to str
        ``config_hash`` -> name of the job.
    """

    name: str
    sealed: str
    settings: Mapping[str, Any]
    candidates: Mapping[str, str]


def divide_words(words: Sequence[str]) -> tuple[CompareRequest, list[str]]:
    """Return the comparison that the words of a plan seal, and the words of its sweep.

    Raises
    ------
    UserError
        A word of the comparison is invalid.
    """
    own = [word for word in words if word.partition("=")[0] in SEAL_KEYS]
    request = read_request("plan", CompareRequest, own)
    # With until=sure, the jobs are those of the first repeat.
    first = FIRST_REPEAT_WORDS if request.is_until_sure else ()
    return request, [*(word for word in words if word not in own), *first]


def seal_jobs(request: CompareRequest, jobs: Sequence[Job]) -> str:
    """Store a seal for planned jobs, and return its digest.

    Parameters
    ----------
    request : CompareRequest
        The name of the seal, and the settings of the comparison.
    jobs : sequence of Job

    Raises
    ------
    UserError
        A job is invalid, not stored, or has a run; there are no metrics; or the base is no candidate.
    """
    candidates = {job.hash: job.name for job in jobs}
    tracking = jobs[0].spec.get("tracking", {}) if jobs else {}
    if "" in candidates or "experiment" not in tracking or not request.metrics:
        raise UserError(
            "seal= needs metrics=, such as metrics=accuracy, and a sweep that is stored, whose jobs are valid and "
            "known before the first one runs."
        )
    learners = {job.invocation.choices["learner"] for job in jobs}
    if request.base not in BEST_WORDS and request.base.split()[0] not in learners:
        raise UserError(f"base={request.base} is not among the sealed learners. {did_you_mean(request.base, learners)}")
    own = open_store(tracking["uri"], f"{tracking['experiment']}{SUFFIX}")
    started = {start.job for start in history.read_runs_of_jobs(own, candidates)}
    if started:
        raise UserError(
            f"{len(started)} of {count_nouns(len(candidates), 'job')} have runs in {own.uri}, so it is too late to "
            "seal them; leave these jobs out."
        )
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    seal = Seal(request.seal, now, _list_settings(request, request.metrics), candidates)
    text = json.dumps(asdict(seal), indent=1)
    tags = {**provenance.list_tags(), KIND_TAG: KIND, KIND: request.seal, DIGEST_TAG: _digest(text)}
    run_id, address = own.writer.create_run(own.experiment_id, f"{KIND} {request.seal}", tags)
    # Only a finished run is a seal.
    with artifacts.run_folder(own, address, run_id) as folder:
        (folder / FILE).write_text(text, encoding="utf-8")
    own.writer.end_run(run_id, stored_runs.FINISHED)
    return tags[DIGEST_TAG]


def check_seal(store: Store, comparison: Comparison, request: SelectionRequest) -> list[str]:
    """Return a sentence for each seal of the compared jobs: as sealed, with deviations, or not as sealed.

    Parameters
    ----------
    store : Store
        The store of the compared runs.
    comparison : Comparison
    request : SelectionRequest
        The request for this comparison. It may name a seal by its name or digest; by default, all seals of the compared
        jobs are checked, and damaged ones reported.

    Raises
    ------
    UserError
        There is no such seal.
    """
    word = request.seal
    found = find_experiment(store.client, f"{comparison.experiment}{SUFFIX}")
    own = [] if found is None else list(_read_seals(replace(store, experiment_id=found.experiment_id)))
    chosen = [(tags, seal) for tags, seal in own if word in ("", tags[KIND], tags[DIGEST_TAG])]
    if word and not chosen:
        raise UserError(f"seal={word} is not in {store.uri}. {did_you_mean(word, [tags[KIND] for tags, _ in own])}")
    runs = load_runs(store, comparison.run_ids if chosen else (), ["config_hash"], [])
    jobs = {run.run_id: run.tags.get("config_hash", "") for run in runs}
    sentences = []
    for tags, seal in chosen:
        name, digest = tags[KIND], tags[DIGEST_TAG]
        if seal is None:
            sentences.append(
                f"Not as sealed: the file of seal {name} is missing or does not match its digest {digest}."
            )
        elif word or not seal.candidates.keys().isdisjoint(jobs.values()):
            deviations = [*_compare_settings(seal, comparison, request), *_compare_candidates(seal, comparison, jobs)]
            sentences.append(f"{_judge_seal(store, seal, tags, deviations)} (seal {name}, SHA-256 {digest}).")
    return sentences


def _judge_seal(store: Store, seal: Seal, tags: Mapping[str, str], deviations: Sequence[str]) -> str:
    """Return whether the sealed jobs started after the seal, were kept, and answer the sealed question."""
    starts = history.read_runs_of_jobs(store, seal.candidates)
    sealed = datetime.fromisoformat(seal.sealed).timestamp() * MILLISECONDS_PER_SECOND
    n_runs, n_jobs = len(starts), sum(f"{REMOVED_PREFIX}{job}" in tags for job in seal.candidates)
    faults = {
        "of its jobs deleted": ("run", sum(start.is_deleted for start in starts)),
        "of its jobs started before it": ("run", sum(start.started <= sealed for start in starts)),
        "lost runs by bakeoff rm or gc": ("job", n_jobs),
    }
    broken = [f"{count_nouns(n, noun)} {fault}" for fault, (noun, n) in faults.items() if n]
    if broken:
        return f"Not as sealed on {seal.sealed}: {'; '.join([*broken, *deviations])}"
    order = f"sealed on {seal.sealed}, before the first of its {count_nouns(n_runs, 'run')} started"
    return f"Not the question {order}: {'; '.join(deviations)}" if deviations else f"As {order}"


def _list_settings(request: SelectionRequest, metrics: Sequence[str]) -> dict[str, Any]:
    """Return what is sealed of a request; prefixes of stored metrics, which may be left out, are removed."""
    return {
        "metrics": ", ".join(metric.removeprefix("test_").removeprefix("time/") for metric in metrics),
        "base": request.base,
        "alpha": request.alpha,
        "rope": request.rope,
        REPEATS: request.repeats if request.is_until_sure else 0,
        "overall": request.overall,
        UNITS: "rows" if getattr(request, "item", "") else FOLDS,
    }


def _compare_settings(seal: Seal, comparison: Comparison, request: SelectionRequest) -> Iterator[str]:
    """Yield the settings of a comparison that differ from the sealed ones."""
    row = next(row for row in comparison.configurations if row.name == comparison.settings.base)
    sealed_base = seal.settings["base"]
    is_base = sealed_base in ((row.name, row.learner) if comparison.settings.is_base_given else BEST_WORDS)
    used = _list_settings(request, [metric.name for metric in comparison.metrics])
    for key, value in {**used, "base": sealed_base if is_base else row.name}.items():
        sealed = {UNITS: FOLDS, **seal.settings}.get(key, value)
        if value != sealed:
            yield f"{key} is {value} instead of {'the best' if sealed == '' else sealed}"


def _compare_candidates(seal: Seal, comparison: Comparison, jobs: Mapping[str, str]) -> Iterator[str]:
    """Yield the sealed jobs without a compared run, and the compared cells without a sealed job."""
    added = []
    for cell in comparison.cells:
        is_sealed = [jobs.get(run_id) in seal.candidates for run_id in cell.run_ids]
        # The stop rule adds repeats to a sealed cell.
        if not (any(is_sealed) if seal.settings[REPEATS] and is_sealed else all(is_sealed)):
            added.append(f"{cell.configuration} on {cell.dataset}")
    missing = [name for job, name in seal.candidates.items() if job not in jobs.values()]
    for what, names in (("without a finished run", missing), ("added", added)):
        if names:
            yield f"{count_nouns(len(names), 'candidate')} {what}: {name_first(names)}"


def _read_seals(own: Store) -> Iterator[tuple[Mapping[str, str], Seal | None]]:
    """Yield the tags of each seal of a store, and the seal; None if its file does not match its digest."""
    query = f"tags.{KIND_TAG} = '{KIND}' and {stored_runs.IS_FINISHED}"
    for run in search_runs(own, query, metrics=[]):
        text = artifacts.read_artifact(own, f"{run.address}/{FILE}")
        tags = run.tags
        yield tags, Seal(**json.loads(text)) if _digest(text) == tags[DIGEST_TAG] else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
