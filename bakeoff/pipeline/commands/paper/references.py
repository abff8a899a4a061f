"""The references of a paper, in BibTeX: an entry of ``references.bib`` names in ``keywords`` what it is cited for."""

import re
from pathlib import Path

from bakeoff.pipeline.tables.markup import escape_latex

BIBLIOGRAPHY = Path(__file__).parent / "references.bib"
KEYWORDS = re.compile(r"\n  keywords = \{(.*)\},")
CITED = re.compile(r"\\cite\{(.*?)\}")
OPENING, CLOSING = "⟦", "⟧"
MARK = re.compile(f"{OPENING}(.*?){CLOSING}")


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
