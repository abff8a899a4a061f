"""The tables of a comparison for a paper in LaTeX: scores, mean ranks and pairs, in a text width of 16 cm."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bakeoff.pipeline.comparison import stored_comparison
from bakeoff.pipeline.comparison.comparison import (
    BETTER,
    CORRECTED,
    SAME,
    WORSE,
    ComparedMetric,
    Comparison,
    DatasetResult,
    MetricResult,
    OverallResult,
    Summary,
)
from bakeoff.pipeline.comparison.comparison import Cell as Scores
from bakeoff.pipeline.comparison.report_tables import BASE, describe_overall
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.markup import render_latex
from bakeoff.pipeline.tables.table import EMPTY, TEXT, Cell, Row, Table, make_table, split_columns
from bakeoff.pipeline.text.wording import (
    ABSENT,
    count_nouns,
    cut_text,
    format_p,
    format_percent,
    format_score,
    format_statistic,
)

Captioned = tuple[Table, str]
"""A table and its caption."""
LATEX = "latex"
THIN = "\N{NARROW NO-BREAK SPACE}"
MAX_DECIMALS = 10
SCORE_DECIMALS, PERCENT_DECIMALS = 3, 1
MAX_HEAD_LETTERS = 8
"""Longer names of configurations are abbreviated in the heads of columns."""
WIDTH_LETTERS = 140
"""The number of letters of a footnote, with signs and gaps as on a terminal, in 16 cm; those of LaTeX are narrower."""
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

    def write_interval(self, low: float, high: float, metric: ComparedMetric) -> str:
        """Return an interval, or a sign if there is none."""
        return ABSENT if math.isnan(low) else f"[{self.write(low, metric)}, {self.write(high, metric)}]"

    def write_mean(self, summary: Summary, metric: ComparedMetric) -> Cell:
        """Return the mean of a configuration with its standard deviation and its mark."""
        has_std = self.std and not math.isnan(summary.std)
        note = f"±{THIN}{self.write(summary.std, metric)}" if has_std else ""
        mean = self.write(summary.mean, metric)
        return Cell(mean, note=note, mark=SIGNS[summary.mark], is_best=summary.is_best)


PLAIN = TableStyle()
NO_INTERVAL = (math.nan, math.nan)


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
            for number, positions in enumerate(split_columns(table, WIDTH_LETTERS), 1):
                part = table.choose_columns(positions)
                title = f"{table.title} {number}" if number > 1 else table.title
                lines += render_latex(replace(part, title=title), caption)
    return "\n".join(lines) + "\n"


def render_report(comparison: Comparison, to: str) -> str:
    """Return a report of a comparison in a format; that of LaTeX has the tables of a paper."""
    return write_tables(comparison) if to == LATEX else stored_comparison.render_report(comparison, to)


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
    metric = comparison.find_metric(result.metric)
    heads = abbreviate_names([row.name for row in comparison.configurations])
    numbers = {reason: str(number) for number, reason in enumerate(count_reasons(comparison), 1)}

    def write_cell(name: str, dataset: DatasetResult) -> Cell:
        summary = dataset.find_summary(name)
        if summary is not None:
            return style.write_mean(summary, metric)
        return Cell(ABSENT, EMPTY, mark=numbers[shorten_reason(comparison.find_cell(name, dataset.dataset))])

    footnote = "; ".join(f"({number}) {reason}" for reason, number in numbers.items())
    caption = _explain_scores(comparison, result, style)
    title = f"scores {metric.label}"
    if result.overall is None:
        (dataset,) = result.datasets
        ends = {each.configuration: (each.low, each.high) for each in dataset.summaries}
        rows: list[Row] = [
            [name, write_cell(name, dataset), style.write_interval(*ends.get(name, NO_INTERVAL), metric)]
            for name in heads
        ]
        interval = f"{100 * (1 - comparison.settings.alpha):g} % interval"
        yield make_table(title, ["configuration", metric.label, interval], rows, footnote), caption
        yield _tabulate_pairs(comparison, dataset, metric, style)
        return
    rows = [[dataset.dataset, *(write_cell(name, dataset) for name in heads)] for dataset in result.datasets]
    legend = "; ".join(f"{head}: {name}" for name, head in heads.items() if head != name)
    yield make_table(title, ["dataset", *heads.values()], rows, footnote), f"{caption} {legend}".strip()
    yield _tabulate_ranks(comparison, result.overall, metric)
    if not result.overall.too_few:
        yield _tabulate_overall_pairs(comparison, result.overall, metric)


def _explain_scores(comparison: Comparison, result: MetricResult, style: TableStyle) -> str:
    """Return the caption of the scores: what they are, and what is bold and marked."""
    metric = comparison.find_metric(result.metric)
    unit = " in percent" if style.uses_percent(metric) else ""
    spread = " with the standard deviation over folds" if style.std else ""
    direction = "higher" if metric.greater_is_better else "lower"
    names = [dataset.name for dataset in comparison.datasets]
    where = names[0] if len(names) == 1 else count_nouns(len(names), "dataset")
    caption = f"Mean {metric.label}{unit}{spread} on {where}; {direction} is better, bold the best."
    if all(math.isnan(pair.p_value) for dataset in result.datasets for pair in dataset.pairs):
        return caption
    settings = comparison.settings
    correction = "with Holm's correction over all pairs" if settings.marks == CORRECTED else "without a correction"
    return (
        f"{caption} Significantly better (+) or worse (−) than {settings.base}: corrected resampled t-test "
        f"{correction} of a dataset, α = {settings.alpha:g}."
    )


def _tabulate_pairs(
    comparison: Comparison, result: DatasetResult, metric: ComparedMetric, style: TableStyle
) -> Captioned:
    """Return all pairs of the only dataset."""
    rows: list[Row] = [
        [
            pair.first,
            pair.second,
            style.write(pair.difference, metric),
            style.write_interval(pair.low, pair.high, metric),
            format_p(pair.p_value),
            Cell(format_p(pair.p_holm), is_best=pair.is_told_apart),
            *map(format_percent, (pair.p_first, pair.p_equivalent, pair.p_second)),
        ]
        for pair in result.pairs
    ]
    interval = f"{100 * (1 - comparison.settings.alpha):g} % interval"
    columns: Row = ["A", Cell("B", TEXT), "difference", interval, "p", "p Holm", "A better", "equivalent", "B better"]
    caption = (
        f"Pairs by {metric.label} on {result.dataset}; a positive difference is in favour of A. Corrected resampled "
        f"t-test, bold below α = {comparison.settings.alpha:g}; probabilities by the Bayesian correlated t-test with a "
        f"region of practical equivalence of {describe_rope(metric)}."
    )
    return make_table(f"pairs {metric.label}", columns, rows), caption


def _tabulate_ranks(comparison: Comparison, overall: OverallResult, metric: ComparedMetric) -> Captioned:
    """Return the mean ranks, and the datasets won and lost against the base."""
    base = comparison.settings.base
    won = {pair.second: (pair.losses, pair.ties, pair.wins) for pair in overall.pairs if pair.first == base}
    won |= {pair.first: (pair.wins, pair.ties, pair.losses) for pair in overall.pairs if pair.second == base}
    rows: list[Row] = [
        [
            name,
            format_statistic(rank),
            *("/".join(map(str, each.get(name, ()))) or BASE for each in (won, overall.counts)),
        ]
        for name, rank in overall.mean_ranks.items()
    ]
    columns = ["configuration", "mean rank", "wins/ties/losses", "significant"]
    caption = (
        f"Mean ranks by {metric.label} on {count_nouns(len(overall.datasets), 'dataset')}, 1 is the best. Wins and "
        f"losses: datasets with a better and a worse mean than {base}; significant: the same, counting marks. "
        f"{'. '.join(line.removesuffix('.') for line in describe_overall(overall))}."
    )
    return make_table(f"ranks {metric.label}", columns, rows), caption


def _tabulate_overall_pairs(comparison: Comparison, overall: OverallResult, metric: ComparedMetric) -> Captioned:
    """Return all pairs over datasets."""
    rows: list[Row] = [
        [
            pair.first,
            pair.second,
            format_statistic(pair.rank_difference),
            f"{pair.wins}/{pair.ties}/{pair.losses}",
            Cell(format_p(pair.p_nemenyi), is_best=pair.is_told_apart),
            *map(format_p, (pair.p_wilcoxon, pair.p_wilcoxon_holm)),
        ]
        for pair in overall.pairs
    ]
    columns: Row = ["A", Cell("B", TEXT), "ranks apart", "wins/ties/losses", "p Nemenyi", "p Wilcoxon", "p Holm"]
    caption = (
        f"Pairs by {metric.label} on {count_nouns(len(overall.datasets), 'dataset')}: mean rank of B minus that of A; "
        "datasets with a better, equal and worse mean of A; Nemenyi's test (bold: significant), and Wilcoxon's "
        "signed-rank test without and with Holm's correction over all pairs."
    )
    return make_table(f"pairs {metric.label}", columns, rows), caption


def describe_rope(metric: ComparedMetric) -> str:
    """Return the size of the region of practical equivalence."""
    return f"{metric.rope:g}" + (" of the mean of the base" if metric.is_rope_relative else "")
