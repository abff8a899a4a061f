"""The verification of a capsule: its jobs run again, and every score and table is compared.

The files of the capsule are written into a new folder, with a store, in which a verification that was interrupted
continues. No other store is used, because the runs of the study would then verify themselves.
"""

import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import chdir
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pandas as pd
from scipy.stats import beta

from bakeoff.pipeline.commands.compare.request import SelectionRequest
from bakeoff.pipeline.commands.compare.stored_comparison import make_comparison
from bakeoff.pipeline.commands.comparison_report.latex_tables import TableStyle, write_tables
from bakeoff.pipeline.commands.paper import capsule
from bakeoff.pipeline.commands.paper.capsule import open_folder
from bakeoff.pipeline.commands.paper.carried_runs import read_parquet
from bakeoff.pipeline.commands.paper.contents import SCORE_COLUMNS, Score, read_scores
from bakeoff.pipeline.commands.paper.request import VerifyRequest
from bakeoff.pipeline.commands.repetition.differences import (
    CLOSE,
    SCORES,
    Comparison,
    Values,
    compare_values,
    find_changes,
    show_differences,
    write_number,
)
from bakeoff.pipeline.config.engine import SHIPPED_FILES
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.identity.source_code import UserModuleFinder
from bakeoff.pipeline.sweep.command import SweepRequest
from bakeoff.pipeline.sweep.jobs import FINISHED, REFUSED, SKIPPED, Job, JobOutcome
from bakeoff.pipeline.sweep.request import run_requested_sweep
from bakeoff.pipeline.sweep.study_file import read_study, read_study_words
from bakeoff.pipeline.text.wording import count_nouns, quote_text
from bakeoff.pipeline.tracking import provenance
from bakeoff.pipeline.tracking.store import open_store
from bakeoff.pipeline.tracking.stored_runs import read_stored_runs

EXPERIMENT = "verification"
SEED_BITS = 32
MAX_ERROR = 0.05
"""The probability with which a statement on the jobs that were not drawn may be wrong."""
VERIFIED, DIFFERENT, NOT_CHECKED = range(3)
"""Exit codes."""
CHANGED = "different"
NOT_WRITTEN = "not written"

Announce = Callable[[str], None]
"""Receives sentences before the first fit."""


class Report(NamedTuple):
    """The result of a verification.

    Attributes
    ----------
    status : int
        The exit code.
    sentences : list of str
        What differs, what was proved, and last the verdict.
    store : Path
        The store with the runs of the jobs.
    done : mapping of int to str
        The number of a job that ran -> the id of its run.
    different : set of int
        The numbers of the jobs with a score that differs by more than the tolerance.
    n_jobs : int
        The number of jobs from which those that ran were drawn.
    """

    status: int
    sentences: list[str]
    store: Path
    done: Mapping[int, str]
    different: Set[int]
    n_jobs: int


@dataclass(frozen=True)
class Study:
    """The content of a capsule, which is read and checked as a whole before anything is written.

    Attributes
    ----------
    files : mapping of str to bytes
    jobs : mapping
        The content of its study.yaml.
    scores : DataFrame
        A row for each job, metric and fold; a job without scores has a row with a reason and the fold -1.
    digests : set of (str, str)
        The name and the digest of each dataset.
    tables : str
    comparison : SelectionRequest
        The settings of the tests in the tables.
    style : TableStyle
    environment : mapping of str to str
        Tags of the newest run.
    """

    files: capsule.Files
    jobs: Mapping[str, Any]
    scores: pd.DataFrame
    digests: Set[tuple[str, str]]
    tables: str
    comparison: SelectionRequest
    style: TableStyle
    environment: Mapping[str, str]


