"""``bakeoff list``: options with the first comment of their file, their keys, metrics, figures, runs and models."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from bakeoff.pipeline import commands
from bakeoff.pipeline.config.options import (
    GROUPS,
    LISTED,
    METRIC_LIST,
    find_option_files,
    list_own_names,
    read_listing,
    read_options,
)
from bakeoff.pipeline.config.requests import ExperimentRequest, Word, read_request
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring.names import LOWER_IS_BETTER, SENTENCES
from bakeoff.pipeline.tables.document import Answer
from bakeoff.pipeline.tables.output_file import CSV, TERMINAL, write_csv
from bakeoff.pipeline.tables.table import align_lines, make_table
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import format_score

if TYPE_CHECKING:
    from bakeoff.pipeline.tracking.names import RegisteredVersion
    from bakeoff.pipeline.tracking.stored_runs import StoredRun


RUNS = "runs"
STORED: Mapping[str, Sequence[str]] = {
    RUNS: ("run", "name", "status", "started", "metric", "score", "sweep"),
    "models": ("model", "version", "alias", "rows", "metric", "score", "run", "name"),
}
"""The content of a store, which is not listed by default, and its columns."""
CHECKS = "checks"
UNLISTED = (*STORED, CHECKS)
"""What is listed by its name alone."""
OWN_MARK = "(own)"
LINE_LETTERS = 110
INDENT = "  "


@dataclass(frozen=True, kw_only=True)
class ListRequest(ExperimentRequest):
    """The items to list.

    Attributes
    ----------
    groups : tuple of str
        Groups of options, such as learner, figures or metrics, each with the options whose keys to show; runs or models
        of a store; by default all groups of options.
    to : str
        The format of runs and models.
    """

    groups: Annotated[tuple[str, ...], Word(place="GROUP")] = ()
    to: Annotated[str, Word(allowed=(TERMINAL, CSV))] = TERMINAL

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.to == CSV and not {*STORED}.issuperset(self.sections):
            raise UserError("to=csv is a format of runs and models; leave to= out.")

    @property
    def sections(self) -> dict[str, list[str]]:
        """The groups to list, each with the options whose keys to show."""
        sections: dict[str, list[str]] = {}
        for name in self.groups or LISTED:
            if name in (*LISTED, *UNLISTED):
                group = name
                sections[group] = []
            elif sections and group in GROUPS:
                sections[group].append(name)
            else:
                suggestion = did_you_mean(name, (*LISTED, *UNLISTED))
                raise UserError(f"list {name}: there is no group of this name. {suggestion}")
        return sections


def list_items(words: Sequence[str]) -> Answer:
    """Print options with a sentence each, the keys of an option, or the runs or models of a store.

    Raises
    ------
    UserError
        The group or option does not exist, or a user-defined option has a name that is not allowed.
    """
    split = [word.split("=") if word.split("=")[0] in GROUPS else [word] for word in words]
    request = read_request("list", ListRequest, [name for names in split for name in names])
    lists: dict[str, Any] = {}
    for group, options in request.sections.items():
        if group in STORED:
            lists[group] = _list_stored(group, request)
        elif group == CHECKS:
            lists[group] = {code: page.partition("\n")[0] for code, page in commands.read_pages().items()}
            rows = [[code, title] for code, title in lists[group].items()]
            print("\n".join(align_lines(make_table(group, ["", ""], rows))))
        elif options:
            lists[group] = {option: "\n".join(_iterate_keys(group, option)) for option in options}
            print("\n".join(lists[group].values()))
        else:
            metrics = SENTENCES.values() if group == METRIC_LIST else ()
            lists[group] = {name: each[name] for each in (*metrics, *read_listing(group)) for name in each}
            print("\n".join(_iterate_group(group, is_only=bool(request.groups))))
    return Answer("list", lambda: {"lists": lists})


def _iterate_keys(group: str, option: str) -> Iterator[str]:
    """Yield the lines of an option's file, and of the files whose keys it includes."""
    files = find_option_files(group, option)
    if not files:
        known = [*read_options(group), *list_own_names(group)]
        raise UserError(f"{group}={option} is not an option. {did_you_mean(option, known)}")
    yield f"{group}={option}"
    for file in files:
        yield textwrap.indent(file.read_text(encoding="utf-8", errors="replace").rstrip(), INDENT)


