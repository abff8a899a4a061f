"""The request for a comparison."""

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from bakeoff.pipeline.commands.comparison_report.comparison import NEMENYI, WILCOXON
from bakeoff.pipeline.commands.comparison_report.delivery import FORMATS
from bakeoff.pipeline.config.requests import Bounds, ExperimentRequest, TrustRequest, Word
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import COMPARISON
from bakeoff.pipeline.text.wording import expand_home, join_words

COMMAND_KEYS = (
    "sweep", "filter", "metric", "greater_is_better", "base", "metrics", "alpha", "rope", "pairs", "overall",
    "choice", "dataset", "until", "repeats", "seal", "item", "cluster", "items", "plan", "reference",
)  # fmt: skip
"""Keys that determine the numbers of a comparison."""
RUN_WORDS = ("latest", "best")
BEST_WORDS = ("", "best")
"""The words that choose the best configuration as the base, the default first."""
PARQUET = ".parquet"
JSON_LINES = ".jsonl"
TABLE_EXTENSIONS = (".csv", PARQUET, JSON_LINES)
ROW_WORD = "row"
"""The items of stored runs."""
MAX_REPEATS = 10
"""The default of the largest number of repeats."""
MAX_LOOKS = 100
"""The maximum of this number, for so many looks are simulated in seconds."""
LEVELS = Bounds(0, 1, is_open=True)
"""Significance levels."""
SHARES = Bounds(0, 1)
DIFFERENCES = Bounds(1e-9)
GATES = ("never", "worse")


@dataclass(frozen=True, kw_only=True)
class SelectionRequest(ExperimentRequest):
    """Runs to compare, and the settings of the tests.

    Attributes
    ----------
    runs : tuple of str
        Runs given by id, by the first 8 characters of an id, or by the words latest or best.
    sweep : str or None
        Instead of runs: the name of a sweep, or latest, whose jobs are compared.
    filter : str or None
        Instead of runs: an MLflow filter that selects them, such as "params.dataset = 'wine'".
    dataset : str
        The dataset that latest and best refer to.
    base : str
        The configuration, learner, run or registered model to compare the others against; by default the best.
    metrics : tuple of str or None
        Scores or times, the first of which determines the verdict; by default the headline metric.
    alpha : float
        The significance level.
    rope : float
        Differences up to this size are equivalent in practice.
    pairs : str
        all to list every pair on every dataset, or best to list the pairs with the best configuration.
    overall : str
        nemenyi, to compare mean ranks over datasets, or wilcoxon, whose result for a pair depends on no other.
    choice : str
        none, so that no row represents several configurations of a learner.
    until : str
        sure, to stop at the repeat of the folds that decides a pair; the jobs after -m then run one repeat at a time.
    repeats : int
        The largest number of repeats with until=sure.
    seal : str
        The name or digest of the seal to check; by default, those of the compared jobs.
    """

    runs: Annotated[tuple[str, ...], Word(place="RUN")] = ()
    sweep: str | None = None
    filter: str | None = None
    dataset: str = ""
    base: str = ""
    metrics: tuple[str, ...] | None = None
    alpha: Annotated[float, Word(allowed=LEVELS)] = 0.05
    rope: Annotated[float, Word(allowed=SHARES)] = 0.01
    pairs: Annotated[str, Word(allowed=("best", "all"))] = "best"
    overall: Annotated[str, Word(allowed=(WILCOXON, NEMENYI))] = WILCOXON
    choice: Annotated[str, Word(allowed=("auto", "none"))] = "auto"
    until: Annotated[str, Word(allowed=("end", "sure"))] = "end"
    repeats: Annotated[int, Word(allowed=Bounds(2, MAX_LOOKS))] = MAX_REPEATS
    seal: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_until_sure and self.repeats != MAX_REPEATS:
            raise UserError(f"repeats={self.repeats} is the largest number of repeats with until=sure; add until=sure.")

    @property
    def is_until_sure(self) -> bool:
        """Whether each pair stops at the repeat that decides it."""
        return self.until == "sure"

    def require_one_selection(self) -> None:
        """Reject a request that selects no runs, or selects them in several ways.

        Raises
        ------
        UserError
        """
        selections = {"sweep": self.sweep, "filter": self.filter}
        given = [*self.runs[:1], *(key for key, value in selections.items() if value is not None)]
        if not given:
            raise UserError(
                'select the runs to compare: sweep=latest, "filter=...", ids of runs, or -m KEY=VALUE,VALUE.'
            )
        if len(given) > 1:
            raise UserError(f"{' and '.join(given)} select runs in different ways; give only one of them.")
        if self.dataset and not {*RUN_WORDS} & {*self.runs}:
            raise UserError(f"dataset={self.dataset} restricts {join_words(RUN_WORDS)}; leave dataset= out.")

    def write_command(self) -> str:
        """Return the equivalent command."""
        known = [key for key in COMMAND_KEYS if hasattr(self, key)]
        given = {key: getattr(self, key) for key in known if getattr(self, key) != getattr(type(self), key)}
        words = [f"{key}={_write_value(value)}" for key, value in given.items()]
        return shlex.join(["bakeoff", "compare", *self.runs, *words, *self.list_store_words()])


