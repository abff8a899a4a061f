"""References: capsules with times and the digests of predictions, made from a sweep, listed and verified."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bakeoff.pipeline.commands.compare.carried_runs import (
    EXTENSION,
    PREDICTIONS_TAG,
    RUNS,
    SHIPPED,
    Reference,
    find_reference,
    open_reference,
    write_runs,
)
from bakeoff.pipeline.commands.compare.run_grid import RunFacts, describe_run
from bakeoff.pipeline.commands.compare.stored_comparison import select_runs
from bakeoff.pipeline.commands.paper.capsule import write_capsule
from bakeoff.pipeline.commands.paper.contents import make_capsule
from bakeoff.pipeline.commands.paper.request import PaperRequest, VerifyRequest
from bakeoff.pipeline.commands.paper.verify import DIFFERENT, EXPERIMENT, Announce, Report, verify_capsule
from bakeoff.pipeline.commands.reference.request import ReferenceRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import CAPSULE, require_output
from bakeoff.pipeline.text.wording import count_nouns, format_bytes, name_first
from bakeoff.pipeline.tracking.store import Store, list_store_paths, open_store
from bakeoff.pipeline.tracking.stored_runs import TABLES, read_stored_runs, read_tables

COLUMNS = ("reference", "jobs", "learners", "datasets", "size", "SHA-256", "verified")
FACTS = ("dataset_digest", "splits_digest", "rows_per_fold")
"""The tags of a run that the same job has on each machine."""


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


def list_references(request: ReferenceRequest) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return the columns and the rows of a table of the references of this folder and the installed ones."""
    files = sorted({*Path.cwd().glob(f"*{EXTENSION}"), *SHIPPED.glob(f"*{EXTENSION}")})
    verified = _read_verifications(request)
    rows = []
    for file in files:
        try:
            reference = open_reference(str(file))
        except UserError as error:
            rows.append([file.name, str(error), *[""] * (len(COLUMNS) - 2)])
            continue
        learners, datasets = ({getattr(each, part) for each in reference.facts} for part in ("learner", "dataset"))
        counts = [str(len(each)) for each in (reference.facts, learners, datasets)]
        size = format_bytes(file.stat().st_size)
        rows.append([reference.name, *counts, size, reference.digest[:8], verified.get(reference.tag, "never")])
    return COLUMNS, rows


def _read_verifications(request: ReferenceRequest) -> Mapping[str, str]:
    """Return the tags of the experiment with the verifications; empty without a store."""
    try:
        store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    except UserError:
        return {}
    return dict(store.client.get_experiment(store.experiment_id).tags)


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
        workers=request.workers,
        trust=request.trust,
    )
    report = verify_capsule(study, announce)
    others, notes = _compare_facts(reference, report)
    n_different = len(report.different | others.keys())
    store = open_store(request.tracking__uri, request.tracking__experiment)
    now = datetime.now(UTC).date().isoformat()
    store.writer.tag_experiment(
        store.experiment_id,
        reference.tag,
        f"{len(report.done)} of {len(reference.facts)} run again on {now} with this store, {n_different} differ",
    )
    return DIFFERENT if others else report.status, [*others.values(), *notes, *report.sentences]


def _compare_facts(reference: Reference, report: Report) -> tuple[dict[int, str], list[str]]:
    """Return a sentence for each job whose facts differ from those of the reference, and notes on predictions."""
    store = open_store(str(report.store), EXPERIMENT)
    runs = read_stored_runs(store, list(report.done.values()))
    others = {}
    predicted = []
    for job, run in zip(report.done, runs, strict=True):
        stored, now = reference.facts[job], _add_predictions(store, describe_run(run))
        found = [tag for tag in FACTS if stored.run.tags.get(tag) != run.tags.get(tag)]
        if stored.configuration != now.configuration:
            found.append("params")
        if found:
            others[job] = f"job {job} ({stored.run.name}): {', '.join(found)} differ from those of the reference"
        if stored.run.tags.get(PREDICTIONS_TAG) != now.run.tags.get(PREDICTIONS_TAG):
            predicted.append(f"{job} ({stored.run.name})")
    note = f"the predictions of {count_nouns(len(predicted), 'job')} have another digest: {name_first(predicted)}"
    return others, [note] if predicted else []
