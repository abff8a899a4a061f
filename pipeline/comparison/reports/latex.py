"""The tables as LaTeX, with the rules of the package booktabs, to be put into a paper."""

from __future__ import annotations

from collections.abc import Iterator

from bakeoff.pipeline.comparison.comparison import Comparison, MetricResult
from bakeoff.pipeline.comparison.reports import tables
from bakeoff.pipeline.comparison.reports.text_table import TextTable

ESCAPED = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "–": r"--",
    "−": r"$-$",
    "α": r"$\alpha$",
    "Δ": r"$\Delta$",
    "χ": r"$\chi$",
    "²": r"\textsuperscript{2}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "…": r"\dots{}",
    "×": r"$\times$",
    "•": r"$\bullet$",
}
"""Signs that LaTeX interprets, or that its default fonts lack."""


def render_latex(comparison: Comparison) -> str:
    """Return the tables as LaTeX; the verdict and the notes are comments and captions."""
    return "\n".join(_iterate_lines(comparison)) + "\n"


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    Examples
    --------
    >>> escape_latex("50 % of a_b")
    '50 \\% of a\\_b'
    """
    return "".join(ESCAPED.get(sign, sign) for sign in " ".join(text.split()))


def _iterate_lines(comparison: Comparison) -> Iterator[str]:
    yield r"% \usepackage{booktabs}"
    yield f"% {_comment(comparison.command)}"
    for sentence in (*comparison.verdict, *comparison.notes):
        yield f"% {_comment(sentence)}"
    for result in comparison.results:
        yield from _iterate_result(comparison, result)
    others = tables.tabulate_members(comparison, comparison.results[0])
    if others is not None:
        yield from _write_table(others, others.footnote)


def _iterate_result(comparison: Comparison, result: MetricResult) -> Iterator[str]:
    overall = result.overall
    if overall is not None:
        scores = tables.tabulate_scores(comparison, result)
        yield from _write_table(scores, " ".join([*overall.verdict, f"{scores.footnote}."]))
        if not overall.too_few:
            yield from _write_table(tables.tabulate_overall_pairs(comparison, overall), tables.describe_tests(overall))
        if result.pareto:
            costs = tables.tabulate_costs(comparison, result)
            yield from _write_table(costs, costs.footnote)
    for dataset in result.datasets:
        yield from _write_table(tables.tabulate_dataset(comparison, dataset, result.metric), " ".join(dataset.verdict))
        pairs = tables.tabulate_pairs(comparison, dataset)
        yield from _write_table(pairs, f"{pairs.title}. {pairs.footnote}")


def _write_table(table: TextTable, caption: str) -> Iterator[str]:
    yield ""
    yield r"\begin{table}"
    yield r"\centering"
    yield rf"\caption{{{escape_latex(caption)}}}"
    yield rf"\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}"
    yield r"\toprule"
    yield _write_row([escape_latex(column) for column in table.columns])
    yield r"\midrule"
    for row in table.iterate_rows():
        yield _write_row([_write_entry(text, is_emphasized) for text, is_emphasized in row])
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield r"\end{table}"


def _write_entry(text: str, is_emphasized: bool) -> str:
    escaped = escape_latex(text)
    return rf"\textbf{{{escaped}}}" if is_emphasized else escaped


def _write_row(entries: list[str]) -> str:
    # After the end of a row, LaTeX reads a bracket or a star as an argument.
    shield = "{}" if entries[0].startswith(("[", "*")) else ""
    return rf"{shield}{' & '.join(entries)} \\"


def _comment(text: str) -> str:
    """Return text on one line, because a line break would end the comment."""
    return " ".join(text.split())
