"""What MkDocs calls while it builds the site: generated pages, their place in the navigation, and links."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from page_links import DOCS, rewrite_links
from reference_pages import make_reference_navigation, make_reference_pages
from source_pages import make_source_pages

GENERATED = "GENERATED"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation."""
    contents: Mapping[str, Any] = {"Reference": make_reference_navigation()}
    config.nav = [
        {title: contents[title] if value == GENERATED else value}
        for item in config.nav or []
        for title, value in item.items()
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, content in {**make_source_pages(), **make_reference_pages()}.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let links lead to pages of the site. Those of generated pages do already."""
    if page.parent is None:
        # The tabs show all of its navigation.
        page.meta["hide"] = ["navigation"]
    if page.file.generated_by is not None:
        return markdown
    return rewrite_links(markdown, posixpath.join(DOCS, page.file.src_uri))