def _iterate_group(group: str, *, is_only: bool) -> Iterator[str]:
    options, own = read_listing(group)
    if group == METRIC_LIST:
        yield from _iterate_metrics(has_scorers=is_only)
    else:
        yield f"{group}="
    rows = [[f"{INDENT}{name}", sentence] for name, sentence in options.items()]
    rows += [[f"{INDENT}{name}", f"{OWN_MARK} {sentence}"] for name, sentence in own.items()]
    yield from align_lines(make_table("", ["", ""], rows))


def _iterate_metrics(*, has_scorers: bool) -> Iterator[str]:
    """Yield the lines of the list: bakeoff's metrics for each task with a sentence, and the names of scikit-learn's."""
    yield "evaluation.metrics=[...]"
    for task, sentences in SENTENCES.items():
        yield f"{INDENT}of {task}:"
        rows = [[f"{INDENT * 2}{name}", describe_metric(name, sentence)] for name, sentence in sentences.items()]
        yield from align_lines(make_table(task, ["", ""], rows))
        if has_scorers:
            # scikit-learn takes a second to load, and other lists do not need it.
            from bakeoff.pipeline.stages.scoring.scorers import list_scorer_names

            others = [name for name in list_scorer_names(task) if name not in sentences]
            yield f"{INDENT}and scikit-learn's scorers, of which neg_NAME is minus NAME:"
            yield textwrap.indent(textwrap.fill(", ".join(others), LINE_LETTERS), INDENT * 2)
    if not has_scorers:
        yield f"{INDENT}and scikit-learn's scorers: `bakeoff list {METRIC_LIST}` shows them"
    yield f"{INDENT}and user-defined ones, by dotted names: docs/evaluation.md"


def describe_metric(name: str, sentence: str) -> str:
    """Return the sentence of a metric, and whether lower is better."""
    return f"{sentence} Lower is better." if name in LOWER_IS_BETTER else sentence


def _list_stored(group: str, request: ListRequest) -> list[Mapping[str, Any]]:
    """Print the runs of an experiment, or each version of the registered models, the newest first, and return them."""
    from bakeoff.pipeline.tracking.names import list_headlines, list_versions
    from bakeoff.pipeline.tracking.store import open_store
    from bakeoff.pipeline.tracking.stored_runs import search_runs

    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    if group == RUNS:
        found = search_runs(store, keys=("evaluation.metrics", "sweep"), metrics=list_headlines(store))
        rows = list(map(_describe_run, found))
        cure = "run an experiment first"
    else:
        versions = sorted(list_versions(store), key=lambda each: (each.name, -each.version))
        rows = [_describe_version(version) for version in versions]
        cure = "`bakeoff ship RUN as=NAME@ALIAS` registers one"
    columns = STORED[group]
    if request.to == CSV:
        import pandas as pd

        write_csv(pd.DataFrame(rows, columns=list(columns)), sys.stdout)
    elif rows:
        print("\n".join(align_lines(make_table(group, columns, [[*map(_write_cell, row)] for row in rows]))))
    else:
        print(f"no {group} in experiment {request.tracking__experiment} of {hide_secrets(store.uri)}; {cure}")
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _write_cell(value: str | float | None) -> str:
    return format_score(value) if isinstance(value, float) else str(value or "")


def _describe_run(run: StoredRun) -> tuple[Any, ...]:
    """Return the cells of a run; those not recorded by another program are None."""
    from bakeoff.pipeline.tracking.names import find_headline

    headline = find_headline(run.params, run.metrics)
    started = datetime.fromtimestamp(run.started / 1000).isoformat(" ", "seconds")
    score = None if headline is None else run.metrics[headline]
    return (run.run_id, run.name, run.status, started, headline, score, run.tags.get("sweep"))


def _describe_version(version: RegisteredVersion) -> tuple[Any, ...]:
    """Return the cells of a version; those not recorded by another program are None."""
    tags = version.tags
    headline = tags.get("headline", "")
    score = float(tags[headline]) if headline in tags else None
    of_run = (headline or None, score, version.run_id, tags.get("run_name"))
    return (version.name, version.version, ", ".join(version.aliases), tags.get("rows"), *of_run)
