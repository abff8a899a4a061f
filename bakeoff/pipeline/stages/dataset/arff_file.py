"""ARFF files, the format of WEKA and OpenML: declared columns, then rows of cells between commas.

They are parsed by liac-arff, which does not support dates, truncates 1.5 to 1 in columns declared as integer, and keeps
backslashes in names. Columns are therefore declared to it as text under other names, except for nominal ones, whose
cells it checks; numbers and dates are recognised as in any text.
"""

import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from bakeoff.pipeline.errors import require_package
from bakeoff.pipeline.stages.dataset import content, keys, source

QUOTED = r"""'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*\""""
VALUE = rf"""(?: {QUOTED} | [^\s,{{}}'"]++ | )"""
DECLARATION = re.compile(
    rf"""@attribute \s+
    ({QUOTED} | [^\s{{'"]++) \s*                          # the name
    (\{{ \s*+ {VALUE} (?: \s*+,\s*+ {VALUE} )*+ \s*+ \}}  # the values,
    | date \b [^%]* | [a-z]+)                           # or the name of the type, and the format of a date
    \s* (?: %.* )?                                      # a comment""",
    re.IGNORECASE | re.VERBOSE,
)
"""liac-arff takes exponential time on values without a closing brace, so they are never passed to it."""
NOMINAL = "nominal"
TYPES = ("numeric", "real", "integer", "string", "date", NOMINAL)
"""A nominal column is declared by its values in braces."""


class Attribute(NamedTuple):
    """A declared column and its type, one of `TYPES`."""

    name: str
    type: str


def read_arff(file: Path, layout: keys.FileLayout) -> source.Source:
    """Read an ARFF file; ``?`` without quotation marks is missing, and undeclared nominal values are refused."""
    require_package("arff", f"dataset.path={str(file)!r}, an ARFF file,")
    import arff

    attributes: list[Attribute] = []
    try:
        table = arff.load(_rewrite_declarations(content.read_characters(file, layout), attributes))
    except arff.ArffException as error:
        raise ValueError(str(error)) from error
    names = [attribute.name for attribute in attributes]
    source.require_different_names(names, f"{file.name} declares")
    declared = {
        attribute.name: tuple(value for value in values if value is not None)
        for attribute, (_, values) in zip(attributes, table["attributes"], strict=True)
        if attribute.type == NOMINAL
    }
    return source.Source(pd.DataFrame(table["data"], columns=names, dtype=source.TEXT_TYPE), declared=declared)


def _rewrite_declarations(text: str, attributes: list[Attribute]) -> Iterator[str]:
    """Yield the lines of a file with declarations that liac-arff supports, and collect the original declarations."""
    is_data = False
    for number, line in enumerate(StringIO(text, newline=None), start=1):
        words = line.strip().lower()
        is_data = is_data or words.startswith("@data")
        if is_data or not words.startswith("@attribute"):
            yield line
            continue
        found = DECLARATION.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"line {number} declares no column: {line.strip()!r}")
        name, declared = found.groups()
        is_nominal = declared.startswith("{")
        kind = NOMINAL if is_nominal else declared.split()[0].lower()
        if kind not in TYPES:
            raise ValueError(f"line {number} declares {name} as {declared!r}; allowed are {', '.join(TYPES)}")
        attributes.append(Attribute(_unquote(name), kind))
        yield f"@attribute c{len(attributes)} {declared if is_nominal else 'string'}"


def _unquote(name: str) -> str:
    """Return the name of a column without quotation marks."""
    if name[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", name[1:-1])
    return name
