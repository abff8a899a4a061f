"""The documentation as a site: it builds without a warning and lists what there is."""

from __future__ import annotations

import html
import os
import posixpath
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_commands import ROOT, list_pages, read_page

from bakeoff.pipeline.config.options import GROUPS, read_options

BUILD_SECONDS = 300


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, which is built once."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    built = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


def read_reference(site: Path, name: str) -> str:
    """Return the text of a page of the reference, with one space between words."""
    page = (site / "reference" / f"{name}.html").read_text(encoding="utf-8")
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    return " ".join(text.split())


def list_options() -> Iterator[tuple[str, str, str]]:
    for group in GROUPS:
        for name, sentence in read_options(group).items():
            yield group, name, sentence


@pytest.mark.slow
@pytest.mark.extra("docs")
def test_every_option_is_in_the_reference_with_its_sentence(site: Path) -> None:
    pages = {group: read_reference(site, f"options/{group}") for group in GROUPS}
    absent = [
        (group, name)
        for group, name, sentence in list_options()
        if name not in pages[group] or " ".join(sentence.replace("`", "").split()) not in pages[group]
    ]
    assert absent == []


def slug(heading: str) -> str:
    """Return the anchor of a heading as GitHub makes it."""
    text = re.sub(r"`|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@pytest.mark.parametrize("page", list_pages())
def test_links_between_files_hold_where_the_repository_is_read(page: str) -> None:
    text = re.sub(r"^```.*?^```", "", read_page(page), flags=re.DOTALL | re.MULTILINE)
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = ROOT / posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else ROOT / page
        if not file.exists():
            broken.append(target)
        elif anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
            broken += [target] if anchor not in map(slug, headings) else []
    assert broken == []
