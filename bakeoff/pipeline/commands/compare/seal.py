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
from typing import Any, NamedTuple

from bakeoff.pipeline.commands.compare.comparison import Comparison
from bakeoff.pipeline.commands.compare.request import BEST_WORDS, KIND_TAG, SUFFIX, CompareRequest
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.sweep.jobs import Job
from bakeoff.pipeline.text.wording import count_nouns, name_first
from bakeoff.pipeline.tracking import provenance, run_content, stored_runs
from bakeoff.pipeline.tracking.mlflow_tables import find_experiment
from bakeoff.pipeline.tracking.store import REMOVED_PREFIX, Store, load_runs, open_store, search_runs

KIND = "seal"
FILE = "seal.json"
DIGEST_TAG = "sha256"
REPEATS = "repeats until sure"
MILLISECONDS_PER_SECOND = 1000


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


class StoredSeal(NamedTuple):
    """A seal in a store: its name, its digest, its content, which is None if it does not fit, and the run's tags."""

    name: str
    digest: str
    content: Seal | None
    tags: Mapping[str, str]


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
    started = {start.job for start in stored_runs.read_starts(own, candidates)}
    if started:
        raise UserError(
            f"{len(started)} of {count_nouns(len(candidates), 'job')} have runs in {own.uri}, so it is too late to "
            "seal them; leave these jobs out."
        )
    settings = {
        "metrics": _shorten(request.metrics),
        "base": request.base,
        "alpha": request.alpha,
        "rope": request.rope,
        REPEATS: request.repeats if request.is_until_sure else 0,
        "overall": request.overall,
    }
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    text = json.dumps(asdict(Seal(request.seal, now, settings, candidates)), indent=1)
    tags = {**provenance.list_tags(), KIND_TAG: KIND, KIND: request.seal, DIGEST_TAG: _digest(text)}
    run_id, address = own.writer.create_run(own.experiment_id, f"{KIND} {request.seal}", tags)
    # Only a finished run is a seal.
    with run_content.run_folder(own, address, run_id) as folder:
        (folder / FILE).write_text(text)
    own.writer.end_run(run_id, stored_runs.FINISHED)
    return tags[DIGEST_TAG]


def check_seal(store: Store, comparison: Comparison, word: str = "") -> tuple[str, ...]:
    """Return a sentence for each seal of the compared jobs: as sealed, with deviations, or not as sealed.

    Parameters
    ----------
    store : Store
        The store of the compared runs.
    comparison : Comparison
    word : str
        The name or digest of a seal; by default, all seals of the compared jobs, and damaged ones.

    Raises
    ------
    UserError
        There is no such seal.
    """
    found = find_experiment(store.client, f"{comparison.experiment}{SUFFIX}")
    own = [] if found is None else list(_read_seals(replace(store, experiment_id=found.experiment_id)))
    chosen = [each for each in own if word in ("", each.name, each.digest)]
    if word and not chosen:
        raise UserError(f"seal={word} is not in {store.uri}. {did_you_mean(word, [each.name for each in own])}")
    runs = load_runs(store, comparison.run_ids if chosen else (), ["config_hash"], [])
    jobs = {str(run.info.run_id): run.data.tags.get("config_hash", "") for run in runs}
    sentences = []
    for name, digest, seal, tags in chosen:
        if seal is None:
            sentences.append(f"Not as sealed: the file of seal {name} is missing or does not fit its digest {digest}.")
        elif word or not seal.candidates.keys().isdisjoint(jobs.values()):
            sentences.append(f"{_judge_seal(store, seal, tags, comparison, jobs)} (seal {name}, SHA-256 {digest}).")
    return tuple(sentences)


def _judge_seal(
    store: Store, seal: Seal, tags: Mapping[str, str], comparison: Comparison, jobs: Mapping[str, str]
) -> str:
    starts = stored_runs.read_starts(store, seal.candidates)
    sealed = datetime.fromisoformat(seal.sealed).timestamp() * MILLISECONDS_PER_SECOND
    faults = {
        "of its jobs deleted": sum(start.is_deleted for start in starts),
        "of its jobs started before it": sum(start.started <= sealed for start in starts),
    }
    broken = [f"{count_nouns(n, 'run')} {fault}" for fault, n in faults.items() if n]
    n_removed = sum(f"{REMOVED_PREFIX}{job}" in tags for job in seal.candidates)
    broken += [f"{count_nouns(n_removed, 'job')} lost runs by bakeoff rm or gc"] if n_removed else []
    deviations = [*_compare_settings(seal, comparison), *_compare_candidates(seal, comparison, jobs)]
    if broken:
        return f"Not as sealed on {seal.sealed}: {'; '.join([*broken, *deviations])}"
    order = f"sealed on {seal.sealed}, before the first of its {count_nouns(len(starts), 'run')} started"
    return f"Not the question {order}: {'; '.join(deviations)}" if deviations else f"As {order}"


def _compare_settings(seal: Seal, comparison: Comparison) -> Iterator[str]:
    """Yield the settings of a comparison that differ from the sealed ones."""
    settings = comparison.settings
    row = next(row for row in comparison.configurations if row.name == settings.base)
    sealed_base = seal.settings["base"]
    is_base = sealed_base in ((row.name, row.learner) if settings.is_base_given else BEST_WORDS)
    used = {
        "metrics": _shorten([metric.name for metric in comparison.metrics]),
        "base": sealed_base if is_base else row.name,
        "alpha": settings.alpha,
        "rope": comparison.metrics[0].rope,
        REPEATS: settings.max_repeats,
        "overall": settings.overall,
    }
    for key, value in used.items():
        sealed = seal.settings.get(key, value)
        if value != sealed:
            yield f"{key} is {value} instead of {'the best' if sealed == '' else sealed}"


def _shorten(metrics: Sequence[str]) -> str:
    """Return the names of metrics without the prefixes of stored ones, which may be left out."""
    return ", ".join(metric.removeprefix("test_").removeprefix("time/") for metric in metrics)


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


def _read_seals(own: Store) -> Iterator[StoredSeal]:
    """Yield each seal of a store."""
    query = f"tags.{KIND_TAG} = '{KIND}' and {stored_runs.IS_FINISHED}"
    for run in search_runs(own, query, metrics=[]):
        text = run_content.read_artifact(own, f"{run.info.artifact_uri}/{FILE}")
        tags = run.data.tags
        content = Seal(**json.loads(text)) if _digest(text) == tags[DIGEST_TAG] else None
        yield StoredSeal(tags[KIND], tags[DIGEST_TAG], content, tags)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
