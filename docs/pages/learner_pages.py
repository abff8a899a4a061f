"""A page for each learner of bakeoff: its sentence, its keys, the values that tuning tries, and its docstring."""

from __future__ import annotations

from class_sections import format_class
from markdown_text import escape_text, format_code, format_table, join_parts
from option_pages import format_keys
from yaml_keys import read_keys

from bakeoff.learners import REGISTRY
from bakeoff.pipeline.config.options import CONF, read_options

TWIN_PREFIX = "sklearn_"


def make_learner_pages() -> dict[str, str]:
    """Return the pages: name of the learner -> Markdown."""
    sentences = read_options("learner")
    return {name: _make_page(name, sentences[name]) for name in sorted(REGISTRY)}


def _make_page(name: str, sentence: str) -> str:
    target = f"bakeoff.learners.{REGISTRY[name].__name__}"
    return join_parts(
        [
            f"# {name}",
            escape_text(sentence),
            f"Choose it with `learner={name}`, and set its keys with `learner.KEY=VALUE`.{_name_twin(name)}",
            "## Keys",
            format_keys(CONF / "learner" / f"{name}.yaml"),
            _format_space(name),
            format_class(target, level=2),
        ]
    )


def _name_twin(name: str) -> str:
    twin = f"{TWIN_PREFIX}{name}"
    if twin not in read_options("learner"):
        return ""
    return f" The same algorithm of scikit-learn is [`learner={twin}`](../options/learner.md#{twin})."


def _format_space(name: str) -> str:
    file = CONF / "space" / f"{name}.yaml"
    if not file.is_file():
        return ""
    rows = [(format_code(key.name), format_code(key.default)) for key in read_keys(file) if key.name != "simpler"]
    sentence = "`tuning=grid` and `search=grid` try these values; `space.KEY=[...]` gives others."
    return join_parts(["## Search space", sentence, format_table(["key", "values"], rows)]).strip()
