"""JSON documents of commands, read as a strict parser does, and held by their schemas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
FORMAT = "bakeoff."


def read_schema(kind: str) -> dict[str, Any]:
    """Return the schema of a kind of document."""
    return dict(json.loads((SCHEMAS / f"{kind}.json").read_text(encoding="utf-8")))


def read_document(text: str, kind: str) -> dict[str, Any]:
    """Return the document of standard output, which is ASCII, has no NaN and no key twice, and fits its schema."""
    assert text.isascii()
    assert text.endswith("}\n")
    document: dict[str, Any] = json.loads(text, object_pairs_hook=_require_unique, parse_constant=_reject)
    assert document["format"] == f"{FORMAT}{kind}", text
    Draft202012Validator(read_schema(kind)).validate(document)
    return document


def _require_unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    assert len(set(keys)) == len(keys), keys
    return dict(pairs)


def _reject(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")