def verify_capsule(request: VerifyRequest, announce: Announce) -> Report:
    """Run the jobs of a capsule again in a folder of the current one, and compare every score and the tables.

    Parameters
    ----------
    request : VerifyRequest
    announce : callable

    Raises
    ------
    UserError
        The capsule cannot be checked: it was changed, needs trust, or its data are missing.
    """
    folder = Path.cwd() / f"{request.capsule.name.partition('.')[0]}.verification"
    with capsule.reject_damage(request.capsule):
        study = read_capsule_study(request.capsule)
        require_data_folder(request.data, study.jobs)
    require_trust(study.files, request.trust)
    store = open_folder(folder, capsule.compute_digest(request.capsule.read_bytes()), study.files)
    ended, n_jobs = _run_jobs(request, store, study, announce)
    comparisons, sentences = _compare_jobs(study.scores, ended, store)
    tables = "not written, because not all jobs ran"
    if len(ended) == n_jobs and REFUSED not in [outcome.kind for outcome in ended]:
        tables, lines = _compare_tables(study, store)
        sentences += lines[:1]
    status, verdict = _judge(comparisons, ended, tables, n_jobs, request.tolerance)
    done = {each.number: str(each.run_id) for each in ended if each.kind in (FINISHED, SKIPPED)}
    largest = {job: max((each.size for each in own.differences), default=0) for job, own in comparisons.items()}
    different = {job for job, size in largest.items() if size > request.tolerance}
    return Report(status, [*sentences, *verdict], store, done, different, n_jobs)


def read_capsule_study(path: Path) -> Study:
    """Return the content of a capsule; raise an error of any kind if it is damaged."""
    files, facts = capsule.read_capsule(path)
    jobs = read_study(files[capsule.STUDY].decode())
    scores = _read_scores(files[capsule.SCORES])
    if {*scores["job"]} != {*range(len(jobs["jobs"]))}:
        raise ValueError(f"{capsule.SCORES} has other jobs than {capsule.STUDY}")
    data = pd.read_csv(BytesIO(files[capsule.DATA]), dtype=str)
    return Study(
        files=files,
        jobs=jobs,
        scores=scores,
        digests={*zip(data["dataset"], data["digest"], strict=True)},
        tables=files[capsule.TABLES].decode(),
        comparison=SelectionRequest(sweep=Path(capsule.STUDY).stem, **facts["comparison"]),
        style=TableStyle(**facts["style"]),
        environment=facts["environment"],
    )


def _read_scores(content: bytes) -> pd.DataFrame:
    """Return the table of scores with settled types, within the limits for all tables."""
    table = read_parquet(content, capsule.SCORES).astype({"job": int, "reason": str, "metric": str, "score": float})
    table["fold"] = table["fold"].fillna(-1).astype(int)
    if table.duplicated(SCORE_COLUMNS[:-1]).any():
        raise ValueError(f"{capsule.SCORES} has two rows of the same job, metric and fold")
    return table


def _run_jobs(request: VerifyRequest, store: Path, study: Study, announce: Announce) -> tuple[list[JobOutcome], int]:
    """Run the drawn jobs of the study beside a store, and return their outcomes and the number of all jobs."""
    folder = store.parents[1]
    data_folder = request.data and request.data.resolve()
    place = f"data={request.data}" if data_folder else "data=FOLDER is needed: the capsule"
    words = [
        f"jobs={folder / capsule.STUDY}",
        "on_invalid=skip",
        f"workers={request.workers}",
        f"trust=[{','.join(request.trust)}]",
        f"tracking.uri={quote_text(str(store))}",
        f"tracking.experiment={EXPERIMENT}",
        "tracking.models=false",
    ]
    code = folder / capsule.CODE_FOLDER
    code.mkdir(exist_ok=True)
    with chdir(code):  # trusted code is found in the current folder, also by workers
        UserModuleFinder(str(code)).install()
        sweep_words, jobs = read_study_words(words, data_folder, place, study.jobs)
        runnable = [job for job in jobs if job.spec]
        _require_same_data(runnable, study.digests)
        _announce_changes(study.environment, announce)
        drawn = draw_jobs(runnable, request, announce)
        composed = jobs if drawn is runnable else drawn
        report = run_requested_sweep(SweepRequest(tuple(sweep_words), SHIPPED_FILES, composed=composed))
    names = {job.number for job in drawn}
    return [outcome for outcome in report.outcomes if outcome.number in names], len(runnable)


def _announce_changes(environment: Mapping[str, str], announce: Announce) -> None:
    """Announce what is different from the environment of a study, which may explain other scores."""
    now = provenance.list_tags()
    for change in find_changes(environment, {tag: now[tag] for tag in capsule.FACTS["environment"]}):
        announce(f"{change.name} was {change.stored} in the study, and is {change.now} here")


