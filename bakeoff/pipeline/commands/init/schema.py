"""``bakeoff schema``: a JSON Schema, with which editors check YAML files."""

from __future__ import annotations

import json

from bakeoff.pipeline.commands.init.request import SchemaRequest


def write_schema(request: SchemaRequest) -> int:
    """Print a JSON Schema of YAML files, with which editors complete and check their options, keys and values.

    Raises
    ------
    UserError
        The file cannot be written.
    """
    from bakeoff.pipeline.commands.init.json_schema import make_schema
    from bakeoff.pipeline.tables.output_file import SCHEMA, require_output, write_whole

    output = None if request.output is None else require_output(request.output, SCHEMA)
    text = json.dumps(make_schema(), indent=1, ensure_ascii=False) + "\n"
    if output is None:
        print(text, end="")
    else:
        write_whole(output, text)
    return 0
