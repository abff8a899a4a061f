"""The reference: pages that are generated from ``conf/``, from the docstrings and from the command line."""

from __future__ import annotations

from typing import Any

from command_page import make_command_page
from figures_page import make_figures_page
from learner_pages import make_learner_pages
from markdown_text import format_table, join_parts
from metrics_page import make_metrics_page
from option_pages import EXTENSIONS, GROUP_SENTENCES, format_keys, make_option_pages
from python_page import has_python_interface, make_python_page

from bakeoff.pipeline.config.options import CONF, GROUPS

FOLDER = "reference"
INDEX = f"{FOLDER}/index.md"
COMMAND = f"{FOLDER}/command.md"
CONFIGURATION = f"{FOLDER}/configuration.md"
PYTHON = f"{FOLDER}/python.md"
LISTED_TITLES = ("figures", "metrics")


def make_reference_pages() -> dict[str, str]:
    """Return the pages: path in the site -> Markdown."""
    pages = {INDEX: _make_index(), COMMAND: make_command_page(), CONFIGURATION: _make_configuration()}
    options = {**make_option_pages(), "figures": make_figures_page(), "metrics": make_metrics_page()}
    pages.update({_name_option_page(name): text for name, text in options.items()})
    pages.update({_name_learner_page(name): text for name, text in make_learner_pages().items()})
    if has_python_interface():
        pages[PYTHON] = make_python_page()
    return pages


def make_reference_navigation() -> list[Any]:
    """Return the part of the navigation that the pages are in."""
    options = [*GROUPS, *LISTED_TITLES]
    extensions = [{folder: _name_option_page(name)} for folder, (name, _) in EXTENSIONS.items()]
    python = [{"Python": PYTHON}] if has_python_interface() else []
    return [
        INDEX,
        {"Command line": COMMAND},
        {"Top-level keys": CONFIGURATION},
        {"Options": [*({name: _name_option_page(name)} for name in options), *extensions]},
        {"Learners": [{name: _name_learner_page(name)} for name in make_learner_pages()]},
        *python,
    ]


def _name_option_page(name: str) -> str:
    return f"{FOLDER}/options/{name}.md"


def _name_learner_page(name: str) -> str:
    return f"{FOLDER}/learners/{name}.md"


def _make_index() -> str:
    rows = [(f"[`{group}`](options/{group}.md)", GROUP_SENTENCES.get(group, "")) for group in GROUPS]
    rows += [
        ("[`figures`](options/figures.md)", "The pictures that a run stores."),
        ("[`metrics`](options/metrics.md)", "The names that `evaluation.metrics` may hold."),
    ]
    return join_parts(
        [
            "# Reference",
            "These pages are generated from the YAML files in `conf/` and from the docstrings, so that they list what "
            "this version has. `bakeoff list` prints the same options in the terminal.",
            "A configuration takes one option of each group, with `group=option`. The keys of an option are set with "
            "`group.key=value`.",
            format_table(["group", "what it decides"], rows),
            "[Command line](command.md) lists the verbs, and [Top-level keys](configuration.md) the keys that belong "
            "to no group.",
        ]
    )


def _make_configuration() -> str:
    return join_parts(
        [
            "# Top-level keys",
            "Keys that belong to no group, with their defaults. Set them with `KEY=VALUE`: `bakeoff seed=1`.",
            format_keys(CONF / "config.yaml"),
        ]
    )