def require_trust(files: capsule.Files, trust: Sequence[str]) -> None:
    """Reject a capsule with code that the command does not trust."""
    packages = capsule.list_packages(files)
    if not packages <= {*trust}:
        raise UserError(
            f"the capsule has code, which would run with your rights. Read its folder {capsule.CODE_FOLDER}; if you "
            f"trust it, add trust=[{','.join(sorted(packages))}]."
        )


def require_data_folder(data: Path | None, study: Mapping[str, Any]) -> None:
    """Reject a folder of data that has no effect or does not exist."""
    if data is None:
        return
    if not any("path" in node for node in study["options"]["dataset"].values()):
        raise UserError(f"data={data} has no effect, because no dataset of the study is a file; leave it out.")
    if not data.is_dir():
        raise UserError(f"data={data} is not a folder; give the one with the files of the datasets.")


def _require_same_data(jobs: Sequence[Job], digests: Set[tuple[str, str]]) -> None:
    """Reject datasets whose rows differ from the study's."""
    resources = PartCache()
    for job in jobs:
        dataset = resources.get_dataset(job.spec)
        if (dataset.name, dataset.digest()) not in digests:
            raise UserError(
                f"the rows of dataset {dataset.name} ({dataset.digest()}) are not those with the digest in "
                f"{capsule.DATA}; ask the authors for their file, and set data=FOLDER."
            )


def draw_jobs(jobs: Sequence[Job], request: VerifyRequest, announce: Announce) -> Sequence[Job]:
    """Return the jobs to run: all, or n of them drawn at random."""
    if request.n is None or request.n >= len(jobs):
        return jobs
    # The authors must not be able to know which jobs are drawn.
    seed = secrets.randbits(SEED_BITS) if request.seed is None else request.seed
    announce(f"{request.n} of {len(jobs)} jobs are drawn with seed={seed}")
    return Random(seed).sample(jobs, request.n)


def _compare_jobs(
    scores: pd.DataFrame, ended: Sequence[JobOutcome], store: Path
) -> tuple[dict[int, Comparison], list[str]]:
    """Return the comparisons of the jobs that ran with the scores of the capsule, and lines on what differs."""
    names = {each.number: each.name for each in ended}
    done = {each.number: str(each.run_id) for each in ended if each.kind in (FINISHED, SKIPPED)}
    own = scores[scores["job"].isin(names)]
    reasons: dict[int, str] = dict(own.loc[own["reason"] != "", ["job", "reason"]].itertuples(index=False))
    own_scores = own.loc[own["reason"] == "", SCORE_COLUMNS].itertuples(index=False)
    then, now = (_list_values(rows, names) for rows in (own_scores, _read_scores_of(store, done)))
    comparisons = {number: compare_values(SCORES, then.get(number, {}), now.get(number, {})) for number in names}
    compared = [comparisons[number] for number in done if number not in reasons]
    differences = [difference for comparison in compared for difference in comparison.differences]
    lines = show_differences(sorted(differences, key=lambda difference: -difference.size))
    lines += [
        f"job {each.number} ({each.name}): {reasons.get(each.number, 'scores')} in the capsule, "
        f"{'scores' if each.number in done else each.reason} here"
        for each in ended
        if (each.number in done) == (each.number in reasons)
    ]
    n_failed = len(reasons.keys() - done)
    return comparisons, [*lines, *[f"{count_nouns(n_failed, 'job')} without scores, as in the study"] * (n_failed > 0)]


def _read_scores_of(store: Path, done: Mapping[int, str]) -> list[Score]:
    """Return the scores of finished jobs, given the number and the run of each."""
    opened = open_store(str(store), EXPERIMENT)  # there is none if no job could be run
    return read_scores(opened, dict(zip(done, read_stored_runs(opened, list(done.values())), strict=True)))


def _list_values(scores: Iterable[Score], names: Mapping[int, str]) -> dict[int, Values]:
    """Return the values of each job, given its scores."""
    values: dict[int, dict[tuple[str, str], str]] = {}
    for job, metric, fold, score in scores:
        values.setdefault(job, {})[f"job {job} ({names[job]}), {metric}", f"fold {fold}"] = write_number(score)
    return dict(values)


