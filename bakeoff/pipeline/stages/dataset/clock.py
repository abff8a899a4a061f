"""Times of day in text, such as ``07:30``, ``7:05 PM`` or ``23:59:59.5``, which are read as hours.

They are treated as numbers with the unit `CLOCK`, so that they are recognised, confirmed and stored as units are.
Sources with types are no exception: their times are spelled ``07:30:00``.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

from bakeoff.pipeline.stages.dataset.spelling import MIN_SHARE, N_FIRST_CELLS, MissingRule

CLOCK = "clock"
TIME = r"^([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?\s*(?:([AaPp])\.?[Mm]\.?)?$"
HALF_DAY = 12


def are_times(text: pa.Array, rule: MissingRule) -> bool:
    """Return whether the cells of a text column are times of day, apart from missing ones and a few others."""
    if not pc.any(pc.match_substring_regex(pc.utf8_trim_whitespace(text.slice(0, N_FIRST_CELLS)), TIME)).as_py():
        return False
    cells = [cell for cell in text.unique().to_pylist() if cell is not None and not rule.covers_among_numbers(cell)]
    return sum(bool(re.match(TIME, cell.strip())) for cell in cells) >= MIN_SHARE * len(cells)


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
