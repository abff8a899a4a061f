"""A page for each group of ``conf/``: its options, their sentences, and their keys with defaults and comments.

`bakeoff list` reads the same files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from class_sections import format_classes
from markdown_text import escape_text, format_block, format_code, format_table, join_parts
from parameter_docs import read_descriptions
from yaml_keys import Key, list_targets, read_body, read_keys

from bakeoff.learners import REGISTRY
from bakeoff.pipeline.config.options import CONF, GROUPS, read_options

GROUP_SENTENCES: Mapping[str, str] = {
    "dataset": "The rows of an experiment: bundled tables, generated points, and data of your own.",
    "preprocessing": "What is done to the columns before the learner gets them. It is fitted on training rows only.",
    "learner": "What is fitted: the learners of bakeoff, and those of scikit-learn.",
    "space": "The values of a learner's parameters that `tuning` and `search` try.",
    "tuning": "How the parameters of a learner are chosen within a run, on rows that are not tested.",
    "pruning": "How a decision tree is pruned after it is grown, on validation rows.",
    "balance": "What is done to training rows if the classes have different sizes.",
    "target": "How the target of a regression is transformed for the fit; scores are in its own unit.",
    "calibration": "How decision values or probabilities become calibrated probabilities.",
    "threshold": "From which probability on the positive one of two classes is predicted.",
    "evaluation": "Which rows are fitted, used for choices, and tested, and which metrics are computed.",
    "audit": "What is checked about leaks between the parts of the data.",
    "tracking": "Where runs are stored.",
    "search": "Which jobs a sweep has.",
    "experiment": "Named combinations of all other options: the figures and tables of the lectures.",
}
SHARED_FILES: Mapping[str, Mapping[str, str]] = {
    "dataset": {"columns": "Keys of files, queries, OpenML and scikit-learn"},
    "preprocessing": {"steps": "Keys of all options that have steps"},
}
"""Group -> files of ``shared/`` in it -> the heading of their keys."""
EXTENSIONS: Mapping[str, tuple[str, str]] = {
    "hydra/sweeper": ("hydra_sweeper", "Studies: Optuna chooses each job by the scores of the earlier ones."),
    "hydra/sweeper/sampler": ("hydra_sampler", "How a study chooses values."),
    "hydra/sweeper/pruner": ("hydra_pruner", "Which runs a study stops early."),
    "hydra/launcher": ("hydra_launcher", "Where the jobs of a sweep run, other than in processes of this machine."),
}
"""Folders of ``conf/hydra`` -> the name of their page, and a sentence."""
SEED = "${seed}"
HIDDEN_KEYS = ("_target_", "method")
"""Keys that make an option what it is, and that nobody sets."""
OWN_PAGES = frozenset(REGISTRY)
"""Learners that have a page of their own."""


def make_option_pages() -> dict[str, str]:
    """Return the pages: name -> Markdown."""
    pages = {group: _make_group_page(group, group, GROUP_SENTENCES.get(group, "")) for group in GROUPS}
    for folder, (name, sentence) in EXTENSIONS.items():
        pages[name] = _make_group_page(folder, folder, sentence)
    return pages


def format_keys(file: Path) -> str:
    """Return the keys of a file as tables, or its YAML if values extend over several lines.

    Parameters
    ----------
    file : Path
    """
    keys = read_keys(file)
    if not all(key.is_plain for key in keys):
        return format_block(read_body(file), "yaml")
    shown = [key for key in keys if key.name not in HIDDEN_KEYS and not _is_own_name(key, file)]
    descriptions = {**_read_siblings(file), **read_descriptions(list_targets(file))}
    return join_parts(_iterate_tables(shown, descriptions)).strip()


def _make_group_page(group: str, title: str, sentence: str) -> str:
    options = read_options(group)
    rows = [(_link_option(group, name), escape_text(text)) for name, text in options.items()]
    sections = [_format_option(group, name, text) for name, text in options.items() if _is_described(group, name)]
    files = [CONF / group / f"{name}.yaml" for name in options if _is_described(group, name)]
    return join_parts(
        [
            f"# {title}",
            sentence,
            _say_how_to_choose(group),
            format_table(["option", "description"], rows),
            *sections,
            *_iterate_shared(group),
            format_classes(files, "Classes"),
        ]
    )


def _say_how_to_choose(group: str) -> str:
    sentence = f"Choose one with `{group}=NAME`."
    return f"{sentence} `bakeoff list {group}` prints this list." if group in GROUPS else sentence


def _is_described(group: str, name: str) -> bool:
    return group != "learner" or name not in OWN_PAGES


def _link_option(group: str, name: str) -> str:
    if _is_described(group, name):
        return f"[`{name}`](#{name})"
    return f"[`{name}`](../learners/{name}.md)"


def _format_option(group: str, name: str, sentence: str) -> str:
    file = CONF / group / f"{name}.yaml"
    return join_parts([f"## {name}", escape_text(sentence), format_keys(file), _name_others(file)]).strip()


def _name_others(file: Path) -> str:
    """Return the sentence on what else a file composes."""
    text = file.read_text(encoding="utf-8")
    shared = [name for name in SHARED_FILES.get(file.parent.name, {}) if f"shared/{name}@_here_" in text]
    links = [f"[{SHARED_FILES[file.parent.name][name].lower()}](#shared-{name})" for name in shared]
    return f"Besides these, it has the {' and the '.join(links)}." if links else ""


def _iterate_shared(group: str) -> Iterator[str]:
    for name, title in SHARED_FILES.get(group, {}).items():
        yield f"## {title} {{#shared-{name}}}"
        yield format_keys(CONF / group / "shared" / f"{name}.yaml")


def _iterate_tables(keys: Iterable[Key], descriptions: Mapping[str, str]) -> Iterator[str]:
    """Yield a table for each part of a file, after the comment that introduces the part."""
    parts: list[list[Key]] = []
    for key in keys:
        if key.introduction or not parts:
            parts.append([])
        parts[-1].append(key)
    for part in parts:
        yield escape_text(part[0].introduction)
        yield _format_table(part, descriptions)


def _format_table(keys: Sequence[Key], descriptions: Mapping[str, str]) -> str:
    """Return the table of some keys; those without a comment have the description of the parameter."""
    meanings = [_explain_key(key, descriptions) for key in keys]
    rows = [[format_code(key.name), format_code(key.default)] for key in keys]
    if not any(meanings):
        return format_table(["key", "value"], rows)
    described = [[*row, escape_text(meaning)] for row, meaning in zip(rows, meanings, strict=True)]
    return format_table(["key", "default", "meaning"], described)


def _is_own_name(key: Key, file: Path) -> bool:
    return key.name == "name" and key.default == file.stem


def _explain_key(key: Key, descriptions: Mapping[str, str]) -> str:
    if not key.comment and key.default == SEED:
        return "the top-level key `seed`"
    return key.comment or descriptions.get(key.name, "")


def _read_siblings(file: Path) -> dict[str, str]:
    """Return what other options of the group say of their keys; those of learners mean different things."""
    if file.parent.name == "learner":
        return {}
    siblings = (key for sibling in sorted(file.parent.glob("*.yaml")) for key in read_keys(sibling))
    return {key.name: key.comment for key in siblings if key.comment}
