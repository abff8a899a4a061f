"""A diagnosis: all checks of a subject, with corrected tests, accepted findings, and its report."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from bakeoff.pipeline.audit import ACCEPTED_TAG
from bakeoff.pipeline.audit.check import SEVERITIES, Check, Finding
from bakeoff.pipeline.audit.columns import TABLE_CHECKS, Table, find_columns
from bakeoff.pipeline.checks import choose_figures
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.stored_comparison import compare_selection, select_runs
from bakeoff.pipeline.commands.doctor.request import DoctorRequest
from bakeoff.pipeline.commands.doctor.rows import RUN_CHECKS
from bakeoff.pipeline.commands.doctor.study import STUDY_CHECKS
from bakeoff.pipeline.commands.doctor.subject import RunSubject, StudySubject
from bakeoff.pipeline.commands.repetition.refit import load_run
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.options import load_yaml, settle_figures
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.model.row_report import adjust_by_holm
from bakeoff.pipeline.python.call import own_process_state
from bakeoff.pipeline.python.run import RunResult
from bakeoff.pipeline.python.sweep import SweepResult, find_store, list_run_ids
from bakeoff.pipeline.tables.document import render_document
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.report import Report, render_text
from bakeoff.pipeline.tables.table import CODE, TEXT, Cell, make_table
from bakeoff.pipeline.text.wording import count_nouns, equate_p, format_seconds, shorten_id
from bakeoff.pipeline.tracking.store import open_store

TEMPLATE = Path(__file__).parent / "page.html"
MIN_SECONDS = 30.0
"""The CPU time for checks of runs that took less."""
CODES_TAG = "doctor"
NOTE_TAG = "mlflow.note.content"
NOTE = "Doctor: "
COLUMNS = (Cell("code", CODE), Cell("severity", TEXT), Cell("finding", TEXT), Cell("cure", TEXT))


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What the checks of a run or a study find.

    Attributes
    ----------
    name : str
        The run or the sweep.
    findings : tuple of Finding
        The severe ones first; accepted ones are included.
    absences : mapping of str to str
        The code of each check that does not apply -> the reason.
    n_checks : int
    command : str
        The command that repeats the diagnosis.
    pages : mapping of str to str
        The pages of the checks that found something, by code.
    pictures : mapping of str to str
        Their pictures as PNG in base64, if the report is a page.
    """

    name: str
    findings: tuple[Finding, ...]
    absences: Mapping[str, str]
    n_checks: int
    command: str
    pages: Mapping[str, str]
    pictures: Mapping[str, str]

    @property
    def summary(self) -> str:
        """The numbers of checks and findings."""
        counts = [count_nouns(self.n_checks, "check"), count_nouns(len(self.findings), "finding")]
        n_accepted = sum(bool(each.accepted) for each in self.findings)
        return ", ".join([*counts, f"{n_accepted} accepted", f"{len(self.absences)} do not apply"])

    @property
    def report(self) -> Report:
        """The report, independent of its format."""
        rows = [[each.code, each.severity, describe_finding(each), each.cure] for each in self.findings]
        notes = [f"{code} does not apply: {reason}" for code, reason in self.absences.items()]
        return Report(
            f"What is to be said about {self.name}?",
            "bakeoff help CODE prints the page of a check.",
            [self.summary],
            [(make_table("Findings", COLUMNS, rows), [])] if rows else [],
            notes,
            self.command,
        )

    def render(self, to: str) -> str:
        """Return the diagnosis as ``terminal``, ``json`` or ``html``."""
        if to == "json":
            return render_document("diagnosis", asdict(self))
        page = {"diagnosis": self, "describe": describe_finding}
        return render_template(TEMPLATE, page) if to == "html" else render_text(self.report)

    def fails(self, least: str) -> bool:
        """Return whether a finding that is not accepted has at least a severity; never for another word."""
        severities = SEVERITIES[SEVERITIES.index(least) :] if least in SEVERITIES else ()
        return any(each.severity in severities and not each.accepted for each in self.findings)

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.name}: {self.summary}>"


def describe_finding(finding: Finding) -> str:
    """Return a finding with its p-value, if there is a test, and with why it is accepted."""
    p_value = f", corrected {equate_p(finding.p_value)}" if finding.p_value else ""
    accepted = f"; accepted: {finding.accepted}" if finding.accepted else ""
    return f"{finding.text}{p_value}{accepted}"


