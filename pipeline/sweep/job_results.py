"""The result of a job as the sweep shows it, and its place in the tables of the sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bakeoff.pipeline.card.report import format_mean, summarize_folds
from bakeoff.pipeline.checks.memory import note_memory
from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.sweep import jobs
from bakeoff.pipeline.sweep.job import JobResult
from bakeoff.pipeline.sweep.jobs import Job, JobCell, JobOutcome
from bakeoff.pipeline.tracking.description import name_configuration


def describe_result(job: Job, result: JobResult) -> JobOutcome:
    """Return the outcome of a job that finished or was stopped."""
    headline = result.experiment.headline
    score = f"test_{headline}"
    metrics = summarize_folds(result.experiment, result.folds)
    notes = [note for note in (note_memory(result.experiment),) if note]
    warnings = [*notes, *result.audit_warnings, *(warning for fold in result.folds for warning in fold.model.warnings)]
    return JobOutcome(
        job.number,
        job.name,
        jobs.STOPPED if result.stopped else jobs.FINISHED,
        reason=result.stopped,
        headline=score,
        value=format_mean(metrics, score),
        score=metrics[score],
        greater_is_better=result.experiment.metrics[headline].greater_is_better,
        seconds=sum(sum(fold.model.seconds.values()) for fold in result.folds),
        run_id=result.run_id,
        metrics=metrics,
        warnings=tuple(dict.fromkeys(warnings)),
        cell=job.cell,
        preprocessing=result.experiment.preprocessing_summary,
    )


def locate_result(spec: Mapping[str, Any], invocation: Invocation, dataset: str, digest: str = "") -> JobCell:
    """Return the place of a job's result in a table.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    invocation : Invocation
    dataset : str
        The dataset's name.
    digest : str
        The dataset's.
    """
    varying = invocation.varying
    # The name of a file stands for its path.
    keys = [key.partition(".")[2] for key in varying if key.startswith("dataset.") and key != "dataset.path"]
    values = [f"{key}={spec['dataset'].get(key)}" for key in keys if key in spec["dataset"]]
    configuration = name_configuration(invocation.choices, spec, varying)
    return JobCell(configuration, " ".join([dataset, *values]), digest)
