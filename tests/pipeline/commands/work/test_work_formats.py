"""The printed forms of a calculation by hand: text, Markdown and LaTeX, with names of any characters."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from bakeoff.learners.definitions.steps import Step
from bakeoff.pipeline.commands.work.calculation import BOX, HandCalculation
from bakeoff.pipeline.commands.work.command import render, work_by_hand
from bakeoff.pipeline.commands.work.latex import escape, write_mathematics
from bakeoff.pipeline.commands.work.request import WorkRequest
from bakeoff.pipeline.errors import UserError

needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no pdflatex: apt install texlive-latex-extra"
)
NASTY = r"a_b%$#&{}~^\<>|*`[x](y)é犬α--²²₁₂"
PLANE = {"learner": "perceptron", "dataset": "colours"}
LONG_SUM = " + ".join(f"{i / 7}·({-i / 3})" for i in range(1, 20))
FORMULAS = [
    "H = -Σ p log2 p = 5/14·log2(14/5) + 9/14·log2(14/9) = 0.9402859586706311",
    "d = √((1.0 - 3.0)² + (2.5 - 1.0)²)/‖ω‖ = √6.25 = 2.5, α_1 = (1 + 0.5)/(2·3) = 1.5e-07",
    f"P({NASTY} = {NASTY} | yes) = 1/3 = 0.3333333333",
    f"f(x) = {LONG_SUM} = 1.5",
    ") √ ( / ² _ ⁻¹ √/ (/) 1/ /2 √",
]


@pytest.fixture
def calculation() -> HandCalculation:
    table = ((NASTY, "gain", "[0, 1)"), (NASTY, 0.12345, BOX), ("[b", -1.0, f"{LONG_SUM} = 1.5"))
    steps = [Step(f"What is α for {NASTY}?", formula, NASTY, place="pass 1", rows=(1, 2)) for formula in FORMULAS]
    wide = (("row", *(f"a long heading {j}" for j in range(12))), ("*", *range(12)))
    steps += [Step("Choose.", table=table, chosen="x = -2.0"), Step("Compare.", table=wide)]
    cells = {NASTY: ["x", NASTY], "size (cm)": [-1.5, 20.0], "w" * 90: ["犬", "]"]}
    rows = pd.DataFrame(cells, pd.RangeIndex(1, 3, name="row"))
    return HandCalculation(NASTY, tuple(steps), rows, rows, notes=(NASTY,), header=(f"Name: {BOX}",))


@needs_latex
def test_a_document_with_any_characters_compiles_and_fits_the_page(
    calculation: HandCalculation, tmp_path: Path
) -> None:
    (tmp_path / "sheet.tex").write_text(render(calculation, "latex", 4), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "sheet.tex"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False)
    assert found.returncode == 0, found.stdout[-2000:]
    assert (tmp_path / "sheet.pdf").exists()
    # A few points are not visible.
    too_wide = [line for line in found.stdout.splitlines() if line.startswith("Overfull \\hbox (") and "pt" in line]
    assert [line for line in too_wide if float(line.split("(")[1].split("pt")[0]) > 5] == []


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("14/5·p", r"\frac{14}{5}\cdot\nobreak p"),
        ("1/(2·σ)²", r"\frac{1}{(2\cdot\nobreak \sigma ){}^{2}}"),
        ("√(a + 1)/√2", r"\frac{\sqrt{a+1}}{\sqrt{2}}"),
        ("P(a)/P(b)", r"\frac{P(a)}{P(b)}"),
        ("yes/no", r"\text{yes}/\text{no}"),
        ("x1 x_i log2 p", r"x_{1}\ x_{i}\ \log_2 p"),
        ("P(petal length (cm) | yes)", r"P(\text{petal}\ \text{length}\ (\text{cm})\mid \text{yes})"),
        ("1.5e-07", r"1.5\cdot 10^{-7}"),
        ("a = (-2, 1.0)", r"a=(-2,\allowbreak \ 1.0)"),
        ("x\u0304 ∘ α_1", r"\bar{x} \circ \alpha _{1}"),
        ("cm)) + 1", r"\text{cm}))+1"),
        (BOX, r"\result{}"),
    ],
)
def test_a_formula_becomes_mathematics(formula: str, expected: str) -> None:
    assert write_mathematics(formula) == expected


def test_names_are_escaped_in_each_format(calculation: HandCalculation) -> None:
    latex = render(calculation, "latex", 4)
    assert escape("a_b%$#&{}") == r"a\_b\%\$\#\&\{\}"
    assert r"\section*{a\_b\%\$\#\&\{\}" in latex
    assert "犬" not in latex
    markdown = render(calculation, "markdown", 4)
    assert markdown.startswith(r"# a_b%$\#&{}\~^\\&lt;&gt;\|\*\`[x\](y)é犬")
    assert r"| 2 | a_b%$\#&{}" in markdown
    text = render(calculation, "terminal", 4)
    assert text.startswith(NASTY)


def test_control_characters_of_names_are_shown() -> None:
    calculation = HandCalculation("a\x1b[2J", (Step("b\x1b]0;c"),))
    for form in ("terminal", "markdown", "latex"):
        assert "\x1b" not in render(calculation, form, 4)


def test_lines_of_text_have_at_most_100_characters(calculation: HandCalculation) -> None:
    text = render(calculation, "terminal", 4)
    assert max(map(len, text.splitlines())) <= 100
    assert "\n        0.1429" not in text
    assert "\n    f(x) = 0.1429·(-0.3333) + 0.2857·(-0.6667)" in text


@pytest.mark.parametrize(
    ("name", "beginning"), [("a.md", "# perc"), ("a.tex", "% Calculation by hand\n\\doc"), ("a.txt", "perc")]
)
def test_the_extension_chooses_the_format(name: str, beginning: str, tmp_path: Path) -> None:
    work_by_hand(WorkRequest(words=PLANE, rows="3", output=tmp_path / name))
    assert (tmp_path / name).read_text().startswith(beginning)


def test_an_output_is_no_input(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("x,y\n1,a\n2,b\n")
    words = {"learner": "perceptron", "dataset": "file", "dataset.path": str(path), "dataset.target": "y"}
    with pytest.raises(UserError, match=r"^output='.*t.txt' is the file .*, which is an input"):
        work_by_hand(WorkRequest(words=words, output=path))
    with pytest.raises(UserError, match=r"^key='.*t.txt' is the file .*, which is an input"):
        work_by_hand(WorkRequest(words=words, blank=0.5, key=path))
    assert path.read_text() == "x,y\n1,a\n2,b\n"
