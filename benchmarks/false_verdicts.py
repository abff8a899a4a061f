"""Measure how often tests tell apart two learners that are equally good, and how often two that are not.

    nice python benchmarks/false_verdicts.py              about ten minutes on one core
    nice python benchmarks/false_verdicts.py --docs       also writes the tables and the picture of docs/statistics.md

Every comparison draws a new table and new folds, scores real learners on them (`benchmarks.simulated_tables`), and
gives the scores to the tests of `bakeoff.pipeline.commands.significance` (`benchmarks.verdicts`). That the learners
are equally good is exact, by symmetry. The seed determines every number.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

from benchmarks.stops import tabulate_stops
from benchmarks.tables import DOCS, machine, replace_part
from benchmarks.verdicts import (
    EVALUATIONS,
    GAIN,
    JUDGES,
    LEAD_EVALUATIONS,
    LEARNERS,
    N_DATASETS,
    SIZES,
    Measured,
    Rate,
    measure_datasets,
    measure_families,
    measure_leads,
    measure_one_dataset,
)

PAGE = DOCS.with_name("statistics.md")
PICTURE = DOCS.with_name("false-verdicts.png")
COLOURS = {"uncorrected t": "#D55E00", "corrected t": "#0072B2", "Bayesian, rope 0.01": "#009E73"}
"""Of the tests that are drawn: told apart by the colour-blind, and by their places."""


def main(words: Sequence[str] | None = None) -> None:
    """Measure all rates, print the tables, and write them into docs/statistics.md."""
    asked = _parse_arguments(words)
    if asked.stops:
        _publish({"stops": tabulate_stops(asked.comparisons, asked.seed)}, asked.docs)
        return
    measured = _measure_single_datasets(asked.comparisons, asked.seed)
    families = measure_families(asked.comparisons, asked.seed)
    leads = measure_leads(asked.comparisons, asked.seed)
    equal = measure_datasets(asked.comparisons, asked.seed, gain=0.0)
    unequal = measure_datasets(asked.comparisons, asked.seed, gain=GAIN)
    parts = {
        "command": machine(
            f"python benchmarks/false_verdicts.py --comparisons {asked.comparisons} --seed {asked.seed}"
        ),
        "false verdicts": format_single_datasets(measured, "false"),
        "true verdicts": format_single_datasets(measured, "true"),
        "leads": format_leads(leads),
        "families": format_rates(["test of 10 pairs", "any false verdict"], families),
        "datasets": format_datasets(equal, unequal),
        "stops": tabulate_stops(asked.comparisons, asked.seed),
    }
    _publish(parts, asked.docs)
    if asked.docs:
        draw_false_verdicts(measured, PICTURE)


def _publish(parts: Mapping[str, str], writes_docs: bool) -> None:
    """Print the tables, and write them into docs/statistics.md if requested."""
    for name, text in parts.items():
        print(f"\n{name}\n\n{text}", flush=True)
        if writes_docs:
            replace_part(name, text, PAGE)


def format_single_datasets(measured: Iterable[Measured], kind: str) -> str:
    """Return a Markdown table of rates on single datasets.

    Parameters
    ----------
    measured : iterable of Measured
    kind : {"false", "true"}
        Of the verdicts. The table of true verdicts has the mean difference of accuracy.

    Returns
    -------
    str
    """
    columns = ["learner", "rows", "evaluation", *(["difference"] if kind == "true" else []), *JUDGES]
    lines = [
        _format_line(columns),
        _format_line(["---"] + ["---:" if name == "rows" else "---" for name in columns[1:]]),
    ]
    for one in measured:
        rates = one.false_verdicts if kind == "false" else one.true_verdicts
        difference = [f"{one.difference:.3f}"] if kind == "true" else []
        cells = [one.learner, str(one.n_rows), one.evaluation, *difference, *(str(rates[name]) for name in JUDGES)]
        lines.append(_format_line(cells))
    return "\n".join(lines)


def format_rates(columns: Sequence[str], rates: Mapping[str, Rate]) -> str:
    """Return a Markdown table of two columns: the name and the rate."""
    lines = [_format_line(columns), _format_line(["---"] * len(columns))]
    lines += [_format_line([name, str(rate)]) for name, rate in rates.items()]
    return "\n".join(lines)


def format_leads(leads: Mapping[float, Mapping[str, Rate]]) -> str:
    """Return a Markdown table of rates by the lead of a learner, with a column for each evaluation."""
    names = [evaluation.name for evaluation in LEAD_EVALUATIONS]
    lines = [_format_line(["lead", *names]), _format_line(["---"] * (1 + len(names)))]
    lines += [_format_line([f"{lead:.2f}", *(str(rates[name]) for name in names)]) for lead, rates in leads.items()]
    return "\n".join(lines)


def format_datasets(equal: Mapping[tuple[str, int], Rate], unequal: Mapping[tuple[str, int], Rate]) -> str:
    """Return a Markdown table of rates over several datasets, of equal learners and of one better learner."""
    columns = ["test"]
    columns += [f"any false verdict, {n} datasets" for n in N_DATASETS]
    columns += [f"better one found, {n} datasets" for n in N_DATASETS]
    lines = [_format_line(columns), _format_line(["---"] * len(columns))]
    for name in dict.fromkeys(name for name, _ in equal):
        rates = [*(equal[name, n] for n in N_DATASETS), *(unequal[name, n] for n in N_DATASETS)]
        lines.append(_format_line([name, *map(str, rates)]))
    return "\n".join(lines)


def draw_false_verdicts(measured: Sequence[Measured], file: Path) -> None:
    """Draw the rates of false verdicts on single datasets, with their intervals and the 5 % that are allowed.

    Parameters
    ----------
    measured : sequence of Measured
    file : Path
        A PNG file.
    """
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8.5, 0.34 * len(measured) + 1.3), layout="constrained")
    for number, (name, colour) in enumerate(COLOURS.items()):
        rates = [one.false_verdicts[name] for one in measured]
        places = [place + 0.22 * (number - 1) for place in range(len(measured))]
        _draw_rates(axes, rates, places, colour, name)
    axes.axvline(5, color="black", linestyle="--", linewidth=1, label="5 %, alpha of the t-tests")
    axes.set_yticks(range(len(measured)), [f"{one.evaluation}, {one.learner}, {one.n_rows} rows" for one in measured])
    axes.set_ylim(len(measured) - 0.5, -0.5)
    axes.set_xlim(0, None)
    axes.set_xlabel("false verdicts, in percent of comparisons")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(file, dpi=110)
    plt.close(figure)


def _draw_rates(axes: Any, rates: Sequence[Rate], places: Sequence[float], colour: str, name: str) -> None:
    """Draw rates with their intervals at the places of the y axis."""
    values = [100 * rate.value for rate in rates]
    below = [100 * (rate.value - rate.interval[0]) for rate in rates]
    above = [100 * (rate.interval[1] - rate.value) for rate in rates]
    axes.errorbar(values, places, xerr=[below, above], fmt="o", markersize=4, color=colour, label=name)


def _measure_single_datasets(n_comparisons: int, seed: int) -> list[Measured]:
    """Measure every evaluation, learner and size, and print each when it is done."""
    measured = []
    for evaluation in EVALUATIONS:
        for learner in LEARNERS:
            for n_rows in SIZES:
                one = measure_one_dataset(learner, n_rows, evaluation, n_comparisons, seed)
                measured.append(one)
                rates = {name: str(rate) for name, rate in one.false_verdicts.items()}
                print(evaluation.name, learner, n_rows, rates, flush=True)
    return measured


def _format_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _parse_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how often tests tell equal learners apart.")
    parser.add_argument("--comparisons", type=int, default=1000, help="simulated comparisons of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--docs", action="store_true", help="write docs/statistics.md and its picture")
    parser.add_argument("--stops", action="store_true", help="measure pairs that stop early only")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
