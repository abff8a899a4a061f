r"""A calculation as a LaTeX document that pdflatex typesets.

A formula is translated token by token: a fraction such as ``5/14`` or ``(1 + 2)/3`` becomes ``\frac``, a root ``√(…)``
becomes ``\sqrt``, and names of several letters are upright. Lines break after ``=``, ``+`` and ``,``.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bakeoff.learners.definitions.steps import Step
from bakeoff.pipeline.commands.work.calculation import BOX, NAMED_BOX, HandCalculation
from bakeoff.pipeline.commands.work.text import list_tables, round_steps, split_table, tabulate_step
from bakeoff.pipeline.tables.markup import LATEX_SIGNS
from bakeoff.pipeline.tables.table import NAME, NUMBER, Cell, Table

PREAMBLE = r"""% Calculation by hand
\documentclass[11pt,a4paper]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{textcomp,amsmath,amssymb,array,booktabs,longtable}
\usepackage[margin=2.2cm]{geometry}
\setlength{\LTleft}{2.5em}
\setlength{\LTright}{\fill}
\setlength{\LTpre}{\medskipamount}
\setlength{\LTpost}{\smallskipamount}
\setlength{\tabcolsep}{4pt}
\renewcommand{\arraystretch}{1.25}
\setlength{\parindent}{0pt}
\setlength{\lineskip}{3pt}
\setlength{\lineskiplimit}{3pt}
\emergencystretch=3em
\newcommand{\result}[1]{\fbox{\rule{0pt}{2.4ex}\makebox[7em][l]{\tiny #1}}}
\newcommand{\step}[2]{\par\medskip\hangindent=2.5em\hangafter=1\makebox[2.5em][l]{\textbf{#1.}}#2\par\nopagebreak}
\newcommand{\under}[1]{{\par\raggedright\leftskip=2.5em\hangindent=2em\hangafter=1 #1\par}}
\begin{document}
\raggedbottom"""
FUNCTIONS = {name: rf"\{name} " for name in ("log", "ln", "exp", "max", "min")} | {"log2": r"\log_2 "}
POWERS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ", [*map(str, range(10)), "-", r"\top "], strict=True))
INDICES = dict(zip("₀₁₂₃₄₅₆₇₈₉ᵢⱼₖ", [*map(str, range(10)), *"ijk"], strict=True))
WRITTEN = r"""
α \alpha    β \beta     γ \gamma    δ \delta    ε \epsilon    η \eta    θ \theta    κ \kappa    λ \lambda
μ \mu       ξ \xi       π \pi       ρ \rho      σ \sigma      τ \tau    φ \phi      χ \chi      ψ \psi
ω \omega    Δ \Delta    Θ \Theta    Λ \Lambda   Φ \Phi        Ω \Omega  Σ \sum      Π \prod     √ \surd
× \times    ‖ \Vert     ∞ \infty    ≤ \le       ≥ \ge         ≠ \ne     ≈ \approx   ∈ \in       → \to
← \gets     ± \pm       ∂ \partial  ∇ \nabla    ∘ \circ       ∝ \propto … \dots     * \ast      − -
ŷ \hat{y}   ȳ \bar{y}   x̄ \bar{x}   , ,\allowbreak             · \cdot\nobreak
"""
"""Each sign with its name in LaTeX's mathematics."""
SIGNS = {
    **{sign: f"^{{{power}}}" for sign, power in POWERS.items()},
    **{sign: f"_{{{index}}}" for sign, index in INDICES.items()},
    **{sign: sign for sign in "+-=<>()[]/|.;:!?'"},
    **{sign: f"{name} " for sign, name in re.findall(r"(\S+) +(\S+)", WRITTEN)},
    **{"\u200b": r"\allowbreak ", "\u200c": "{}"},
}
"""Signs in LaTeX's mathematics."""
OPERATORS = {*FUNCTIONS.values(), SIGNS["Σ"], SIGNS["Π"]}
"""Followed by a space of their own."""
IS_PLAIN = re.compile("(?![ĦħĸĿŀŉŦŧ])[ -~¡-ž–—‘’“”„€†]")
"""Characters that the fonts of a document contain."""
LETTERS = "A-Za-zÀ-ÖØ-öø-ɏ"
TOKEN = re.compile(
    rf"(?P<box>{NAMED_BOX.pattern})|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)|(?P<space> +)|(?P<mean>x\u0304)"
    rf"|(?P<word>[{LETTERS}][{LETTERS}0-9_]*|[α-ωΓ-Ω](?:_?\d+|_[{LETTERS}])?)"
    rf"|(?P<power>[{''.join(POWERS)}]+)|(?P<index>[{''.join(INDICES)}]+)|(?P<sign>.)"
)
SIGN = re.compile("x\u0304|.")
INDEXED = re.compile(r"(.)_?(\d*|(?<=_).)")
DIVISOR = re.compile(rf"\d.*|[({LETTERS}√]")
SPACED = re.compile(r"[\w)\]] +[\w(\[√‖]|, +.")
"""A space between names or after a comma; around other signs, LaTeX's mathematics has its own."""
MATHEMATICS = re.compile(r" = |[·√Σ²‖]|\d/\d|^[-+(]*\d")
"""Occurs in the cells of a table that are formulas."""
MINUS = re.compile(r"(?<![\w.)])-(?=\.?\d)")
LIGATURE = re.compile(r"([-'`,])(?=[-'`,])")
LONG_WORD = re.compile(r"(\w{12})(?=\w{4})")
MAX_WIDTH = 92
"""The number of characters that fit a line; wider tables are divided."""
SHORT_TABLE = (r"\smallskip\under{\small\begin{tabular}", r"\midrule", r"\end{tabular}\smallskip}")
LONG_TABLE = (r"{\small\begin{longtable}", r"\midrule\endhead", r"\end{longtable}}")
MAX_UNBROKEN_ROWS = 20
MAX_CELL = 40
"""The number of characters in a line of a cell; longer cells are broken."""


class Atom(NamedTuple):
    """A factor of a formula.

    Attributes
    ----------
    line : str
        The factor in LaTeX.
    inner : str
        The factor without the brackets around it, which a fraction or a root needs not.
    divides : bool
        Whether it can be a part of a fraction; names cannot.
    """

    line: str
    brackets: str = ""
    divides: bool = True

    @property
    def inner(self) -> str:
        return self.brackets or self.line


Tokens = deque[re.Match[str]]


def render_latex(calculation: HandCalculation, digits: int) -> str:
    """Return a calculation as a LaTeX document."""
    lines = [PREAMBLE, rf"\section*{{{escape(calculation.title)}}}"]
    lines += [rf"{escape(line)}\par" for line in calculation.header]
    for table in list_tables(calculation):
        lines += [rf"\subsection*{{{table.title}}}", *_write_table(table)]
    lines.append(r"\subsection*{Calculation}")
    for number, step in round_steps(calculation, digits):
        lines += _write_step(number, step)
    lines += [rf"\par\medskip {escape(note)}" for note in calculation.notes]
    return "\n".join([*lines, r"\end{document}", ""])


def escape(text: str) -> str:
    r"""Return text that LaTeX prints unchanged, with mathematical signs and minus signs.

    Examples
    --------
    >>> print(escape("α_1 = -2 in 50 % of 犬"))
    $\alpha$\_1 = $-$2 in 50 \% of \texttt{U+72AC}
    """
    breakable = LONG_WORD.sub("\\1\u200b", LIGATURE.sub("\\1\u200c", MINUS.sub("−", " ".join(text.split()))))
    pieces = NAMED_BOX.split(breakable)
    pieces[::2] = ["".join(map(_escape_sign, SIGN.findall(text))) for text in pieces[::2]]
    pieces[1::2] = [rf"\result{{{name or ''}}}" for name in pieces[1::2]]
    return "".join(pieces)


def write_mathematics(formula: str) -> str:
    r"""Return a formula of signs in LaTeX's mathematics.

    Examples
    --------
    >>> print(write_mathematics("d = √((1 - 3)² + 2²) = 2.83, H = -Σ p log2 p = 5/14·log2(14/5)"))
    d=\sqrt{(1-3){}^{2}+2{}^{2}}=2.83,\allowbreak \ H=-\sum p\ \log_2 p=\frac{5}{14}\cdot\nobreak \log_2 (\frac{14}{5})
    """
    tokens = deque(TOKEN.finditer(formula))
    parts = [_read_sum(tokens)]
    # A name may contain a closing bracket without an opening one.
    while tokens:
        parts += [tokens.popleft().group(), _read_sum(tokens)]
    return "".join(parts)


def _read_sum(tokens: Tokens) -> str:
    """Remove the tokens before the next closing bracket, and return them in LaTeX."""
    parts: list[str] = []
    while tokens and tokens[0].group() != ")":
        if tokens[0]["space"]:
            space = tokens.popleft()
            if (
                parts
                and parts[-1] not in OPERATORS
                and SPACED.fullmatch(space.string, space.start() - 1, space.end() + 1)
            ):
                parts.append(r"\ ")
            continue
        atom = _read_atom(tokens)
        if atom.divides and len(tokens) > 1 and tokens[0].group() == "/" and DIVISOR.fullmatch(tokens[1].group()):
            tokens.popleft()
            atom = Atom(rf"\frac{{{atom.inner}}}{{{_read_atom(tokens).inner}}}")
        parts.append(atom.line)
    return "".join(parts)


def _read_atom(tokens: Tokens) -> Atom:
    """Remove and return the next factor: a bracket, a root, a number, or a name with its arguments."""
    token = tokens.popleft()
    text = token.group()
    follows = tokens[0].group() if tokens else ""
    if text == "(":
        inner = _read_sum(tokens)
        closing = tokens.popleft().group() if tokens else ""
        atom = Atom(f"({inner}{closing}", inner)
    elif text == "√" and follows.strip():
        atom = Atom(rf"\sqrt{{{_read_atom(tokens).inner}}}")
    elif token["word"] and follows == "(":
        atom = Atom(_write_token(token) + _read_atom(tokens).line)
    else:
        atom = Atom(_write_token(token), divides=not token["sign"] and (not token["word"] or len(text) == 1))
    script = ""
    while tokens and (tokens[0]["power"] or tokens[0]["index"]):
        script += _write_token(tokens.popleft())
    return Atom(atom.line + script, divides=atom.divides) if script else atom


def _write_token(token: re.Match[str]) -> str:
    text = token.group()
    if token["box"]:
        return rf"\result{{{text.removesuffix(BOX)}}}"
    if token["number"]:
        mantissa, _, power = text.partition("e")
        return rf"{mantissa}\cdot 10^{{{int(power)}}}" if power else text
    if token["power"]:
        return f"{{}}^{{{''.join(POWERS[sign] for sign in text)}}}"
    if token["index"]:
        return f"{{}}_{{{''.join(INDICES[sign] for sign in text)}}}"
    if token["word"] and (indexed := INDEXED.fullmatch(text)):
        letter, index = indexed.groups()
        return SIGNS.get(letter, letter) + (f"_{{{index}}}" if index else "")
    if text == "|" and text.center(3) in token.string[token.start() - 1 : token.end() + 1]:
        return r"\mid "
    return FUNCTIONS.get(text) or SIGNS.get(text) or rf"\text{{{escape(text)}}}"


def _escape_sign(sign: str) -> str:
    if sign in LATEX_SIGNS:
        return LATEX_SIGNS[sign]
    if IS_PLAIN.match(sign):
        return sign
    return f"${SIGNS[sign]}$" if sign in SIGNS else rf"\texttt{{U+{ord(sign):04X}}}"


def _write_step(number: int, step: Step) -> Iterator[str]:
    place = rf"\textit{{{escape(step.place)}}}: " if step.place else ""
    yield rf"\step{{{number}}}{{{place}{escape(step.sentence)}}}"
    if step.formula:
        yield rf"\under{{${write_mathematics(step.formula)}$}}"
    if step.table:
        yield from _write_table(tabulate_step(step))
    if step.chosen:
        yield rf"\under{{$\to$ \textbf{{{escape(step.chosen)}}}}}"


def _write_table(table: Table) -> Iterator[str]:
    """Yield the lines of a table, in several parts below one another if its columns do not fit a line."""
    # A long table continues on the next page; pdflatex aligns its repeated head in a second run.
    is_long = len(table.rows) > MAX_UNBROKEN_ROWS
    first, head, last = LONG_TABLE if is_long else SHORT_TABLE
    for part in split_table(table, MAX_WIDTH):
        sides = map(_choose_side, zip(part.columns, *part.rows, strict=True))
        yield rf"{first}{{{''.join(sides)}}}\toprule"
        yield _join_cells(part.columns) + head
        yield from map(_join_cells, part.rows)
        yield rf"\bottomrule{last}"


def _choose_side(column: Sequence[Cell]) -> str:
    if max(len(cell.line) for cell in column) > MAX_CELL:
        return r">{\raggedright\arraybackslash}p{.45\linewidth}"
    return "r" if column[0].kind == NUMBER else "l"


def _join_cells(cells: Iterable[Cell]) -> str:
    # After the end of a row, LaTeX interprets a bracket or a star as an argument.
    return rf"{{}}{' & '.join(map(_write_cell, cells))} \\"


def _write_cell(cell: Cell) -> str:
    if cell.kind != NAME and MATHEMATICS.search(cell.line):
        return f"${write_mathematics(cell.line)}$"
    return escape(cell.line)
