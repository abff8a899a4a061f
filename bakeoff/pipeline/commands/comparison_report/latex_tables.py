"""The tables of a comparison for a paper in LaTeX: scores, mean ranks and pairs, in a text width of 16 cm."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bakeoff.pipeline.commands.comparison_report.comparison import Cell as Scores
from bakeoff.pipeline.commands.comparison_report.comparison import (
    ComparedMetric,
    Comparison,
    DatasetResult,
    MetricResult,
    OverallResult,
    Summary,
)
from bakeoff.pipeline.commands.comparison_report.report_tables import (
    BASE,
    describe_overall,
    tabulate_overall_pairs,
    tabulate_pairs,
)
from bakeoff.pipeline.commands.significance.folds import BETTER, SAME, WORSE
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.markup import render_latex, render_plain
from bakeoff.pipeline.tables.table import EMPTY, Cell, Row, Table, make_table, split_columns
from bakeoff.pipeline.text.wording import ABSENT, cut_text, format_score, format_statistic

Captioned = tuple[Table, str]
"""A table and its caption."""
CAPTIONS = Path(__file__).parent / "captions.template"
HEADING = "\n# "
"""The beginning of a heading in a template."""
THIN = "\N{NARROW NO-BREAK SPACE}"
MAX_DECIMALS = 10
SCORE_DECIMALS, PERCENT_DECIMALS = 3, 1
MAX_HEAD_LETTERS = 8
"""Longer names of configurations are abbreviated in the heads of columns."""
WIDTH_LETTERS = 112
"""The number of letters of a footnote in 16 cm, with gaps of two letters between columns."""
MAX_REASON_LETTERS = 200
SIGNS: Mapping[str, str] = {BETTER: "+", WORSE: "−", SAME: ""}
FOLDERS = re.compile(r"(?<![\w.])~?/+(?:[^\s/:,;'\"]+/+)+")
"""The folders of an absolute path or an address."""


@dataclass(frozen=True)
class TableStyle:
    """How numbers are written in the tables of a paper.

    Attributes
    ----------
    decimals : int or None
        Decimals of scores; by default 3, 1 in percent, and for errors and times four significant digits.
    percent : bool
        Whether scores from 0 to 1 are written in percent.
    std : bool
        Whether the standard deviation over folds follows the mean.
    """

    decimals: int | None = None
    percent: bool = False
    std: bool = True

    def __post_init__(self) -> None:
        if self.decimals is not None and not 0 <= self.decimals <= MAX_DECIMALS:
            raise UserError(f"decimals={self.decimals} must be a whole number from 0 to {MAX_DECIMALS}.")

    def uses_percent(self, metric: ComparedMetric) -> bool:
        """Return whether a metric is written in percent, which errors and times never are."""
        return self.percent and not metric.is_rope_relative

    def write(self, value: float, metric: ComparedMetric) -> str:
        """Return a value of a metric."""
        if math.isnan(value):
            return ABSENT
        if self.decimals is None and metric.is_rope_relative:
            return format_score(value)
        scale, decimals = (100, PERCENT_DECIMALS) if self.uses_percent(metric) else (1, SCORE_DECIMALS)
        return f"{scale * value:.{decimals if self.decimals is None else self.decimals}f}"

    def write_mean(self, summary: Summary, metric: ComparedMetric) -> Cell:
        """Return the mean of a configuration with its standard deviation and its mark."""
        has_std = self.std and not math.isnan(summary.std)
        note = f"±{THIN}{self.write(summary.std, metric)}" if has_std else ""
        mean = self.write(summary.mean, metric)
        return Cell(mean, note=note, mark=SIGNS[summary.mark], is_best=summary.is_best)


PLAIN = TableStyle()


def write_tables(comparison: Comparison, style: TableStyle = PLAIN) -> str:
    r"""Return the tables of a comparison for ``\input`` in a document with the package booktabs.

    Parameters
    ----------
    comparison : Comparison
    style : TableStyle

    Returns
    -------
    str
        For each metric, the scores with datasets as rows, the mean ranks and the pairs; with one dataset, its scores
        with configurations as rows, and its pairs. Columns that do not fit 16 cm follow in a further table.

    Raises
    ------
    UserError
        No metric can be written in percent.
    """
    if style.percent and not any(map(style.uses_percent, comparison.metrics)):
        raise UserError(f"percent=true: {comparison.metrics[0].label} is not a score from 0 to 1; leave percent= out.")
    lines = [r"% \usepackage{booktabs,longtable}"]
    for result in comparison.results:
        for table, caption in _iterate_tables(comparison, result, style):
            # LaTeX prints a mark beside its column, and the best score in bold.
            unmarked = tuple(tuple(replace(cell, mark="", is_best=False) for cell in row) for row in table.rows)
            parts = split_columns(replace(table, rows=unmarked), WIDTH_LETTERS)
            for number, positions in enumerate(parts, 1):
                part = table.choose_columns(positions)
                title = f"{table.title} {number}" if number > 1 else table.title
                lines += render_latex(replace(part, title=title), caption)
    return "\n".join(lines) + "\n"


def hide_folders(text: str) -> str:
    """Return a text without the folders of absolute paths, which may name a person or a host.

    Examples
    --------
    >>> hide_folders("no file /home/ann/data/x.csv; n_test / n_train")
    'no file x.csv; n_test / n_train'
    """
    return FOLDERS.sub("", text)


def count_reasons(comparison: Comparison) -> Counter[str]:
    """Return the reasons of the cells without scores, with the number of cells."""
    return Counter(shorten_reason(cell) for cell in comparison.cells if cell.reason)


def shorten_reason(cell: Scores) -> str:
    """Return why a cell has no scores, in a text of limited length without folders."""
    return cut_text(hide_folders(cell.reason), MAX_REASON_LETTERS)


def abbreviate_names(names: Sequence[str]) -> dict[str, str]:
    """Return a unique short form for each name; names that are short remain.

    Examples
    --------
    >>> abbreviate_names(["svm", "naive_bayes", "linear_regression", "logistic_regression", "knn n_neighbors=15"])
    {'svm': 'svm', 'naive_bayes': 'NB', 'linear_regression': 'LR', 'logistic_regression': 'LR2', \
'knn n_neighbors=15': 'KNN15'}
    """
    short: dict[str, str] = {}
    for name in names:
        words = re.findall(r"\d+|[^\W\d_]+", name)
        initials = "".join(word if word.isdigit() else word[0].upper() for word in words)
        form = name if len(name) <= MAX_HEAD_LETTERS else initials
        n_same = sum(each.rstrip("0123456789") == form for each in short.values())
        short[name] = f"{form}{n_same + 1}" if form in short.values() else form
    return short


def _iterate_tables(comparison: Comparison, result: MetricResult, style: TableStyle) -> Iterator[Captioned]:
    """Yield the tables of a metric with their captions."""
    label = comparison.find_metric(result.metric).label
    overall = result.overall
    heads = abbreviate_names([row.name for row in comparison.configurations])
    scores, ranks, pairs = _write_captions(comparison, result, style, heads)
    # Unlike a terminal, a paper has room for all pairs.
    whole = replace(comparison, settings=replace(comparison.settings, all_pairs=True))
    yield replace(_tabulate_scores(comparison, result, style, heads), title=f"scores {label}"), scores
    if overall is None:
        yield replace(tabulate_pairs(whole, result.datasets[0]), title=f"pairs {label}", footnote=""), pairs
        return
    yield replace(_tabulate_ranks(comparison, overall), title=f"ranks {label}"), ranks
    if not overall.too_few:
        yield replace(tabulate_overall_pairs(whole, overall), title=f"pairs {label}"), pairs


def _tabulate_scores(
    comparison: Comparison, result: MetricResult, style: TableStyle, heads: Mapping[str, str]
) -> Table:
    """Return a row for each dataset and a column for each configuration, or the rows of the only dataset."""
    metric = comparison.find_metric(result.metric)
    numbers = {reason: str(number) for number, reason in enumerate(count_reasons(comparison), 1)}

    def write_cell(name: str, dataset: DatasetResult) -> Cell:
        summary = dataset.find_summary(name)
        if summary is not None:
            return style.write_mean(summary, metric)
        return Cell(ABSENT, EMPTY, mark=numbers[shorten_reason(comparison.find_cell(name, dataset.dataset))])

    footnote = "; ".join(f"({number}) {reason}" for reason, number in numbers.items())
    rows: list[Row]
    if result.overall is None:
        rows = [[name, write_cell(name, result.datasets[0])] for name in heads]
        return make_table("", ["configuration", metric.label], rows, footnote)
    rows = [[dataset.dataset, *(write_cell(name, dataset) for name in heads)] for dataset in result.datasets]
    return make_table("", ["dataset", *heads.values()], rows, footnote)


def _write_captions(
    comparison: Comparison, result: MetricResult, style: TableStyle, heads: Mapping[str, str]
) -> list[str]:
    """Return the captions of the scores, the mean ranks and the pairs of a metric."""
    values = {
        "comparison": comparison,
        "metric": comparison.find_metric(result.metric),
        "style": style,
        "heads": heads,
        "overall": result.overall,
        "tests": [] if result.overall is None else describe_overall(result.overall),
        "is_tested": any(not math.isnan(pair.p_value) for dataset in result.datasets for pair in dataset.pairs),
    }
    captions = render_plain(CAPTIONS, values).split(HEADING)[1:]
    return [caption.partition("\n")[2] for caption in captions]


def _tabulate_ranks(comparison: Comparison, overall: OverallResult) -> Table:
    """Return the mean ranks, and the datasets won and lost against the base."""
    base = comparison.settings.base
    won = {pair.second: (pair.losses, pair.ties, pair.wins) for pair in overall.pairs if pair.first == base}
    won |= {pair.first: (pair.wins, pair.ties, pair.losses) for pair in overall.pairs if pair.second == base}
    rows: list[Row] = [
        [name, format_statistic(rank), *("/".join(map(str, own.get(name, (BASE,)))) for own in (won, overall.counts))]
        for name, rank in overall.mean_ranks.items()
    ]
    return make_table("", ["configuration", "mean rank", "wins/ties/losses", "significant"], rows)
