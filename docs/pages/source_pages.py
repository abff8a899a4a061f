"""Pages for the files of the repository that are not in ``docs/`` and that some page links to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from page_links import CODE_LANGUAGES, DOCS, PAGES, ROOT, get_page_path, iterate_linked_files, rewrite_links

NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n"


def make_source_pages() -> dict[str, str | bytes]:
    """Return the pages: path in the site -> Markdown, or the bytes of a file that is not text to read."""
    pages: dict[str, str | bytes] = {}
    for file in sorted(_find_linked_files()):
        pages[get_page_path(file)] = _make_page(file)
    return pages


def _find_linked_files() -> set[str]:
    """Return the files outside ``docs/`` that pages link to, directly or by other files."""
    in_docs = [f"{DOCS}/{path.name}" for path in (ROOT / DOCS).glob("*.md")]
    to_read = [*in_docs, *PAGES]
    found = set(PAGES)
    while to_read:
        file = to_read.pop()
        linked = set(_iterate_targets(file)) - found
        found |= linked
        to_read += linked
    return found


def _iterate_targets(file: str) -> Iterator[str]:
    """Yield what a file links to outside ``docs/``; a folder links to its modules."""
    path = ROOT / file
    if path.is_dir():
        yield from (f"{file}/{module.name}" for module in _list_modules(path))
    elif path.suffix == ".md":
        linked = iterate_linked_files(path.read_text(encoding="utf-8"), file)
        # A link that leads nowhere stays as it is, and the build says so.
        yield from (target for target in linked if not target.startswith(DOCS) and (ROOT / target).exists())


def _make_page(file: str) -> str | bytes:
    path = ROOT / file
    if path.is_dir():
        return _make_folder_page(file)
    if path.suffix == ".md":
        return rewrite_links(path.read_text(encoding="utf-8"), file)
    if path.suffix in CODE_LANGUAGES:
        return _make_code_page(file)
    return path.read_bytes()


def _make_folder_page(folder: str) -> str:
    modules = _list_modules(ROOT / folder)
    rows = [f"| [{module.name}]({module.name}.md) | {_read_sentence(module)} |" for module in modules]
    return "\n".join([f"{NOT_SEARCHED}# {folder}", "", "| module | |", "| --- | --- |", *rows, ""])


def _make_code_page(file: str) -> str:
    path = ROOT / file
    language = CODE_LANGUAGES[path.suffix]
    code = path.read_text(encoding="utf-8").rstrip()
    return f"{NOT_SEARCHED}# {path.name}\n\n`{file}` of the repository.\n\n````{language}\n{code}\n````\n"


def _list_modules(folder: Path) -> list[Path]:
    return sorted(module for module in folder.glob("*.py") if not module.name.startswith("_"))


def _read_sentence(module: Path) -> str:
    """Return the first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")
