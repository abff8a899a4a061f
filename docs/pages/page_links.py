"""Links of the repository's Markdown files, turned into links between pages of the site.

Files link to each other by their paths in the repository, so that the links work where the repository is read. The site
has a page for each file that a page links to: `get_page_path` says which.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = "docs"
SOURCE = "source"
"""The folder of the site for files that are not in ``docs/``."""
INDEX = "index.md"
PAGES: Mapping[str, str] = {
    "README.md": INDEX,
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Files at the top of the repository -> their pages."""
CODE_LANGUAGES: Mapping[str, str] = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".java": "java"}

_FENCE = re.compile(r"^( *)(```+|~~~+)", flags=re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_SCHEME = re.compile(r"[a-z]+:")


def get_page_path(file: str) -> str:
    """Return the path in the site of a file or folder of the repository.

    Parameters
    ----------
    file : str
        A path relative to the top of the repository, with slashes.
    """
    if file in PAGES:
        return PAGES[file]
    if file.startswith(f"{DOCS}/"):
        return file.removeprefix(f"{DOCS}/")
    if (ROOT / file).is_dir():
        return f"{SOURCE}/{file}/{INDEX}"
    if Path(file).suffix in CODE_LANGUAGES:
        return f"{SOURCE}/{file}.md"
    return f"{SOURCE}/{file}"


def iterate_linked_files(text: str, file: str) -> Iterator[str]:
    """Yield the files and folders of the repository that a Markdown file links to.

    Parameters
    ----------
    text : str
        The Markdown.
    file : str
        Its path, relative to the top of the repository.
    """
    for part in _iterate_prose(text):
        for target in _LINK.findall(part):
            if _is_path(target):
                yield _resolve(target, file)


def rewrite_links(text: str, file: str) -> str:
    """Return Markdown whose links lead to pages of the site.

    Parameters
    ----------
    text : str
        The Markdown.
    file : str
        Its path, relative to the top of the repository.
    """
    folder = posixpath.dirname(get_page_path(file))

    def rewrite(match: re.Match[str]) -> str:
        target = match.group()
        if not _is_path(target):
            return target
        _, mark, anchor = target.partition("#")
        page = get_page_path(_resolve(target, file))
        return posixpath.relpath(page, folder or ".") + mark + anchor

    return "".join(part if is_code else _LINK.sub(rewrite, part) for part, is_code in _iterate_parts(text))


def _is_path(target: str) -> bool:
    return not target.startswith("#") and _SCHEME.match(target) is None


def _resolve(target: str, file: str) -> str:
    path = target.partition("#")[0]
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), path))


def _iterate_prose(text: str) -> Iterator[str]:
    return (part for part, is_code in _iterate_parts(text) if not is_code)


def _iterate_parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a page with whether each is a block of code."""
    start = 0
    fence = ""
    for match in _FENCE.finditer(text):
        mark = match.group(2)
        if not fence:
            yield text[start : match.start()], False
            start = match.start()
            fence = mark
        elif mark.startswith(fence):
            yield text[start : match.end()], True
            start = match.end()
            fence = ""
    yield text[start:], bool(fence)
