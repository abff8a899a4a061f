"""The verification of a capsule: its jobs run again, and every score and table is compared.

The data and the trusted code of the capsule are written into a new folder, with a store, in which a verification that
was interrupted continues. No other store is used, because the runs of the study would then verify themselves.
"""

import io
import math
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random

import pandas as pd

from bakeoff.pipeline.comparison.request import SelectionRequest
from bakeoff.pipeline.comparison.stored_comparison import compare_selection, select_runs
from bakeoff.pipeline.config.engine import SHIPPED_FILES
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.identity.user_modules import UserModuleFinder
from bakeoff.pipeline.paper import capsule, scores, study
from bakeoff.pipeline.paper.request import VerifyRequest
from bakeoff.pipeline.paper.tables import TableStyle, write_tables
from bakeoff.pipeline.replay.differences import find_changes
from bakeoff.pipeline.sweep.jobs import FINISHED, REFUSED, SKIPPED, Job, JobOutcome
from bakeoff.pipeline.sweep.request import SweepRequest, run_requested_sweep
from bakeoff.pipeline.text.wording import count_nouns
from bakeoff.pipeline.tracking import provenance
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import read_stored_runs

EXPERIMENT = "verification"
TRACKER = "bakeoff.pipeline.tracking.run.MLflowTracker"
CODE_FOLDER = "code"
SWEEP_LETTERS = 8
SEED_BITS = 32
MAX_ERROR = 0.05
"""The probability with which a statement on the jobs that were not drawn may be wrong."""
VERIFIED, DIFFERENT, NOT_CHECKED = range(3)
"""Exit codes."""


Report = tuple[int, list[str]]
"""The exit code of a verification, and sentences, of which the last is the verdict."""


