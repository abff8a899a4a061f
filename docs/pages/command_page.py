"""The page on the command line: the help text, and a section for each verb."""

from __future__ import annotations

import ast
from pathlib import Path

import yaml
from markdown_text import format_block, join_parts

import bakeoff
from bakeoff.pipeline.cli.verbs import VERBS, format_help
from bakeoff.pipeline.config.options import CONF

CLI = Path(bakeoff.__file__).parent / "pipeline" / "cli"


def make_command_page() -> str:
    """Return the page as Markdown."""
    return join_parts(
        [
            "# Command line",
            "`bakeoff` is the same as `python -m bakeoff`. Words of the form `KEY=VALUE` describe an experiment; if "
            "the first word is one of the verbs below, the others belong to it.",
            format_block(_read_help(), "text"),
            "Exit codes: 0, all jobs are done; 1, a job failed; 2, the command was refused before anything ran.",
            *map(_format_verb, VERBS),
        ]
    )


def _read_help() -> str:
    outputs = yaml.safe_load((CONF / "hydra" / "outputs.yaml").read_text(encoding="utf-8"))
    header: str = outputs["help"]["header"]
    return header.strip()


def _format_verb(verb: str) -> str:
    """Return the section of a verb: what its module is for, and its help."""
    module = ast.parse((CLI / f"{verb}.py").read_text(encoding="utf-8"))
    sentence = ast.get_docstring(module) or ""
    return join_parts([f"## {verb}", sentence.replace("``", "`"), format_block(format_help(verb), "text")])
