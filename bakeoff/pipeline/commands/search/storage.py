"""The identity of a study, its objectives and its settings, and the SQLite file or PostgreSQL server that stores it.

The name of a study is derived from its command, so the same command continues it. The objectives are metrics of a run,
but never its scores on test rows, because a score used for a choice is no longer an unbiased estimate. A study
therefore chooses by scores on validation rows, and records the test scores of its runs next to them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.distributions import distribution_to_json
from optuna.storages import RDBStorage
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import SQLAlchemyError

from bakeoff.pipeline.commands.search.space import SearchSpace
from bakeoff.pipeline.errors import UserError, did_you_mean, first_line
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.scoring.names import COST, DEFAULTS
from bakeoff.pipeline.stages.scoring.scorers import is_greater_better, name_entry
from bakeoff.pipeline.sweep import job_runner, jobs
from bakeoff.pipeline.text.wording import expand_home
from bakeoff.pipeline.tracking.sqlite_file import create_whole

Direction = Literal["minimize", "maximize"]
SCORE_PREFIXES = ("validation_", "train_")
COST_METRICS = (
    "time/fit", "time/tune", "time/prune", "time/predict",
    "pruning/leaves_before", "pruning/leaves_after", "pruning/depth_before", "pruning/depth_after",
)  # fmt: skip


@dataclass(frozen=True)
class Objective:
    """A metric of a run, and whether it is minimized or maximized."""

    name: str
    direction: Direction

    @property
    def test_name(self) -> str:
        """The name of the same score on test rows; for a cost, its name unchanged."""
        prefix, _, metric = self.name.partition("_")
        return f"test_{metric}" if f"{prefix}_" in SCORE_PREFIXES else self.name


def choose_objectives(
    names: Sequence[str] | str | None, task: str, metrics: Sequence[Any] | None, costs: Any = None
) -> tuple[Objective, ...]:
    """Return the objectives named in ``hydra.sweeper``; accuracies are maximized, errors and times minimized.

    Parameters
    ----------
    names : sequence of str, str or None
        The names of the objectives; None for the headline metric on validation rows.
    task : {"classification", "regression"}
    metrics : sequence or None
        The value of ``evaluation.metrics``.
    costs : mapping, optional
        The value of ``evaluation.costs``, which adds the metric ``cost``.

    Raises
    ------
    UserError
        A name is not a metric of the run, or is a test score.
    """
    entries = DEFAULTS[task] if metrics is None else tuple(metrics)
    if costs is not None:
        entries = (*entries, COST)
    if names is None:
        names = f"validation_{name_entry(entries[0])}"
    given = [names] if isinstance(names, str) else names
    if not given:
        raise UserError("hydra.sweeper.objectives is empty; name a metric, such as [validation_accuracy].")
    return tuple(Objective(name, _find_direction(name, entries)) for name in given)


def _find_direction(name: str, entries: Sequence[Any]) -> Direction:
    """Return the direction in which a metric improves."""
    if name in COST_METRICS:
        return "minimize"
    if name.startswith("test_"):
        raise UserError(
            f"hydra.sweeper.objectives names {name!r}, but a test score that was used for a choice is no longer "
            f"unbiased; name validation_{name.removeprefix('test_')}, and the test score is recorded as well."
        )
    scores = {f"{prefix}{name_entry(entry)}": name_entry(entry) for prefix in SCORE_PREFIXES for entry in entries}
    if name not in scores:
        raise UserError(
            f"hydra.sweeper.objectives names {name!r}, which is not a metric of the run; add a score to "
            f"evaluation.metrics first. {did_you_mean(name, (*scores, *COST_METRICS))}"
        )
    return "maximize" if is_greater_better(scores[name], entries) else "minimize"


def require_validation_rows(objectives: Sequence[Objective], spec: Mapping[str, Any], dataset: Dataset) -> None:
    """Check that validation scores can be objectives: validation rows exist and are not used for other choices.

    Parameters
    ----------
    objectives : sequence of Objective
    spec : mapping
        A settled configuration.
    dataset : Dataset
        The dataset, which may name validation rows.

    Raises
    ------
    UserError
        An objective is a validation score, but there are no validation rows, or pruning or tuning uses them.
    """
    names = [objective.name for objective in objectives if objective.name.startswith("validation_")]
    if not names:
        return
    if not spec["evaluation"]["validation"] and not dataset.names_validation_rows:
        raise UserError(
            f"the study chooses by {names[0]}, but evaluation.validation=0 leaves no rows for it; "
            "set evaluation.validation=0.2."
        )
    pruning = spec["pruning"].get("method")
    if pruning in ("bottom_up", "best_first"):
        raise UserError(
            f"the study and pruning={pruning} would choose on the same validation rows; "
            "set pruning=none, or pruning=pessimistic, which needs no rows."
        )
    for part in ("tuning", "calibration", "threshold"):
        if spec[part].get("folds") == 0:
            raise UserError(
                f"the study and {part} with {part}.folds=0 would use the same validation rows; "
                f"set {part}=none, or {part}.folds=5, which uses inner folds of the training rows."
            )


DIGEST_BYTES = 4


@dataclass(frozen=True)
class StudySettings:
    """The keys of ``hydra.sweeper``, which are documented in ``conf/hydra/sweeper/optuna.yaml``."""

    sampler: dict[str, Any]
    pruner: dict[str, Any]
    n_trials: int
    objectives: list[str] | str | None
    storage: str | None


@dataclass(frozen=True)
class StudyKey:
    """The key that identifies a study.

    Attributes
    ----------
    name : str
        The dataset, with a digest of the objectives, the search space, and the data and code of the jobs at its edges.
    objectives : tuple of Objective
    spec : mapping
        The settled configuration of one job.
    """

    name: str
    objectives: tuple[Objective, ...]
    spec: Mapping[str, Any]

    @property
    def aims(self) -> str:
        """The objectives with their directions."""
        return ", ".join(f"{objective.direction} {objective.name}" for objective in self.objectives)


def make_study_key(
    space: SearchSpace, edge_jobs: Sequence[jobs.Job], runner: job_runner.JobRunner, names: Sequence[str] | str | None
) -> StudyKey:
    """Return the key of the study that a command describes.

    Parameters
    ----------
    space : SearchSpace
    edge_jobs : sequence of Job
        The jobs at the edges of the space; at least one.
    runner : JobRunner
    names : sequence of str, str or None
        The value of ``hydra.sweeper.objectives``.

    Raises
    ------
    UserError
        An objective is invalid, or there are no validation rows by which to choose.
    """
    spec = edge_jobs[0].spec
    evaluation = spec["evaluation"]
    task = runner.resources.get_dataset(spec).task
    objectives = choose_objectives(names, task, evaluation.get("metrics"), evaluation.get("costs"))
    for job in edge_jobs:
        require_validation_rows(objectives, job.spec, runner.resources.get_dataset(job.spec))
    searched = {
        name: distribution_to_json(dimension.distribution) for name, dimension in space.all_dimensions().items()
    }
    identity = [list(map(astuple, objectives)), searched, sorted(job.hash for job in edge_jobs)]
    encoded = json.dumps(identity, sort_keys=True).encode()
    digest = hashlib.blake2b(encoded, digest_size=DIGEST_BYTES).hexdigest()
    return StudyKey(f"{edge_jobs[0].dataset}-{digest}", objectives, spec)


DEFAULT_FILE = "outputs/optuna.db"
WRITE_TIMEOUT_SECONDS = 60
"""The maximum time a process waits for another one to finish writing."""
CREATION_LOCK_KEY = 0x0B7A
"""The key of the server's advisory lock, which allows only one process at a time to create tables."""