@dataclass(frozen=True, kw_only=True)
class CompareRequest(SelectionRequest, TrustRequest):
    """A comparison, and where its report goes.

    Attributes
    ----------
    runs : tuple of str
        Runs given by id, by the first 8 characters of an id, or by the words latest or best; or a CSV, Parquet or JSON
        lines file with the columns dataset, learner, score, and optionally repeat, fold, n_train and n_test.
    metric : str
        The metric of the scores in a file, such as accuracy.
    greater_is_better : bool or None
        Whether greater scores in a file are better; by default as for the metric.
    item : str
        The column of a file that names the items of one test set, which are compared instead of folds; for runs, row.
    cluster : str
        The column that names groups of items that depend on one another, such as questions on one text.
    items : str
        common, to compare only the items that all systems answered.
    plan : tuple of str
        Differences, such as 0.01,0.02: notes say how large a study must be to find them.
    reference : str
        A file of bakeoff reference, or the name of one, whose runs are compared as well; none of them is run.
    to : str or None
        The format; by default that of the extension of output=.
    output : Path or None
        The file to which the report is written instead of standard output; a .pdf or .svg file receives the
        critical-difference diagram alone.
    keep : bool
        Whether to store the comparison as a run.
    fail_if : str
        worse, to exit with code 1 if a configuration is significantly worse than the base.
    """

    metric: str = ""
    greater_is_better: bool | None = None
    item: str = ""
    cluster: str = ""
    items: Annotated[str, Word(allowed=("all", "common"))] = "all"
    plan: tuple[str, ...] = ()
    reference: str = ""
    to: Annotated[str | None, Word(allowed=FORMATS)] = None
    output: Path | None = None
    keep: bool = True
    fail_if: Annotated[str, Word(allowed=GATES)] = "never"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fail_if == "worse" and not self.base:
            raise UserError("fail_if=worse needs base=, the run, model or configuration to compare with.")
        COMPARISON.find_format(self.output, self.to)
        self._require_items()
        if self.reference and (self.item or self.is_until_sure or self.table is not None):
            raise UserError(
                f"reference={self.reference} has the scores of folds, which are compared with those of runs; leave out "
                "item=, until= and files of scores, or reference=."
            )
        if self.plan:
            read_numbers("plan", self.plan, DIFFERENCES)

    def _require_items(self) -> None:
        """Reject keys of items without ``item=``, and keys of folds with it."""
        if not self.item and (self.cluster or self.items != "all"):
            raise UserError("cluster= and items= describe the items of a test set; add item=, the column of the items.")
        if self.item and (self.is_until_sure or self.overall != WILCOXON or self.choice != "auto" or self.seal):
            raise UserError(
                f"until=, overall=, choice= and seal= are about folds; leave them out, or item={self.item}."
            )
        if self.item and self.table is None and (self.item != ROW_WORD or self.cluster or len(self.metrics or ()) > 1):
            raise UserError(
                f"runs are compared on the same test rows by item={ROW_WORD} and one metric, without cluster=; "
                f"item={self.item} needs a file, such as outcomes.csv."
            )

    @property
    def differences(self) -> list[float]:
        """The differences of `plan`."""
        return list(map(float, self.plan))

    @property
    def form(self) -> str:
        """The format of the report."""
        return COMPARISON.find_format(self.output, self.to)

    @property
    def table(self) -> Path | None:
        """The file with the scores to compare; None if runs are compared.

        Raises
        ------
        UserError
            A file is given with other runs, or a key does not apply.
        """
        files = [word for word in self.runs if word.endswith(TABLE_EXTENSIONS) or expand_home(word).is_file()]
        if files and (len(self.runs) > 1 or self.sweep or self.filter or self.dataset or self.metrics or self.seal):
            raise UserError(
                f"{files[0]} is a table of scores, which is compared on its own; leave out other runs and the keys "
                "sweep, filter, dataset, metrics and seal. metric= names its scores."
            )
        if not files and (self.metric or self.greater_is_better is not None):
            raise UserError("metric= and greater_is_better= describe scores in a file; for runs, use metrics=NAME.")
        return expand_home(files[0]) if files else None


def read_numbers(key: str, words: Sequence[str], allowed: Bounds) -> list[float]:
    """Return the numbers of a list, all of which are allowed.

    Raises
    ------
    UserError
    """
    try:
        numbers = list(map(float, words))
    except ValueError:
        numbers = [math.nan]
    if not numbers or not all(number in allowed for number in numbers):
        raise UserError(f"{key}={','.join(words)} must be numbers, each {allowed}, such as {key}=0.01,0.05.")
    return numbers


def _write_value(value: Any) -> str:
    """Return a value as a word of a command line."""
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
