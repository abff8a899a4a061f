"""The commands of the documentation, as its Markdown files show them.

In a block ``console``, a line after a dollar sign is a command, and the others are what it prints. In a block ``sh``,
every line is a command, and a backslash continues it. A block that no test can run as it stands has a comment above it,
which readers do not see::

    <!-- not run: cluster -->

The word after the colon is one of `REASONS`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
REASONS: Mapping[str, str] = {
    "installation": "it changes the environment or the machine",
    "cluster": "it needs Ray or Slurm on several machines; test_ray.py and test_slurm.py start both on one",
    "database": "it needs a database of the reader; test_server.py and test_optuna.py start PostgreSQL",
    "network": "it downloads; test_formats.py and test_study_example.py run it on files of the same form",
    "hours": "it takes hours; test_study_example.py runs it on small files",
    "deletes": "it deletes runs; test_removal.py does so on copies of a store",
    "serves": "it answers until Ctrl-C; tests of the verb start it and end it",
    "suite": "it runs the tests",
    "class": "it needs the answers of a class, or minutes; test_grade_command.py and test_course.py have few students",
}
"""Why no test runs a block as it stands -> the whole sentence."""

_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^>]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_CONTINUED = re.compile(r"\\\n\s*")


@dataclass(frozen=True)
class Command:
    """A command of a page.

    Attributes
    ----------
    page : str
        The path of the file in the repository.
    line : int
        The number of the line on which its block begins.
    text : str
        The command.
    reason : str
        Why it is not run, a key of `REASONS`; empty if it is.
    """

    page: str
    line: int
    text: str
    reason: str

    @property
    def words(self) -> list[str]:
        """The words that a shell makes of it."""
        return shlex.split(self.text, comments=True)

    def __str__(self) -> str:
        """Return where it is."""
        return f"{self.page}:{self.line}: {self.text}"


def list_pages() -> list[str]:
    """Return the Markdown files that are pages of the site, and may show commands."""
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*/README.md")]
    return sorted(str(file.relative_to(ROOT)) for file in files)


def read_page(page: str) -> str:
    """Return the Markdown of a page."""
    return (ROOT / page).read_text(encoding="utf-8")


def list_commands(page: str) -> list[Command]:
    """Return the commands of a page in their order.

    Parameters
    ----------
    page : str
        The path of the file in the repository.
    """
    return list(_iterate_commands(page))


def write_shown_files(page: str, folder: Path) -> None:
    """Write the files that a page shows, whose first lines are comments with their paths.

    Parameters
    ----------
    page : str
        The path of the file in the repository.
    folder : Path
        Where the files are written.
    """
    for match in _BLOCK.finditer(read_page(page)):
        path = re.match(r"# ([\w/.-]+\.(?:py|yaml))\n", match["text"])
        if path is None:
            continue
        file = folder / path.group(1)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(match["text"], encoding="utf-8")
        if file.suffix == ".py":
            (file.parent / "__init__.py").touch()


def _iterate_commands(page: str) -> Iterator[Command]:
    text = read_page(page)
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("text"))
        for command in _read_lines(match["language"], match["text"]):
            yield Command(page, line, command, match["reason"] or "")


def _read_lines(language: str, text: str) -> list[str]:
    joined = _CONTINUED.sub(" ", text)
    if language == "console":
        return [line[2:] for line in joined.splitlines() if line.startswith("$ ")]
    if language == "sh":
        return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]
    return []