def parse_storage_url(storage: str | None) -> URL:
    """Return the URL of a storage.

    Parameters
    ----------
    storage : str or None
        A URL or the path of a SQLite file; None for ``outputs/optuna.db``.

    Examples
    --------
    >>> str(parse_storage_url("sqlite:////tmp/a.db"))
    'sqlite:////tmp/a.db'
    """
    given = str(storage or DEFAULT_FILE)
    # In a URI, a path with a percent sign or a question mark would refer to another file.
    url = make_url(given) if "://" in given else URL.create("sqlite", database=given)
    if url.drivername != "sqlite":
        return url
    return url.set(database=str(expand_home(str(url.database or "")).absolute()))


@contextmanager
def open_study(storage: str | None, key: StudyKey) -> Iterator[optuna.Study]:
    """Open or create the study of a key, and close its storage at the end.

    Parameters
    ----------
    storage : str or None
        The value of ``hydra.sweeper.storage``.
    key : StudyKey

    Raises
    ------
    UserError
        The storage cannot be used.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    url = parse_storage_url(storage)
    directions = [objective.direction for objective in key.objectives]
    try:
        opened = _connect(url)
        study = optuna.create_study(storage=opened, study_name=key.name, directions=directions, load_if_exists=True)
    except (optuna.exceptions.StorageInternalError, SQLAlchemyError, ImportError, OSError, RuntimeError) as error:
        shown = url.render_as_string(hide_password=True)
        raise UserError(f"hydra.sweeper.storage={shown!r} cannot be used: {first_line(error)}") from error
    try:
        yield study
    finally:
        opened.remove_session()
        opened.engine.dispose()


def _connect(url: URL) -> RDBStorage:
    """Connect to a storage, which is created first if it does not exist."""
    if url.drivername == "sqlite":
        create_whole(Path(str(url.database)), _write_tables)
        return RDBStorage(url.render_as_string(), engine_kwargs={"connect_args": {"timeout": WRITE_TIMEOUT_SECONDS}})
    with _hold_creation_lock(url):
        return RDBStorage(url.render_as_string(hide_password=False), engine_kwargs={"pool_pre_ping": True})


def _write_tables(file: Path) -> None:
    RDBStorage(URL.create("sqlite", database=str(file)).render_as_string()).engine.dispose()


@contextmanager
def _hold_creation_lock(url: URL) -> Iterator[None]:
    """Hold an advisory lock on the server, so that machines that start together do not create the same tables."""
    if not url.drivername.startswith("postgresql"):
        yield
        return
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": CREATION_LOCK_KEY})
        yield
    engine.dispose()  # the lock ends with the connection
