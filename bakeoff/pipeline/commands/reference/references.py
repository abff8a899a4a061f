"""References: capsules with times and the digests of predictions, made from a sweep, listed and verified."""

import hashlib
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bakeoff.pipeline.commands.compare.run_grid import RunFacts, describe_run
from bakeoff.pipeline.commands.compare.stored_comparison import select_runs
from bakeoff.pipeline.commands.paper.capsule import write_capsule
from bakeoff.pipeline.commands.paper.carried_runs import PREDICTIONS_TAG, RUNS, write_runs
from bakeoff.pipeline.commands.paper.contents import make_capsule
from bakeoff.pipeline.commands.paper.request import PaperRequest, VerifyRequest
from bakeoff.pipeline.commands.paper.verify import DIFFERENT, EXPERIMENT, Announce, Report, verify_capsule
from bakeoff.pipeline.commands.reference.reference_file import (
    EXTENSION,
    SHIPPED,
    Reference,
    find_reference,
    open_reference,
)
from bakeoff.pipeline.commands.reference.request import ReferenceRequest
from bakeoff.pipeline.commands.repetition.differences import UNKNOWN, Difference, align_differences, compare_values
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.identity.source_code import hash_text
from bakeoff.pipeline.tables.output_file import CAPSULE, require_output
from bakeoff.pipeline.text.wording import count_nouns, format_bytes, name_first
from bakeoff.pipeline.tracking.store import Store, list_store_paths, open_store
from bakeoff.pipeline.tracking.stored_runs import TABLES, read_stored_runs, read_tables

FACTS = ("dataset_digest", "splits_digest", "rows_per_fold", PREDICTIONS_TAG)
"""The tags of a run that the same job has on each machine."""
NONE_DIFFER = ", 0 differ"
EARLIER = "; earlier, "
"""Stands before the last verification in which jobs differed."""


def make_reference(request: ReferenceRequest) -> str:
    """Write the runs of a sweep as a reference, and return a sentence about it.

    Raises
    ------
    UserError
        The runs cannot be compared or repeated, data are missing or have changed, code needs trust, or the file cannot
        be written.
    """
    study = PaperRequest(
        sweep=request.sweep,
        filter=request.filter,
        output=request.output or Path(f"{request.title}{EXTENSION}"),
        trust=request.trust,
        tracking__uri=request.tracking__uri,
        tracking__experiment=request.tracking__experiment,
    )
    output = require_output(study.output, CAPSULE, store=list_store_paths(study.tracking__uri))
    files, manifest = make_capsule(study)
    store = open_store(study.tracking__uri, study.tracking__experiment, create=False)
    runs = [_add_predictions(store, each) for each in select_runs(store, study).facts]
    write_capsule(output, {**files, RUNS: write_runs(runs, has_times=True)}, manifest)
    digest = hashlib.sha256(output.read_bytes()).hexdigest()
    size = format_bytes(output.stat().st_size)
    return f"{output} has {count_nouns(len(runs), 'job')} in {size}; its SHA-256 is {digest}"


def _add_predictions(store: Store, facts: RunFacts) -> RunFacts:
    """Return the facts of a run with the digest of its predictions, if they are stored."""
    text = read_tables(store, facts.run).get(TABLES[0]) if facts.run.is_finished else None
    if text is None:
        return facts
    tags = {**facts.run.tags, PREDICTIONS_TAG: hashlib.sha256(text.encode()).hexdigest()}
    return replace(facts, run=replace(facts.run, tags=tags))


def list_references(request: ReferenceRequest) -> list[str]:
    """Return a sentence on each reference of this folder, and on each one that is installed."""
    files = sorted({*Path.cwd().glob(f"*{EXTENSION}"), *SHIPPED.glob(f"*{EXTENSION}")})
    store = None
    with suppress(UserError):  # there may be no store yet
        store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    sentences = []
    for file in files:
        try:
            reference = open_reference(str(file))
        except UserError as error:
            sentences.append(str(error))
            continue
        learners, datasets = (
            sorted({getattr(each, part) for each in reference.facts}) for part in ("learner", "dataset")
        )
        sentences.append(
            f"{reference.summarize(len(reference.facts), store)} {format_bytes(file.stat().st_size)}; "
            f"{name_first(learners)} on {name_first(datasets)}."
        )
    return sentences or [f"There is no reference in {Path.cwd()}, and none is installed."]


def verify_reference(request: ReferenceRequest, announce: Announce) -> tuple[int, list[str]]:
    """Run jobs of a reference again, compare all scores and facts, and keep the result with the store.

    Returns
    -------
    status : int
        The exit code.
    sentences : list of str
        What differs, what that proves about all jobs, and the verdict.
    """
    reference = open_reference(request.name)
    study = VerifyRequest(
        capsule=find_reference(request.name),
        data=request.data,
        n=request.n,
        seed=request.seed,
        tolerance=request.tolerance,
        workers=request.workers,
        trust=request.trust,
    )
    report = verify_capsule(study, announce)
    others = _compare_facts(reference, report)
    decisive = {int(each.place.split()[1]) for each in others if each.name != PREDICTIONS_TAG}
    n_different = len(report.different | decisive)
    store = open_store(request.tracking__uri, request.tracking__experiment)
    now = datetime.now(UTC).date().isoformat()
    found = f"{len(report.done)} of {len(reference.facts)} verified on {now} with this store, {n_different} differ"
    if request.tolerance:
        found += f" by more than {request.tolerance:g}"
    worst = reference.read_verification(store).rpartition(EARLIER)[2]
    # Another draw may miss the jobs that differ.
    if worst and not n_different and NONE_DIFFER not in worst:
        found += EARLIER + worst
    store.writer.tag_experiment(store.experiment_id, reference.tag, found)
    return DIFFERENT if decisive else report.status, [*align_differences(others), *report.sentences]


def _compare_facts(reference: Reference, report: Report) -> list[Difference]:
    """Return the facts of runs that differ from those of the reference."""
    store = open_store(str(report.store), EXPERIMENT)
    then: dict[tuple[str, str], str] = {}
    now: dict[tuple[str, str], str] = {}
    for job, run in zip(report.done, read_stored_runs(store, list(report.done.values())), strict=True):
        pair = (reference.facts[job], _add_predictions(store, describe_run(run)))
        for values, facts in zip((then, now), pair, strict=True):
            place = f"job {job} ({run.name})"
            values |= {(fact, place): facts.run.tags.get(fact, UNKNOWN) for fact in FACTS}
            values["params", place] = hash_text(repr(facts.configuration))
    return list(compare_values("facts", then, now).differences)