def doctor(
    subject: str | RunResult | SweepResult, *, ignore: Mapping[str, str] | None = None, **keys: Any
) -> Diagnosis:
    """Examine a run or a sweep by all checks.

    Parameters
    ----------
    subject : str, RunResult or SweepResult
        The run, as its id, latest, best or a registered model, or the sweep.
    ignore : mapping, optional
        Findings to accept: code -> reason.
    **keys
        Further keys of the command: ``quick``, ``seconds``, ``alpha``, ``checks``, ``keep``, ``trust``,
        ``tracking__uri`` and ``tracking__experiment``. The store defaults to that of the result.

    Returns
    -------
    Diagnosis
        Its ``findings`` have code, severity, text, cure and p_value.

    Raises
    ------
    UserError
        The run or the sweep does not exist, or a check or a code is unknown.
    """
    named: dict[str, Any] = (
        {"sweep": subject.name} if isinstance(subject, SweepResult) else {"run": list_run_ids(subject)[0]}
    )
    store = find_store((subject,), keys)
    with own_process_state():
        request = DoctorRequest(**named, doctor__ignore=json.dumps(ignore or {}), **store)
        return diagnose(request, lambda sentence: None)


def diagnose(request: DoctorRequest, announce: Callable[[str], None]) -> Diagnosis:
    """Examine a run or a sweep by all checks.

    Parameters
    ----------
    request : DoctorRequest
    announce : callable
        Receives a sentence on what is fitted, before it is.

    Raises
    ------
    UserError
        The run or the sweep does not exist, or a check or a code is unknown.
    """
    further = [_build_check(name, request.trust) for name in request.checks]
    given = _read_ignored(request.doctor__ignore, [each.code for each in (*list_checks(), *further)])
    if request.sweep:
        return _examine(request, _load_study(request), [*STUDY_CHECKS, *further], f"sweep {request.sweep}", given)
    subject = _load_run(request, announce)
    stored = subject.run.stored
    accepted = {**json.loads(stored.tags.get(ACCEPTED_TAG, "{}")), **given}
    name = f"run {shorten_id(stored.run_id)} ({stored.name})"
    found = _examine(request, subject, [*TABLE_CHECKS, *RUN_CHECKS, *further], name, accepted)
    if request.keep:
        # What an earlier diagnosis found stands until its check applies again.
        earlier = {*stored.tags.get(CODES_TAG, "").split()} & found.absences.keys()
        _keep(subject, sorted(earlier | found.pages.keys()), accepted)
    return found


def list_checks() -> list[Check]:
    """Return all checks by their codes."""
    return sorted((*TABLE_CHECKS, *RUN_CHECKS, *STUDY_CHECKS), key=lambda check: check.code)


def _examine(
    request: DoctorRequest,
    subject: RunSubject | StudySubject,
    checks: Sequence[Check],
    name: str,
    accepted: Mapping[str, str],
) -> Diagnosis:
    """Return what checks find in a subject."""
    absences, found = {}, []
    table = _make_table(subject) if isinstance(subject, RunSubject) else None
    for check in checks:
        examined: Any = table if check in TABLE_CHECKS else subject
        if reason := check.applies(examined):
            absences[check.code] = reason
        else:
            found.append(list(check.find(examined)))
    findings = [replace(each, accepted=accepted.get(each.code, "")) for each in correct(found, request.alpha)]
    findings.sort(key=lambda each: (-SEVERITIES.index(each.severity), each.code, each.p_value))
    finders = [check for check in checks if any(check.code == each.code for each in findings)]
    return Diagnosis(
        name=name,
        findings=tuple(findings),
        absences=dict(sorted(absences.items())),
        n_checks=len(checks),
        command=request.write_command(),
        pages={check.code: check.page for check in finders},
        pictures=dict(_draw(subject, finders)) if request.form == "html" else {},
    )


