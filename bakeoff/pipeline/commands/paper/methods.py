"""The methods section of a paper, written from the configurations, the numbers and the records of the compared runs.

`methods.template` has the sentences, each under the condition for it to be true; this module collects what they state.
An entry of ``references.bib`` names in ``keywords`` what it is cited for.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from bakeoff.pipeline.audit import describe_accepted
from bakeoff.pipeline.commands.compare.run_grid import GROUPS, SEED_WORD, group_by
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison, Configuration, OverallResult
from bakeoff.pipeline.commands.comparison_report.latex_tables import HEADING, count_reasons, hide_folders
from bakeoff.pipeline.commands.significance.folds import CorrectedTTest, compute_corrected_t_test
from bakeoff.pipeline.config.options import read_option
from bakeoff.pipeline.config.targets import TARGET_KEY
from bakeoff.pipeline.tables.markup import escape_latex, render_plain
from bakeoff.pipeline.tracking.stored_runs import StoredRun

TEMPLATE = Path(__file__).parent / "methods.template"
PARTITIONS = (
    "kfold",
    "repeated_kfold",
    "holdout",
    "leave_one_out",
    "group_kfold",
    "leave_one_group_out",
    "fixed_folds",
)
"""Evaluations whose parts contain each row once, so that their sizes sum to that of the dataset."""
STATED_PARTS = ("preprocessing", "tuning")
"""Parts that are named even if no configuration uses one."""
OTHER_KEYS = ("evaluation.metrics", "evaluation.costs", "evaluation.train_metrics", "evaluation.first_repeat")
"""Keys of an evaluation that do not describe its splits."""
NO_DEFAULTS: Mapping[str, Any] = {}
SKLEARN = "scikit-learn"
BIBLIOGRAPHY = Path(__file__).parent / "references.bib"
KEYWORDS = re.compile(r"\n  keywords = \{(.*)\},")
CITED = re.compile(r"\\cite\{(.*?)\}")
OPENING, CLOSING = "⟦", "⟧"
MARK = re.compile(f"{OPENING}(.*?){CLOSING}")


def write_methods(comparison: Comparison, runs: Sequence[StoredRun]) -> str:
    r"""Return the methods section: paragraphs in LaTeX that cite the keys of `write_references`.

    Parameters
    ----------
    comparison : Comparison
    runs : sequence of StoredRun
        The compared runs; what is known only from runs is left out without them.
    """
    result = comparison.results[0]
    overall = result.overall
    best = result.datasets[0].summaries[0].configuration if overall is None else next(iter(overall.mean_ranks))
    values = {
        "comparison": comparison,
        "overall": overall,
        "best": best,
        "learners": [_describe_learner(row) for row in comparison.configurations],
        "parts": {part: used for part in GROUPS if (used := _group_by_part(comparison, part))},
        "reasons": count_reasons(comparison),
        "pairs": [pair for dataset in result.datasets for pair in dataset.pairs if not math.isnan(pair.p_value)],
        "advantages": {} if overall is None else _measure_advantages(comparison, overall),
        **_describe_runs(comparison, runs),
    }
    text = hide_folders(render_plain(TEMPLATE, values))
    paragraphs = [paragraph.partition("\n") for paragraph in text.split(HEADING)[1:]]
    return "\n\n".join(rf"\paragraph{{{title}.}} {write_prose(body)}" for title, _, body in paragraphs) + "\n"


def _describe_runs(comparison: Comparison, runs: Sequence[StoredRun]) -> dict[str, Any]:
    """Return what is known from runs: sizes and sources of datasets, evaluations, and versions of packages."""
    files = {part.lower() for run in runs for part in PurePath(run.params.get("dataset.path", "")).parts}
    is_from_openml = any("dataset.data_home" in run.params for run in runs)
    has_sizes = all(dataset.evaluation in PARTITIONS for dataset in comparison.datasets)
    return {
        "names": _cite_datasets(comparison, runs),
        "sizes": [round(sum(json.loads(run.tags["rows_per_fold"]).values())) for run in runs if has_sizes],
        "sources": files | {"openml"} if is_from_openml else files,
        "evaluations": group_by(comparison.datasets, partial(_describe_evaluation, runs)),
        "versions": _list_versions(runs),
        "accepted": sorted({sentence for run in runs for sentence in describe_accepted(run.tags)}),
        "cited": ["numpy", "scipy", *([SKLEARN] if _uses_sklearn(runs) else [])],
    }


def _cite_datasets(comparison: Comparison, runs: Sequence[StoredRun]) -> list[str]:
    """Return the names of the datasets, with citations unless they were read from a file."""
    read = {run.params["dataset"] for run in runs if any(key.startswith("dataset.") for key in run.params)}
    return [
        each.name if each.name in read else each.name + mark_use("dataset", each.name) for each in comparison.datasets
    ]


def _list_versions(runs: Sequence[StoredRun]) -> dict[str, dict[str, None]]:
    """Return the versions of each package, in the order of the runs."""
    versions: dict[str, dict[str, None]] = {}
    for run in runs:
        for name, version in json.loads(run.tags.get("versions", "{}")).items():
            versions.setdefault(name, {})[version] = None
    return versions


def _uses_sklearn(runs: Sequence[StoredRun]) -> bool:
    """Return whether the learner or another part of a run is a class of scikit-learn."""
    learners = {run.params["learner"] for run in runs}
    classes = [str(read_option("learner", name).get(TARGET_KEY)) for name in learners]
    return any("sklearn." in text for text in chain(classes, *(run.params.values() for run in runs)))


def _describe_evaluation(runs: Sequence[StoredRun], dataset: Any) -> str:
    keys: dict[str, str] = {}
    for run in runs:
        if run.params["dataset"] == dataset.name:
            keys |= {key: value for key, value in run.params.items() if key not in OTHER_KEYS}
    return dataset.evaluation + _in_brackets(_list_settings(keys, "evaluation"))


def _describe_learner(row: Configuration) -> str:
    """Return a configuration with its settings that differ from the defaults."""
    defaults = read_option("learner", row.learner)
    settings = list(_list_settings(row.params, "learner", defaults))
    if row.members:
        settings = [f"in each fold the one of {len(row.members)} configurations with the best validation score"]
    return row.name + mark_use("learner", row.learner) + _in_brackets(settings)


def _group_by_part(comparison: Comparison, part: str) -> dict[str, list[Configuration]]:
    """Return the configurations by what they use as a part; empty if none uses it."""
    rows = [row for row in comparison.configurations if row.params]
    used = group_by(rows, lambda row: _describe_option(row, part))
    return {} if set(used) <= {"none"} and part not in STATED_PARTS else used


def _describe_option(row: Configuration, part: str) -> str:
    option = row.params.get(part, "none")
    settings = [] if option == "none" else _list_settings(row.params, part)
    return option + mark_use(part, option) * bool(settings) + _in_brackets(settings)


def _list_settings(params: Mapping[str, str], part: str, defaults: Mapping[str, Any] = NO_DEFAULTS) -> Iterator[str]:
    """Yield the settings of a part that have a value, except those that equal a default."""
    for key, value in params.items():
        name = key.removeprefix(f"{part}.")
        default = defaults.get(name, "null")
        known = (default if isinstance(default, str) else json.dumps(default, default=str), "null", "[]")
        # The seed of a run is not a setting of its learner.
        if name != key and value not in known and not (name in defaults and value == SEED_WORD):
            yield f"{name} = {_name_classes(value)}"


def _name_classes(value: str) -> str:
    """Return a value, with steps by the names of their classes.

    Examples
    --------
    >>> _name_classes('[{"_target_": "sklearn.impute.SimpleImputer", "strategy": "median"}]')
    'SimpleImputer (strategy = median)'
    """
    if TARGET_KEY not in value:
        return value
    steps = json.loads(value)
    names = [step.pop(TARGET_KEY).rpartition(".")[2] for step in steps]
    settings = [_in_brackets(f"{key} = {value}" for key, value in step.items()) for step in steps]
    return ", ".join(map("".join, zip(names, settings, strict=True)))


def _in_brackets(settings: Iterable[str]) -> str:
    text = ", ".join(settings)
    return f" ({text})" if text else ""


def _measure_advantages(comparison: Comparison, overall: OverallResult) -> dict[str, CorrectedTTest]:
    """Return the mean difference of the best configuration from each other one over datasets, with its interval.

    Errors and times have other units on each dataset, so their differences have no mean.
    """
    metric = comparison.metrics[0]
    if overall.too_few or metric.is_rope_relative:
        return {}
    results = [result for result in comparison.results[0].datasets if result.dataset in overall.datasets]
    means = [{each.configuration: each.mean for each in result.summaries} for result in results]
    best, *others = overall.mean_ranks
    sign = 1 if metric.greater_is_better else -1
    differences = {name: sign * np.array([own[best] - own[name] for own in means]) for name in others}  # (N,)
    confidence = 1 - comparison.settings.alpha
    return {name: compute_corrected_t_test(own, 0.0, confidence) for name, own in differences.items()}


def mark_use(group: str, name: str) -> str:
    """Return a mark for `write_prose`, which replaces it by the citation of an option, a test or a package."""
    return f"{OPENING}{group}/{name}{CLOSING}"


def write_prose(text: str) -> str:
    r"""Return a text with marks as LaTeX.

    Examples
    --------
    >>> write_prose(f"50 % of iris{mark_use('dataset', 'iris')} and mine{mark_use('dataset', 'mine')}")
    '50 \\% of iris~\\cite{fisher1936} and mine'
    """
    keys = {use: key for key, entry in _read_entries().items() for use in KEYWORDS.findall(entry)[0].split()}

    def cite(found: re.Match[str]) -> str:
        use = found.group(1).replace(r"\_", "_")
        return rf"~\cite{{{keys[use]}}}" if use in keys else ""

    return MARK.sub(cite, escape_latex(text))


def write_references(*texts: str) -> str:
    r"""Return the entries that the texts cite.

    Parameters
    ----------
    *texts : str
        Texts in LaTeX, such as the methods section, with ``\cite`` of the keys of ``references.bib``.
    """
    cited = {key for text in texts for keys in CITED.findall(text) for key in keys.split(",")}
    return "\n\n".join(KEYWORDS.sub("", entry) for key, entry in _read_entries().items() if key in cited) + "\n"


def _read_entries() -> dict[str, str]:
    """Return the entries by their keys."""
    entries = BIBLIOGRAPHY.read_text(encoding="utf-8").strip().split("\n\n")
    return {entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in entries}
