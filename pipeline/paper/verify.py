"""The verification of a capsule: its jobs run again, and every score and table is compared.

The files of the capsule are written into a new folder, with a store, in which a verification that was interrupted
continues. No other store is used, because the runs of the study would then verify themselves.
"""

import io
import math
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import chdir
from itertools import zip_longest
from pathlib import Path
from random import Random

import pandas as pd

from bakeoff.pipeline.comparison.request import SelectionRequest
from bakeoff.pipeline.comparison.stored_comparison import make_comparison
from bakeoff.pipeline.config.engine import SHIPPED_FILES
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.identity.user_modules import UserModuleFinder
from bakeoff.pipeline.paper import capsule, scores
from bakeoff.pipeline.paper.request import VerifyRequest
from bakeoff.pipeline.paper.study import DATA_FOLDER, read_study_words
from bakeoff.pipeline.paper.tables import TableStyle, write_tables
from bakeoff.pipeline.replay.differences import find_changes
from bakeoff.pipeline.sweep.jobs import FINISHED, REFUSED, SKIPPED, Job, JobOutcome
from bakeoff.pipeline.sweep.request import SweepRequest, run_requested_sweep
from bakeoff.pipeline.text.wording import count_nouns, quote_text
from bakeoff.pipeline.tracking import provenance
from bakeoff.pipeline.tracking.store import open_store
from bakeoff.pipeline.tracking.stored_runs import read_stored_runs

EXPERIMENT = "verification"
STORE = "mlflow.db"
SEED_BITS = 32
MAX_ERROR = 0.05
"""The probability with which a statement on the jobs that were not drawn may be wrong."""
VERIFIED, DIFFERENT, NOT_CHECKED = range(3)
"""Exit codes."""
CHANGED = "different"

Announce = Callable[[str], None]
"""Receives sentences before the first fit."""
Report = tuple[int, list[str]]
"""The exit code of a verification, and sentences, of which the last is the verdict."""


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
    files, facts = capsule.read_capsule(request.capsule)
    folder = Path(f"{request.capsule.name.partition('.')[0]}.verification").resolve()
    with capsule.reject_damage(request.capsule):
        repeated = SelectionRequest(
            sweep=Path(capsule.STUDY).stem,
            tracking__uri=str(folder / STORE),
            tracking__experiment=EXPERIMENT,
            **facts["comparison"],
        )
        style = TableStyle(**facts["style"])
        environment = dict(facts["environment"])
        stored = pd.read_parquet(io.BytesIO(files[capsule.SCORES]))
        data = pd.read_csv(io.BytesIO(files[capsule.DATA]), dtype=str)
        digests = {*zip(data["dataset"], data["digest"], strict=True)}
    _require_trust(files, request.trust)
    _write_files(files, folder)
    ended, n_jobs = _run_jobs(request, folder, digests, environment, announce)
    compared, sentences = _compare_jobs(stored, ended, repeated)
    tables = "not written, because not all jobs ran"
    if len(ended) == n_jobs and REFUSED not in [outcome.kind for outcome in ended]:
        changed = _list_changed_lines(files[capsule.TABLES].decode(), repeated, style)
        sentences += changed[:1]
        tables = CHANGED if changed else "identical"
    status, verdict = _judge(compared, ended, tables, n_jobs, request.tolerance)
    return status, [*sentences, *verdict]


def _run_jobs(
    request: VerifyRequest,
    folder: Path,
    digests: Set[tuple[str, str]],
    environment: Mapping[str, str],
    announce: Announce,
) -> tuple[list[JobOutcome], int]:
    """Run the drawn jobs of the study in a folder, and return their outcomes and the number of all jobs."""
    data_folder = request.data and request.data.resolve()
    place = f"data={request.data}" if data_folder else "data=FOLDER is needed: the capsule"
    words = [
        f"jobs={folder / capsule.STUDY}",
        "on_invalid=skip",
        f"workers={request.workers}",
        f"trust=[{','.join(request.trust)}]",
        f"tracking.uri={quote_text(str(folder / STORE))}",
        f"tracking.experiment={EXPERIMENT}",
        "tracking.models=false",
    ]
    # Trusted code is found in the current folder, also by workers.
    with chdir(folder / capsule.CODE_FOLDER):
        UserModuleFinder(str(folder / capsule.CODE_FOLDER)).install()
        sweep_words, jobs = read_study_words(words, data_folder, place)
        runnable = [job for job in jobs if job.spec]
        _require_same_data(runnable, digests)
        now = provenance.list_tags()
        for change in find_changes(environment, {tag: now[tag] for tag in environment}):
            announce(f"{change.name} was {change.stored} in the study, and is {change.now} here")
        drawn = _draw_jobs(runnable, request, announce)
        composed = jobs if drawn is runnable else drawn
        report = run_requested_sweep(SweepRequest(tuple(sweep_words), SHIPPED_FILES, composed=composed))
    names = {job.number for job in drawn}
    return [outcome for outcome in report.outcomes if outcome.number in names], len(runnable)