def _compare_tables(study: Study, store: Path) -> tuple[str, list[str]]:
    """Return whether the tables of the repeated jobs equal those in the capsule, and each line that differs."""
    repeated = replace(study.comparison, tracking__uri=str(store), tracking__experiment=EXPERIMENT)
    try:
        now = write_tables(make_comparison(repeated), study.style)
    except UserError as error:
        return NOT_WRITTEN, [f"{capsule.TABLES} cannot be written: {error}"]
    # Split only at newlines: LaTeX treats other characters that end a line, such as a form feed, differently.
    pairs = zip_longest(study.tables.split("\n"), now.split("\n"))
    lines = [f"{capsule.TABLES}: {old!r} in the capsule, {new!r} here" for old, new in pairs if old != new]
    return CHANGED if lines else "identical", lines


def _judge(
    comparisons: Mapping[int, Comparison], ended: Sequence[JobOutcome], tables: str, n_jobs: int, tolerance: float
) -> tuple[int, list[str]]:
    """Return the exit code and the verdict on the jobs that ran.

    Parameters
    ----------
    comparisons : mapping of int to Comparison
        The number of a job -> the comparison of its scores.
    ended : sequence of JobOutcome
    tables : str
        `CHANGED`, `NOT_WRITTEN`, ``identical``, or why they were not compared.
    n_jobs : int
        The number of jobs from which those that ran were drawn.
    tolerance : float
    """
    sizes = {job: [each.size for each in comparison.differences] for job, comparison in comparisons.items()}
    unequal = {job for job in sizes if sizes[job]}
    wrong = {job for job in unequal if max(sizes[job]) > tolerance}
    refused = {outcome.number for outcome in ended if outcome.kind == REFUSED}
    n = len(ended)
    proof = []
    if n < n_jobs:
        most = math.ceil(100 * bound_share(len(unequal), n))
        proof = [f"with {1 - MAX_ERROR:.0%} confidence, at most {most} % of all {n_jobs} jobs differ"]
    counted = f"{n - len(unequal):,} of {n:,} jobs, {_count_scores(list(comparisons.values()))}"
    verdict = f"{counted}; the tables are {tables}; {_count_runs(ended)}"
    if wrong - refused or tables == CHANGED:
        return DIFFERENT, [*proof, verdict]
    return NOT_CHECKED if wrong or tables == NOT_WRITTEN else VERIFIED, [*proof, verdict]


def bound_share(n_different: int, n: int) -> float:
    """Return the largest share of all jobs that may differ, with confidence 1 − `MAX_ERROR`, after n were drawn.

    References
    ----------
    Clopper, C. J. and Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the case of the
    binomial. Biometrika 26, 404-413.

    Examples
    --------
    >>> round(bound_share(0, 20), 3), round(bound_share(1, 20), 3), bound_share(3, 3)
    (0.139, 0.216, 1.0)
    """
    return float(beta.ppf(1 - MAX_ERROR, n_different + 1, n - n_different)) if n_different < n else 1.0


def _count_scores(comparisons: Sequence[Comparison]) -> str:
    """Return how many scores are equal to the last bit, equal to 1e-9, and different."""
    n_scores = sum(comparison.n_values for comparison in comparisons)
    differences = [each for comparison in comparisons for each in comparison.differences]
    text = f"{n_scores - len(differences):,} of {n_scores:,} scores equal to the last bit"
    if not differences:
        return text
    n_close = sum(each.is_close for each in differences)
    return f"{text}, {n_close:,} equal to {CLOSE:g}, {len(differences) - n_close:,} different"


def _count_runs(ended: Sequence[JobOutcome]) -> str:
    """Return how many jobs ran now, and how many in an earlier call."""
    by_kind = {kind: {each.run_id for each in ended if each.kind == kind} for kind in (SKIPPED, FINISHED)}
    n_earlier = len(by_kind[SKIPPED] - by_kind[FINISHED])  # a job may be equal to another one
    n_now = sum(each.kind not in (SKIPPED, REFUSED) for each in ended)
    return f"{count_nouns(n_now, 'job')} ran now" + f" and {n_earlier} in an earlier call of yours" * (n_earlier > 0)
