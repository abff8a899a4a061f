"""Times of day in text, such as ``07:30``, ``7:05 PM`` or ``23:59:59.5``, which are read as hours.

They are treated as numbers with the unit `CLOCK`, so that they are recognised, confirmed and stored as units are.
Sources with types are no exception: their times are spelled ``07:30:00``.
"""

import re

import pyarrow as pa

CLOCK = "clock"
TIME = r"^([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?\s*(?:([AaPp])\.?[Mm]\.?)?$"
HALF_DAY = 12


def spell_hours(text: pa.Array) -> pa.Array:
    """Return text in which times are numbers of hours since midnight; other cells are unchanged."""
    encoded = text.dictionary_encode()
    spelled = pa.array(map(_spell_hour, encoded.dictionary.to_pylist()), text.type)
    return spelled.take(encoded.indices)


def _spell_hour(cell: str) -> str:
    found = re.match(TIME, cell.strip())
    if found is None:
        return cell
    hour, minute, second, half = found.groups()
    hours = int(hour) if half is None else int(hour) % HALF_DAY + HALF_DAY * (half in "Pp")
    return repr(hours + int(minute) / 60 + float((second or "0").replace(",", ".")) / 3600)
