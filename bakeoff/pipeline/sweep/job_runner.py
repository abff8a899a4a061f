"""The execution of jobs, each from the checks of its settled configuration to its last stored value.

The jobs of a process run one after another, without side effects between them.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from multiprocessing import parent_process
from threading import current_thread, main_thread
from typing import Any

from bakeoff.pipeline.audit import Audit, AuditVerdict, NoAudit
from bakeoff.pipeline.checks import FigureChoice, check_experiment, check_splits, choose_figures
from bakeoff.pipeline.checks.storage import check_models, uses_own_code
from bakeoff.pipeline.config import settle, words
from bakeoff.pipeline.errors import StoreError, UserError, hiding_values
from bakeoff.pipeline.experiment import (
    Experiment,
    FittedModel,
    FoldResult,
    evaluate_splits,
    fit_final_model,
)
from bakeoff.pipeline.experiment.builder import (
    PartCache,
    build_experiment,
    leave_out_candidates,
    naming_unknown_keys,
)
from bakeoff.pipeline.identity.config_hash import hash_config
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.stages.tuning import ScoreFile
from bakeoff.pipeline.sweep import jobs
from bakeoff.pipeline.sweep.done_jobs import BUSY_REASON, Claims, find_ended_job
from bakeoff.pipeline.sweep.jobs import Job, JobCell, JobOutcome, JobProgress, ShowWork, Work, ignore_work
from bakeoff.pipeline.system import ALARM_SIGNALS
from bakeoff.pipeline.text.secrets import describe_error, format_traceback, hide_secrets
from bakeoff.pipeline.tracking import RunDescription, RunStopped, Tracker
from bakeoff.pipeline.tracking.card import measure_fold, summarize_folds
from bakeoff.pipeline.tracking.description import describe_run, name_configuration
from bakeoff.pipeline.tracking.history import measure_size
from bakeoff.pipeline.tracking.run import get_tracker
from bakeoff.pipeline.tracking.store import Store

ContinueRule = Callable[[Sequence[FoldResult]], bool]
"""Returns whether to evaluate the next fold, given the folds so far."""


@dataclass(frozen=True)
class PreparedJob:
    """A job that passed the checks.

    Attributes
    ----------
    spec : mapping
        The settled configuration.
    experiment : Experiment
    splits : Splits
    figure_choice : FigureChoice
        The figures to draw, and the reasons for omitting others.
    invocation : Invocation
    job_hash : str
        The ``config_hash``.
    audit : Audit or NoAudit
        Audits each fold after its evaluation.
    audit_verdict : AuditVerdict
        The result of the audit checks before the first fit.
    is_tried : bool
        Whether nothing is left to be tried by the process that runs the job.
    """

    spec: Mapping[str, Any]
    experiment: Experiment
    splits: Splits
    figure_choice: FigureChoice
    invocation: words.Invocation
    job_hash: str
    audit: Audit | NoAudit
    audit_verdict: AuditVerdict
    is_tried: bool

    @cached_property
    def description(self) -> RunDescription:
        """The name, params and tags of its run; a plan does without them."""
        return describe_run(self.spec, self.invocation, self.experiment, self.splits, self.audit_verdict, self.job_hash)


@dataclass(frozen=True)
class JobResult:
    """The result of a job.

    Attributes
    ----------
    prepared : PreparedJob
    folds : list of FoldResult
    model : FittedModel
        The run's model.
    run_id : str or None
    stopped : str
        A note on the number of folds after which the run was stopped; empty if it was completed.
    """

    prepared: PreparedJob
    folds: list[FoldResult]
    model: FittedModel
    run_id: str | None
    stopped: str = ""


def prepare_job(
    spec: Mapping[str, Any],
    invocation: words.Invocation,
    resources: PartCache,
    *,
    job_hash: str | None = None,
    tries_own_code: bool = True,
) -> PreparedJob:
    """Build and check a job; nothing is stored, and nothing is fitted except in checks on a few rows.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    invocation : Invocation
    resources : PartCache
    job_hash : str, optional
        The ``config_hash`` under which the job was planned.
    tries_own_code : bool
        Whether user-defined learners may be fitted on a few rows.

    Raises
    ------
    UserError
    """
    spec = dict(spec)
    with hiding_values(json.dumps(spec, default=str)):
        with naming_unknown_keys(spec, resources):
            spec = settle_rows(spec, resources)
            experiment = build_experiment(spec, resources)
        check_experiment(experiment)
        splits = resources.make_splits(experiment)
        experiment = leave_out_candidates(experiment, splits)
        check_splits(experiment, splits)
        is_tried = tries_own_code or not uses_own_code(experiment, spec["trust"])
        if is_tried:
            check_models(spec, experiment, splits, resources.tried)
        # A figure that cannot be drawn must be rejected before the fit, which may take hours.
        choice = choose_figures(spec.get("figures", []), experiment, splits, spec["trust"])
        audit = resources.build("audit", spec["audit"], spec["trust"])
        verdict = audit.check(experiment, splits)
        job_hash = job_hash or hash_config(spec, experiment.dataset.digest())
        return PreparedJob(spec, experiment, splits, choice, invocation, job_hash, audit, verdict, is_tried)


def settle_rows(spec: Mapping[str, Any], resources: PartCache) -> Mapping[str, Any]:
    """Return a settled configuration with the choices that depend on whether the dataset names validation rows."""
    return settle.settle_decision_rows(spec, has_free_rows=resources.get_dataset(spec).names_validation_rows)


REPORT_SECONDS = 0.5
"""The shortest time between two reports of a job, so that a shorter job makes only one report."""


class Meter:
    """Counts the fits and folds of a job, and reports them at the start and now and then.

    Parameters
    ----------
    experiment : Experiment
    splits : Splits
    show : callable
        Receives the reports.

    Attributes
    ----------
    experiment : Experiment
        The experiment whose fits are counted.
    """

    def __init__(self, experiment: Experiment, splits: Splits, show: ShowWork) -> None:
        self.experiment = replace(experiment, count_fit=lambda: self._report(fits=self._work.fits + 1))
        self._per_split = experiment.fits_per_split
        self._work = Work(0, self._per_split * len(splits.fitted), 0, len(splits.folds))
        self._show = show
        self._reported = time.monotonic()
        show(self._work)

    def count_folds(self, folds: Iterable[FoldResult]) -> Iterator[FoldResult]:
        """Yield the results of the folds, and count each with all its fits."""
        for n_done, fold in enumerate(folds, 1):
            # Fits in other processes, and candidates that were left out, have not been counted.
            self._report(folds=n_done, fits=n_done * self._per_split)
            yield fold

    def _report(self, **done: int) -> None:
        """Change the counts, and report them if the last report was long ago."""
        self._work = self._work._replace(**done)
        now = time.monotonic()
        if now - self._reported >= REPORT_SECONDS:
            self._reported = now
            self._show(self._work)


def execute_job(
    prepared: PreparedJob,
    tracker: Tracker,
    show_work: ShowWork = ignore_work,
    should_continue: ContinueRule = lambda folds: True,
    *,
    resume: bool = True,
) -> JobResult:
    """Evaluate the folds, fit the run's model and store both.

    Parameters
    ----------
    prepared : PreparedJob
    tracker : Tracker
    show_work : callable
        Receives the number of fits and folds that are done, now and then.
    should_continue : callable
        (folds so far) -> whether to evaluate the next fold; called after each fold.
    resume : bool
        Whether to go on from the scores of tuning of a run that was killed.

    Raises
    ------
    UserError
        The store cannot be written; nothing was fitted.
    Exception
        Any error of a learner; the run is stored as FAILED, with the traceback.
    """
    configuration = prepared.description.config
    score_file = ScoreFile(tracker.find_score_path(prepared.description.tags["config_hash"]), configuration)
    if not resume:
        score_file.remove()
    experiment = replace(prepared.experiment, score_file=score_file)
    splits = prepared.splits
    n_folds = len(splits.folds)
    meter = Meter(experiment, splits, show_work)
    evaluated = evaluate_splits(meter.experiment, splits.folds, n_jobs=prepared.spec.get("n_jobs", 1))
    folds: list[FoldResult] = []
    try:
        with hiding_values(configuration), tracker.start_run(prepared.description, experiment) as run:
            for fold in meter.count_folds(evaluated):
                fold = replace(fold, model=_hide_in_warnings(fold.model, configuration))
                prepared.audit.check_fold(fold)
                last = fold
                run.record_fold(fold)
                folds.append(fold)
                # The rule is called after the last fold as well, because a study records its score.
                if not should_continue(folds) and len(folds) < n_folds:
                    raise RunStopped(f"after {len(folds)} of {n_folds} folds")
            model = _hide_in_warnings(fit_final_model(meter.experiment, splits, last), configuration)
            run.finish(model, prepared.figure_choice.figures)
        score_file.remove()
    except RunStopped as stopped:
        score_file.remove()
        return JobResult(prepared, folds, folds[-1].model, run.run_id, str(stopped))
    return JobResult(prepared, folds, model, run.run_id)


def _hide_in_warnings(model: FittedModel, configuration: str) -> FittedModel:
    """Return a model whose warnings contain no values of variables used in a configuration."""
    warnings = tuple(hide_secrets(warning, configuration) for warning in model.warnings)
    # Under holdout, the run and its only fold share the same model object.
    return model if warnings == model.warnings else replace(model, warnings=warnings)


MAX_PREPARED_BYTES = 1 << 26
"""Maximum memory for the splits of checked jobs that wait to run; further jobs are prepared again."""
PREPARED_BYTES = 1 << 13
"""About the memory of a checked job without its splits."""


@dataclass
class JobRunner:
    """Checks and runs the jobs of one process.

    Parameters
    ----------
    resume : bool
        Whether to skip jobs that another process has finished in the meantime.
    timeout : float or None
        The time limit of a job in seconds.
    tracebacks : bool
        Whether to print the tracebacks of failures.
    is_sent : bool
        Whether another process, which has the store open, sends the jobs.
    should_continue : callable or None
        Takes the progress of a job after each fold and returns whether to evaluate further folds.
    show_work : callable
        Takes the number of a job and how much of it is done.
    resources : PartCache
        Datasets and stores that the jobs share.
    tries_own_code : bool
        Whether `check_job` may fit user-defined learners on a few rows. This is False if other processes run the jobs,
        because such code may end its process.
    """

    resume: bool = True
    timeout: float | None = None
    tracebacks: bool = False
    is_sent: bool = False
    should_continue: Callable[[JobProgress], bool] | None = None
    show_work: Callable[[int, Work], object] = ignore_work
    resources: PartCache = field(default_factory=PartCache)
    tries_own_code: bool = True
    _claims: dict[str, Claims] = field(default_factory=dict)
    _prepared: dict[int, tuple[Mapping[str, Any], PreparedJob]] = field(default_factory=dict)
    _free_bytes: int = MAX_PREPARED_BYTES

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        """Pickle only the settings, for a process that is not a copy of this one."""
        return JobRunner, (self.resume, self.timeout, self.tracebacks, True)

    def claims_of(self, store: Store) -> Claims:
        """Return the claims on the jobs of a store."""
        if store.uri not in self._claims:
            self._claims[store.uri] = Claims.open_for_store(store.uri)
        return self._claims[store.uri]

    def find_store(self, job: Job) -> Store | None:
        """Return the store of a job if it exists; it is not created."""
        return get_tracker(self.resources, job.spec).find_store()

    def identify_job(self, job: Job, code: str = "") -> Job:
        """Return a composed job with its name and hash, for which its data are read.

        Parameters
        ----------
        job : Job
        code : str
            The digest of its code if it is known.

        Raises
        ------
        UserError
            The data cannot be read.
        """
        with self._refusing_errors(job.spec):
            spec = settle_rows(job.spec, self.resources)
            # The hash covers the data rather than the file name, so a changed file means another job.
            dataset = self.resources.get_dataset(spec)
            digest = dataset.digest()
            job_hash = hash_config(spec, digest, code)
        invocation = job.invocation
        # The name of a file replaces its path.
        keys = [key.partition(".")[2] for key in invocation.varying if key.startswith("dataset.")]
        values = [f"{key}={spec['dataset'].get(key)}" for key in keys if key != "path" and key in spec["dataset"]]
        configuration = name_configuration(invocation.choices, spec, invocation.varying)
        cell = JobCell(configuration, sys.intern(" ".join([dataset.name, *values])), digest)
        return replace(
            job, spec=spec, name=f"{configuration} {dataset.name}", hash=job_hash, dataset=dataset.name, cell=cell
        )

    def check_job(self, job: Job) -> Job:
        """Check a job before anything runs, keep its splits for the run if they are small, and return it with its size.

        Raises
        ------
        UserError
            The job cannot run.
        """
        with self._refusing_errors(job.spec):
            prepared = prepare_job(
                job.spec,
                job.invocation,
                self.resources,
                job_hash=job.hash,
                tries_own_code=self.tries_own_code,
            )
        evaluation = {f"evaluation.{key}": str(value) for key, value in prepared.spec["evaluation"].items()}
        rows = {"rows_per_fold": json.dumps(prepared.splits.mean_rows)}
        job = replace(job, size=measure_size(evaluation, rows, prepared.experiment.fits_per_split))
        n_bytes = prepared.splits.n_bytes + PREPARED_BYTES
        if prepared.is_tried and n_bytes <= self._free_bytes:
            self._free_bytes -= n_bytes
            self._prepared[job.number] = job.spec, prepared
        return job

    @contextmanager
    def _refusing_errors(self, spec: Mapping[str, Any]) -> Iterator[None]:
        """Turn any exception into an error of its job, because user-defined code may raise anything."""
        try:
            yield
        except (UserError, KeyboardInterrupt):
            raise
        except BaseException as error:  # including SystemExit, MemoryError and RecursionError
            raise UserError(self._report_error(error, spec)) from error

    def run_job(self, job: Job) -> JobOutcome:
        """Run a job unless it is finished or another process is running it.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C or SIGTERM; the run has ended as KILLED.
        """
        try:
            return self._run_claimed(job)
        except Exception as error:  # an error of the store or the claims; errors of the job are already in its outcome
            return self._to_failure(job, error)

    def _run_claimed(self, job: Job) -> JobOutcome:
        """Run a job under its claim."""
        try:
            tracker = get_tracker(self.resources, job.spec)
            tracker.open_store(self.is_sent)
        except UserError as error:
            return job.to_outcome(jobs.REFUSED, str(error))
        store = tracker.store
        if store is None or not self.resume:
            return self._run_unclaimed(job)
        # While this process holds the claim, no other process starts the job, but one may have finished it before.
        with self.claims_of(store).hold(job.hash) as claim_count:
            if claim_count is None:
                return job.to_outcome(jobs.BUSY, BUSY_REASON)
            return find_ended_job(job, tracker, claim_count) or self._run_unclaimed(job)

    def _run_unclaimed(self, job: Job) -> JobOutcome:
        """Run a job and return its outcome, which reports any error."""
        try:
            with limit_time(self.timeout):
                prepared = self._take_prepared(job)
                tracker = get_tracker(self.resources, job.spec)
                rule = partial(self._should_continue, job)
                result = execute_job(prepared, tracker, partial(self.show_work, job.number), rule, resume=self.resume)
        except UserError as error:
            return job.to_outcome(jobs.REFUSED, str(error))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # including SystemExit, MemoryError and RecursionError
            return self._to_failure(job, error)
        return describe_result(job, result)

    def _to_failure(self, job: Job, error: BaseException) -> JobOutcome:
        """Return the outcome of a job that was ended by an error."""
        outcome = job.to_outcome(jobs.FAILED, self._report_error(error, job.spec))
        return replace(outcome, has_lost_store=isinstance(error, StoreError))

    def _report_error(self, error: BaseException, spec: Mapping[str, Any]) -> str:
        """Return the message of an error, and print its traceback if requested, both without secrets."""
        configuration = json.dumps(dict(spec), default=str)
        if self.tracebacks:
            print(format_traceback(error, configuration), file=sys.stderr)
        return describe_error(error, configuration)

    def _take_prepared(self, job: Job) -> PreparedJob:
        """Return the job prepared by `check_job`, or prepare it now."""
        # In a study, checked jobs and running jobs are numbered separately, so their configurations are compared as
        # well.
        kept_spec, prepared = self._prepared.pop(job.number, (None, None))
        if prepared is not None and kept_spec == job.spec:
            return prepared
        return prepare_job(job.spec, job.invocation, self.resources, job_hash=job.hash)

    def _should_continue(self, job: Job, folds: Sequence[FoldResult]) -> bool:
        """Return whether to evaluate the next fold of a job."""
        if self.should_continue is None:
            return True
        return self.should_continue(JobProgress(job.number, len(folds), measure_fold(folds[-1])))


class TimedOut(BaseException):
    """A job exceeded its time limit; ``except Exception`` in a learner does not catch it."""


@contextmanager
def limit_time(seconds: float | None) -> Iterator[None]:
    """Raise TimedOut in this thread after some seconds; None sets no limit.

    Raises
    ------
    UserError
        This is not the main thread, the only one that Python's alarm can interrupt, or the system has no alarm.
    """
    if seconds is None:
        yield
        return
    if current_thread() is not main_thread():
        raise UserError("timeout limits only the main thread of a program; call bakeoff there, or set timeout=null.")
    if not ALARM_SIGNALS:
        if parent_process() is None:
            raise UserError(
                "timeout needs an alarm, which this system lacks; set timeout=null, or run a sweep with -m, whose "
                "processes are ended from outside."
            )
        yield  # the process of the sweep ends this one
        return

    def raise_timed_out(number: int, frame: Any) -> None:
        raise TimedOut(f"the job took longer than timeout={seconds:g} seconds")

    # Python calls the handler in the main thread, which runs the job.
    previous_handler = signal.signal(signal.SIGALRM, raise_timed_out)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)


def describe_result(job: Job, result: JobResult) -> JobOutcome:
    """Return the outcome of a job that finished or was stopped."""
    experiment = result.prepared.experiment
    audit_warnings = result.prepared.audit_verdict.warnings
    warnings = [*audit_warnings, *(warning for fold in result.folds for warning in fold.model.warnings)]
    return JobOutcome(
        job.number,
        job.name,
        jobs.STOPPED if result.stopped else jobs.FINISHED,
        reason=result.stopped,
        headlines=(f"test_{experiment.headline}",),
        greater_is_better=experiment.metrics[experiment.headline].greater_is_better,
        seconds=sum(sum(fold.model.seconds.values()) for fold in result.folds),
        run_id=result.run_id,
        metrics=summarize_folds(experiment, result.folds),
        warnings=tuple(dict.fromkeys(warnings)),
        cell=job.cell,
    )
