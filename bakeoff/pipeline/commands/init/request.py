"""The options for writing a JSON Schema."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class SchemaRequest:
    """A JSON Schema.

    Attributes
    ----------
    output : Path or None
        The file to write; by default the schema is printed.
    """

    output: Path | None = None
