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
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.stored_comparison import compare_selection, select_runs
from bakeoff.pipeline.commands.doctor.request import DOCTOR_TAG, DoctorRequest
from bakeoff.pipeline.commands.doctor.rows import ROW_CHECKS
from bakeoff.pipeline.commands.doctor.scores import SCORE_CHECKS
from bakeoff.pipeline.commands.doctor.study import STUDY_CHECKS
from bakeoff.pipeline.commands.doctor.subject import RunSubject, StudySubject
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.options import load_yaml, settle_figures
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.model.row_report import adjust_by_holm
from bakeoff.pipeline.sweep.refit import load_run
from bakeoff.pipeline.tables.markup import render_template
from bakeoff.pipeline.tables.report import TEXT_FORMATS, Report, render_document
from bakeoff.pipeline.tables.table import CODE, TEXT, Cell, make_table
from bakeoff.pipeline.text.wording import count_nouns, equate_p, format_seconds, shorten_id
from bakeoff.pipeline.tracking.store import open_store

RUN_CHECKS = (*TABLE_CHECKS, *SCORE_CHECKS, *ROW_CHECKS)
TEMPLATE = Path(__file__).parent / "page.html"
MIN_SECONDS = 30.0
"""The CPU time that checks may use for runs that took less."""
NOTE_TAG = "mlflow.note.content"
NOTE = "Doctor: "


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
    notes : tuple of str
    command : str
    pages : mapping of str to str
        The pages of the checks that found something, by code.
    pictures : mapping of str to str
        The pictures of these checks, as data of a URI.
    """

    name: str
    findings: tuple[Finding, ...]
    absences: Mapping[str, str]
    n_checks: int
    notes: tuple[str, ...]
    command: str
    pages: Mapping[str, str]
    pictures: Mapping[str, str]

    @property
    def summary(self) -> str:
        """The numbers of checks and findings."""
        n_accepted = sum(bool(each.accepted) for each in self.findings)
        accepted = f" ({n_accepted} accepted)" if n_accepted else ""
        counts = f"{count_nouns(self.n_checks, 'check')}, {count_nouns(len(self.findings), 'finding')}{accepted}"
        return f"{counts}, {len(self.absences)} do not apply"

    @property
    def report(self) -> Report:
        """The report, independent of its format."""
        columns = [Cell("code", CODE), Cell("severity", TEXT), Cell("finding", TEXT), Cell("cure", TEXT)]
        rows = [[each.code, each.severity, describe_finding(each), each.cure] for each in self.findings]
        notes = [*self.notes, *(f"{code} does not apply: {reason}" for code, reason in self.absences.items())]
        sections = [(make_table("Findings", columns, rows), [])] if rows else []
        question = f"What is to be said about {self.name}?"
        return Report(
            question, "bakeoff help CODE prints the page of a check.", [self.summary], sections, notes, self.command
        )

    def render(self, to: str) -> str:
        """Return the diagnosis as ``terminal``, ``json``, ``markdown``, ``latex`` or ``html``."""
        if to == "json":
            return render_document("diagnosis", asdict(self))
        if to == "html":
            return render_template(TEMPLATE, {"diagnosis": self, "describe": describe_finding})
        return TEXT_FORMATS[to](self.report)

    def fails(self, least: str) -> bool:
        """Return whether a finding that is not accepted has at least a severity."""
        severities = SEVERITIES[SEVERITIES.index(least) :] if least in SEVERITIES else ()
        return any(each.severity in severities and not each.accepted for each in self.findings)

    def __repr__(self) -> str:
        return f"<Diagnosis of {self.name}: {self.summary}>"


def describe_finding(finding: Finding) -> str:
    """Return a finding with its p-value, if there is a test, and with why it is accepted."""
    p_value = f", corrected {equate_p(finding.p_value)}" if finding.p_value else ""
    return f"{finding.text}{p_value}" + (f"; accepted: {finding.accepted}" if finding.accepted else "")


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
    further = tuple(_build_check(name, request.trust) for name in request.checks)
    chosen = (*(STUDY_CHECKS if request.sweep else RUN_CHECKS), *further)
    given = _read_ignored(request.doctor__ignore, [each.code for each in (*RUN_CHECKS, *STUDY_CHECKS, *further)])
    subject = _load_study(request) if request.sweep else _load_run(request, announce)
    absences, found = {}, []
    for check in chosen:
        examined = _make_table(subject) if check in TABLE_CHECKS else subject
        if reason := check.applies(examined):
            absences[check.code] = reason
        else:
            found.append(list(check.find(examined)))
    accepted = _accept(subject, given)
    findings = [replace(each, accepted=accepted.get(each.code, "")) for each in correct(found, request.alpha)]
    findings.sort(key=lambda each: (-SEVERITIES.index(each.severity), each.code, each.p_value))
    codes = {each.code for each in findings}
    diagnosis = Diagnosis(
        name=_name_subject(subject, request),
        findings=tuple(findings),
        absences=absences,
        n_checks=len(chosen),
        notes=tuple(subject.left_out) if isinstance(subject, RunSubject) else (),
        command=request.write_command(),
        pages={check.code: check.page for check in chosen if check.code in codes},
        pictures=dict(_draw(subject, [check for check in chosen if check.code in codes])) if request.has_page else {},
    )
    if request.keep and isinstance(subject, RunSubject):
        _keep(subject, codes, accepted)
    return diagnosis


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
        raise UserError(f"checks={name} is no check: derive the class from bakeoff.pipeline.audit.check.Check.")
    return built


def _read_ignored(text: str, codes: Sequence[str]) -> dict[str, str]:
    """Return the reasons that a request gives for findings, with the date of today, by code."""
    given = load_yaml(text, "doctor.ignore") or {}
    if not isinstance(given, Mapping):
        raise UserError(f"doctor.ignore={text} must be a mapping, such as 'doctor.ignore={{BK14: a known limit}}'.")
    for code in given:
        if code not in codes:
            raise UserError(f"doctor.ignore: {code} is not the code of a check. {did_you_mean(str(code), codes)}")
    return {code: f"{reason} ({date.today()})" for code, reason in given.items()}


def _load_run(request: DoctorRequest, announce: Callable[[str], None]) -> RunSubject:
    store, run = load_run(request)
    subject = RunSubject(store, run, 0.0)
    if request.quick:
        return subject
    seconds = request.seconds or max(subject.seconds, MIN_SECONDS)
    announce(
        f"doctor: fits three baselines, and the run once more, in at most {format_seconds(seconds)} of CPU time; "
        "quick=true fits nothing"
    )
    return replace(subject, deadline=time.process_time() + seconds)


def _load_study(request: DoctorRequest) -> StudySubject:
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    selection = CompareRequest(sweep=request.sweep, **request.select_store())
    chosen = select_runs(store, selection)
    try:
        return StudySubject(chosen.facts, compare_selection(store, chosen, selection))
    except UserError:  # there may be a single configuration
        return StudySubject(chosen.facts, None)


def _make_table(subject: Any) -> Table:
    dataset = subject.experiment.dataset
    return Table(dataset, list(find_columns(dataset)), subject.experiment, subject.run.splits)


def _name_subject(subject: RunSubject | StudySubject, request: DoctorRequest) -> str:
    if isinstance(subject, StudySubject):
        return f"sweep {request.sweep}"
    stored = subject.run.stored
    return f"run {shorten_id(stored.run_id)} ({stored.name})"


def _accept(subject: RunSubject | StudySubject, given: Mapping[str, str]) -> dict[str, str]:
    """Return the reasons stored with a run and those given now, by code."""
    if isinstance(subject, StudySubject):
        return dict(given)
    return {**json.loads(subject.run.stored.tags.get(ACCEPTED_TAG, "{}")), **given}


def _draw(subject: RunSubject | StudySubject, checks: Sequence[Check]) -> Iterator[tuple[str, str]]:
    """Yield the code of each check that has a figure of a run that was fitted again, and the picture."""
    if isinstance(subject, StudySubject) or subject.refitted is None:
        return
    from bakeoff.pipeline.checks import choose_figures

    run = subject.run
    for check in checks:
        nodes = [{**node, "if_applicable": True} for node in settle_figures([check.figure] if check.figure else [])]
        for figure in choose_figures(nodes, run.experiment, run.splits, ()).figures:
            with TemporaryDirectory(prefix="bakeoff-") as folder:
                figure.save(Path(folder), run.experiment, *subject.refitted)
                yield check.code, base64.b64encode(Path(folder, figure.file).read_bytes()).decode()


def _keep(subject: RunSubject, codes: set[str], accepted: Mapping[str, str]) -> None:
    """Store the codes and the accepted findings with the run, and name them in its description."""
    stored = subject.run.stored
    sentence = f"{NOTE}{', '.join(sorted(codes)) or 'no findings'}."
    lines = [line for line in stored.tags.get(NOTE_TAG, "").splitlines() if not line.startswith(NOTE)]
    tags = {DOCTOR_TAG: " ".join(sorted(codes)), NOTE_TAG: "\n".join([*lines, sentence])}
    for key, value in {**tags, **({ACCEPTED_TAG: json.dumps(accepted)} if accepted else {})}.items():
        subject.store.client.set_tag(stored.run_id, key, value)
