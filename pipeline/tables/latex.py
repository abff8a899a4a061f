"""Tables and text as LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

from collections.abc import Iterable

from bakeoff.pipeline.tables.table import NUMBER, Cell, Table

LATEX_SIGNS = {
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
    "\N{NO-BREAK SPACE}": "~",
    "µ": r"$\mu$",
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


def render_latex(table: Table, caption: str) -> list[str]:
    """Return the lines of a table with a caption."""
    sides = "".join("r" if column.kind == NUMBER else "l" for column in table.columns)
    rows = [_join_latex(map(_write_latex_cell, row)) for row in table.rows]
    return [
        "",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\toprule",
        _join_latex(map(_write_latex_cell, table.columns)),
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def escape_latex(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    Examples
    --------
    >>> escape_latex("50 % of a_b")
    '50 \\% of a\\_b'
    """
    return "".join(LATEX_SIGNS.get(sign, sign) for sign in " ".join(text.split()))


def _write_latex_cell(cell: Cell) -> str:
    escaped = escape_latex(cell.line)
    # A hyphen before a digit is a minus.
    number = f"$-${escaped[1:]}" if cell.kind == NUMBER and escaped.startswith("-") else escaped
    return rf"\textbf{{{number}}}" if cell.is_best else number


def _join_latex(cells: Iterable[str]) -> str:
    row = " & ".join(cells)
    # After the end of a row, LaTeX reads a bracket or a star as an argument.
    shield = "{}" if row.startswith(("[", "*")) else ""
    return rf"{shield}{row} \\"
