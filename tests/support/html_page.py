"""HTML pages, read by a parser that checks them, or by a browser without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

BROWSER = shutil.which("chromium")
OFFLINE = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--virtual-time-budget=5000",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
)  # fmt: skip
VOID = {"meta", "br", "wbr", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """The tables, texts and attributes of a page, and whether its elements are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: list[list[list[str]]] = []
        self.texts: list[str] = []
        self.elements: Counter[str] = Counter()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data

    @property
    def text(self) -> str:
        """All texts, without line breaks."""
        return re.sub(r"\s+", " ", "".join(self.texts))

    def get(self, name: str) -> list[str]:
        """Return the values of an attribute."""
        return [value for _, attribute, value in self.attributes if attribute == name]


def read_in_browser(html: str, folder: Path) -> tuple[str, str]:
    """Return the document as a browser without a network has rendered it, and what the browser logged."""
    assert BROWSER is not None
    file = folder / "page.html"
    file.write_text(html, encoding="utf-8")
    command = [BROWSER, *OFFLINE, f"--user-data-dir={folder / 'profile'}", "--dump-dom", file.as_uri()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return ended.stdout, ended.stderr