@dataclass
class Verifier:
    """Runs the jobs of a capsule in a folder of the current one.

    Attributes
    ----------
    request : VerifyRequest
    announce : callable
        Receives sentences before the first fit.
    """

    request: VerifyRequest
    announce: Callable[[str], None]

    def __post_init__(self) -> None:
        path = self.request.capsule
        self._files, facts = capsule.read_capsule(path)
        self._folder = Path(f"{path.name.partition('.')[0]}.verification").resolve()
        self._data = self.request.data.resolve() if self.request.data else None
        try:
            self._sweep = SelectionRequest(
                sweep=capsule.compute_digest(self._files[capsule.STUDY])[:SWEEP_LETTERS],
                tracking__uri=str(self._folder / "mlflow.db"),
                tracking__experiment=EXPERIMENT,
                **facts["comparison"],
            )
            self._style = TableStyle(**facts["style"])
            self._environment = dict(facts["environment"])
            self._scores = pd.read_parquet(io.BytesIO(self._files[capsule.SCORES]))
            data = pd.read_csv(io.BytesIO(self._files[capsule.DATA]), dtype=str)
            self._digests = {*zip(data["dataset"], data["digest"], strict=True)}
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path} has a file that was not written by `bakeoff paper`: {error!r}.") from error

    def verify(self) -> Report:
        """Run the jobs again, and compare every score and the tables.

        Raises
        ------
        UserError
            The capsule cannot be checked: it was changed, needs trust, or its data are missing.
        """
        self._require_trust()
        self._write_files()
        # Trusted code is found in the current folder, also by workers.
        with chdir(self._folder / CODE_FOLDER):
            UserModuleFinder(str(self._folder / CODE_FOLDER)).install()
            tracking = {
                "_target_": TRACKER,
                "uri": self._sweep.tracking__uri,
                "experiment": EXPERIMENT,
                "models": False,
            }
            place = f"data={self.request.data}" if self._data else "data=FOLDER is needed: the capsule"
            folder = self._data or self._folder / study.DATA_FOLDER
            around = study.Surroundings(str(self._sweep.sweep), tracking, self.request.trust, folder, place)
            jobs = study.read_study(self._files[capsule.STUDY].decode(), around)
            runnable = [job for job in jobs if job.spec]
            self._require_same_data(runnable)
            self._announce_changes()
            drawn = self._draw_jobs(runnable)
            outcomes = self._run_jobs(jobs if drawn is runnable else drawn)
            return self._judge({job.number: job.name for job in drawn}, outcomes, len(runnable))

    def _require_trust(self) -> None:
        """Reject a capsule with code that the command does not trust."""
        packages = {
            name.split("/")[1].removesuffix(".py") for name in self._files if name.startswith(f"{CODE_FOLDER}/")
        }
        if not packages <= {*self.request.trust}:
            raise UserError(
                f"the capsule has code, which would run with your rights. Read its folder {CODE_FOLDER}; if you trust "
                f"it, add trust=[{','.join(sorted(packages))}]."
            )

    def _write_files(self) -> None:
        """Write the data and the code of the capsule, in place of those of an earlier one."""
        for part in (study.DATA_FOLDER, CODE_FOLDER):
            shutil.rmtree(self._folder / part, ignore_errors=True)
            (self._folder / part).mkdir(parents=True)
        for name, content in self._files.items():
            target = self._folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def _require_same_data(self, jobs: Sequence[Job]) -> None:
        """Reject datasets whose rows are not those of the study."""
        resources = PartCache()
        for job in jobs:
            dataset = resources.get_dataset(job.spec)
            if (dataset.name, dataset.digest()) not in self._digests:
                raise UserError(
                    f"the rows of dataset {dataset.name} ({dataset.digest()}) are not those with the digest in "
                    f"{capsule.DATA}; ask the authors for their file, and set data=FOLDER."
                )

    def _announce_changes(self) -> None:
        now = provenance.list_tags()
        for change in find_changes(self._environment, {tag: now[tag] for tag in self._environment}):
            self.announce(f"{change.name} was {change.stored} in the study, and is {change.now} here")

    def _draw_jobs(self, jobs: Sequence[Job]) -> Sequence[Job]:
        n, seed = self.request.n, self.request.seed
        if n is None or n >= len(jobs):
            return jobs
        # The authors must not be able to know which jobs are drawn.
        seed = secrets.randbits(SEED_BITS) if seed is None else seed
        self.announce(f"{n} of {len(jobs)} jobs are drawn with seed={seed}")
        return Random(seed).sample(jobs, n)

    def _run_jobs(self, jobs: Sequence[Job]) -> dict[int, JobOutcome]:
        """Run the jobs that are not done, and return the outcome of each by its number."""
        words = ("on_invalid=skip", f"workers={self.request.workers}", f"hydra.sweep.dir=../{self._sweep.sweep}")
        report = run_requested_sweep(SweepRequest(words, SHIPPED_FILES, composed=jobs))
        return {outcome.number: outcome for outcome in report.outcomes}

    def _judge(self, names: Mapping[int, str], outcomes: Mapping[int, JobOutcome], n_jobs: int) -> Report:
        """Return what the outcomes show."""
        stored = self._scores
        reasons: dict[int, str] = dict(stored.loc[stored["reason"] != "", ["job", "reason"]].itertuples(index=False))
        done = {i: str(outcomes[i].run_id) for i in names if outcomes[i].kind in (FINISHED, SKIPPED)}
        new_failures = [i for i in names if i not in done and i not in reasons]
        successes = [i for i in done if i in reasons]
        checked = [i for i in done if i not in reasons]
        store = open_store(self._sweep.tracking__uri, EXPERIMENT, create=False)
        runs = dict(zip(checked, read_stored_runs(store, [done[i] for i in checked]), strict=True))
        compared = scores.compare_scores(stored[stored["job"].isin(checked)], scores.read_scores(store, runs))
        unequal = {*compared.loc[compared["difference"] != 0, "job"], *new_failures, *successes}
        n_equal = len(names.keys() - unequal)
        sentences = [
            *scores.list_differences(compared, names),
            *(f"job {i} ({names[i]}) has no scores here: {outcomes[i].reason}" for i in new_failures),
            *(f"job {i} ({names[i]}) has scores here; in the study, it {reasons[i]}" for i in successes),
        ]
        n_failed = len(names) - len(done) - len(new_failures)
        sentences += [f"{count_nouns(n_failed, 'job')} without scores, as in the study"] if n_failed else []
        tables = "not written, because not all jobs ran"
        if len(names) == n_jobs:
            difference = self._compare_tables(store)
            sentences += [difference] if difference else []
            tables = "different" if difference else "identical"
        if len(names) < n_jobs and n_equal == len(names):
            most = math.ceil(100 * (1 - MAX_ERROR ** (1 / len(names))))
            sentences.append(f"with {1 - MAX_ERROR:.0%} confidence, at most {most} % of all {n_jobs} jobs differ")
        verdict = f"{n_equal:,} of {len(names):,} jobs, {scores.count_scores(compared)}; the tables are {tables}"
        kinds = {outcomes[i].kind for i in new_failures}
        has_failed = (
            (compared["difference"] > self.request.tolerance).any() or tables == "different" or kinds - {REFUSED}
        )
        status = DIFFERENT if has_failed else NOT_CHECKED if kinds else VERIFIED
        return status, [*sentences, verdict]

    def _compare_tables(self, store: Store) -> str:
        """Return how tables written from the repeated jobs differ from those of the capsule; empty if they do not."""
        try:
            comparison = compare_selection(store, select_runs(store, self._sweep), self._sweep).comparison
            now = write_tables(comparison, self._style)
        except UserError as error:
            return f"the tables cannot be written: {error}"
        pairs = zip_longest(self._files[capsule.TABLES].decode().splitlines(), now.splitlines())
        changed = [f"{capsule.TABLES}: {old!r} in the capsule, {new!r} here" for old, new in pairs if old != new]
        return changed[0] if changed else ""