def correct(found: Sequence[Sequence[Finding]], alpha: float) -> Iterator[Finding]:
    """Yield the findings that are significant after Holm's correction, first within each check and then over checks.

    Parameters
    ----------
    found : sequence of sequences of Finding
        The findings of each check; a p-value of 0 is that of a count.
    alpha : float
        The probability that any of the tests finds something where there is nothing.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.
    """
    yield from (finding for own in found for finding in own if not finding.p_value)
    tested = [own for findings in found if (own := [each for each in findings if each.p_value])]
    within = [adjust_by_holm(np.array([each.p_value for each in own])) for own in tested]
    least = np.array([own.min() for own in within])
    factors = adjust_by_holm(least) / least
    for findings, p_values, factor in zip(tested, within, factors, strict=True):
        for finding, p_value in zip(findings, p_values * factor, strict=True):
            if p_value <= alpha:
                yield replace(finding, p_value=float(p_value))


def _build_check(name: str, trust: Sequence[str]) -> Check:
    """Return a check of the user by the dotted name of its class."""
    built = build_object({"_target_": name}, "checks", trust)
    if not isinstance(built, Check):
        raise UserError(f"checks={name} must be a class that derives from bakeoff.pipeline.audit.check.Check.")
    return built


def _read_ignored(text: str, codes: Sequence[str]) -> dict[str, str]:
    """Return the reasons that a request gives for findings, with the date of today, by code."""
    given = load_yaml(text, "doctor.ignore")
    if not isinstance(given, Mapping):
        raise UserError(f"doctor.ignore={text} must be a mapping, such as 'doctor.ignore={{BK14: a known limit}}'.")
    for code in given:
        if code not in codes:
            raise UserError(f"doctor.ignore: {code} is not the code of a check. {did_you_mean(str(code), codes)}")
    return {code: f"{reason} ({date.today()})" for code, reason in given.items()}


def _load_run(request: DoctorRequest, announce: Callable[[str], None]) -> RunSubject:
    """Return the run of a request, with the time for its fits."""
    subject = RunSubject(*load_run(request))
    if request.quick:
        return subject
    seconds = max(subject.seconds, MIN_SECONDS) if request.seconds is None else request.seconds
    announce(
        f"doctor: fits three baselines, and the run once more, in at most {format_seconds(seconds)} of CPU time; "
        "quick=true fits nothing"
    )
    return replace(subject, deadline=time.process_time() + seconds)


def _load_study(request: DoctorRequest) -> StudySubject:
    """Return the jobs of a sweep, with their comparison if there is one."""
    uri, experiment = request.tracking__uri, request.tracking__experiment
    selection = CompareRequest(sweep=request.sweep, tracking__uri=uri, tracking__experiment=experiment)
    store = open_store(uri, experiment, create=False)
    chosen = select_runs(store, selection)
    try:
        return StudySubject(chosen.facts, compare_selection(store, chosen, selection))
    except UserError:  # there may be a single configuration
        return StudySubject(chosen.facts, None)


def _make_table(subject: RunSubject) -> Table:
    dataset = subject.experiment.dataset
    return Table(dataset, list(find_columns(dataset)), subject.experiment, subject.run.splits)


def _draw(subject: RunSubject | StudySubject, checks: Sequence[Check]) -> Iterator[tuple[str, str]]:
    """Yield the code of each check that has a figure of a run that was fitted again, and the picture."""
    if isinstance(subject, StudySubject) or subject.refitted is None:
        return
    run = subject.run
    for check in checks:
        nodes = [{**node, "if_applicable": True} for node in settle_figures([check.figure] if check.figure else [])]
        for figure in choose_figures(nodes, run.experiment, run.splits, ()).figures:
            with TemporaryDirectory(prefix="bakeoff-") as folder:
                figure.save(Path(folder), run.experiment, *subject.refitted)
                yield check.code, base64.b64encode(Path(folder, figure.file).read_bytes()).decode()


def _keep(subject: RunSubject, codes: Sequence[str], accepted: Mapping[str, str]) -> None:
    """Store the codes and the accepted findings with the run, and name the codes in its description."""
    stored = subject.run.stored
    lines = [line for line in stored.tags.get(NOTE_TAG, "").splitlines() if not line.startswith(NOTE)]
    note = "\n".join([*lines, f"{NOTE}{', '.join(codes) or 'no findings'}."])
    for key, value in {CODES_TAG: " ".join(codes), NOTE_TAG: note, ACCEPTED_TAG: json.dumps(accepted)}.items():
        subject.store.client.set_tag(stored.run_id, key, value)
