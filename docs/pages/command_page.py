"""The page on the command line: the help text, and a section for each verb."""

from __future__ import annotations

from markdown_text import format_block, join_parts

from bakeoff.pipeline.cli.main import VERBS, format_help, format_overview


def make_command_page() -> str:
    """Return the page as Markdown."""
    return join_parts(
        [
            "# Command line",
            "`bakeoff` is the same as `python -m bakeoff`. Words of the form `KEY=VALUE` describe an experiment; if "
            "the first word is one of the verbs below, the others belong to it.",
            format_block(format_overview(), "text"),
            "Exit codes: 0, all jobs are done; 1, a job failed; 2, the command was refused before anything ran.",
            *map(_format_verb, VERBS),
        ]
    )


def _format_verb(verb: str) -> str:
    """Return the section of a verb: its help."""
    return join_parts([f"## {verb}", format_block(format_help(verb), "text")])