def _require_trust(files: capsule.Files, trust: Sequence[str]) -> None:
    """Reject a capsule with code that the command does not trust."""
    packages = capsule.list_packages(files)
    if not packages <= {*trust}:
        raise UserError(
            f"the capsule has code, which would run with your rights. Read its folder {capsule.CODE_FOLDER}; if you "
            f"trust it, add trust=[{','.join(sorted(packages))}]."
        )


def _write_files(files: capsule.Files, folder: Path) -> None:
    """Write the files of a capsule, and remove the data and the code of an earlier one."""
    for part in (DATA_FOLDER, capsule.CODE_FOLDER):
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / part).mkdir(parents=True)
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def _require_same_data(jobs: Sequence[Job], digests: Set[tuple[str, str]]) -> None:
    """Reject datasets whose rows are not those of the study."""
    resources = PartCache()
    for job in jobs:
        dataset = resources.get_dataset(job.spec)
        if (dataset.name, dataset.digest()) not in digests:
            raise UserError(
                f"the rows of dataset {dataset.name} ({dataset.digest()}) are not those with the digest in "
                f"{capsule.DATA}; ask the authors for their file, and set data=FOLDER."
            )


def _draw_jobs(jobs: Sequence[Job], request: VerifyRequest, announce: Announce) -> Sequence[Job]:
    """Return the jobs to run: all, or n of them drawn at random."""
    if request.n is None or request.n >= len(jobs):
        return jobs
    # The authors must not be able to know which jobs are drawn.
    seed = secrets.randbits(SEED_BITS) if request.seed is None else request.seed
    announce(f"{request.n} of {len(jobs)} jobs are drawn with seed={seed}")
    return Random(seed).sample(jobs, request.n)


def _compare_jobs(
    stored: pd.DataFrame, ended: Sequence[JobOutcome], repeated: SelectionRequest
) -> tuple[pd.DataFrame, list[str]]:
    """Return the scores of the jobs that ran with those of the capsule, and sentences on what differs."""
    names = {outcome.number: outcome.name for outcome in ended}
    done = {each.number: str(each.run_id) for each in ended if each.kind in (FINISHED, SKIPPED)}
    store = open_store(repeated.tracking__uri, EXPERIMENT, create=False)
    runs = dict(zip(done, read_stored_runs(store, list(done.values())), strict=True))
    own = stored[stored["job"].isin(names)]
    reasons: dict[int, str] = dict(own.loc[own["reason"] != "", ["job", "reason"]].itertuples(index=False))
    compared = scores.compare_scores(own[own["reason"] == ""], scores.read_scores(store, runs))
    changed = [each for each in ended if (each.number in done) == (each.number in reasons)]
    differing = compared[~compared["job"].isin([each.number for each in changed])]
    sentences = [
        f"job {each.number} ({each.name}): {reasons.get(each.number, 'scores')} in the capsule, "
        f"{'scores' if each.number in done else each.reason} here"
        for each in changed
    ]
    n_failed = len(ended) - len({*done, *(each.number for each in changed)})
    sentences += [f"{count_nouns(n_failed, 'job')} without scores, as in the study"] * (n_failed > 0)
    return compared, [*scores.list_differences(differing, names), *sentences]


def _list_changed_lines(tables: str, repeated: SelectionRequest, style: TableStyle) -> list[str]:
    """Return how the tables of the repeated jobs differ from those of the capsule, line by line."""
    try:
        now = write_tables(make_comparison(repeated).comparison, style)
    except UserError as error:
        return [f"the tables cannot be written: {error}"]
    pairs = zip_longest(tables.splitlines(), now.splitlines())
    return [f"{capsule.TABLES}: {old!r} in the capsule, {new!r} here" for old, new in pairs if old != new]


def _judge(compared: pd.DataFrame, ended: Sequence[JobOutcome], tables: str, n_jobs: int, tolerance: float) -> Report:
    """Return the exit code and the verdict on the jobs that ran.

    Parameters
    ----------
    compared : DataFrame
        The result of `compare_scores`.
    ended : sequence of JobOutcome
    tables : str
        `CHANGED`, ``identical``, or why they were not compared.
    n_jobs : int
        The number of jobs from which those that ran were drawn.
    tolerance : float
    """
    unequal = {*compared.loc[compared["difference"] != 0, "job"]}
    wrong = {*compared.loc[compared["difference"] > tolerance, "job"]}
    refused = {outcome.number for outcome in ended if outcome.kind == REFUSED}
    n = len(ended)
    proof = []
    if n < n_jobs and not unequal:
        most = math.ceil(100 * (1 - MAX_ERROR ** (1 / n)))
        proof = [f"with {1 - MAX_ERROR:.0%} confidence, at most {most} % of all {n_jobs} jobs differ"]
    verdict = f"{n - len(unequal):,} of {n:,} jobs, {scores.count_scores(compared)}; the tables are {tables}"
    if wrong - refused or tables == CHANGED:
        return DIFFERENT, [*proof, verdict]
    return NOT_CHECKED if wrong else VERIFIED, [*proof, verdict]
