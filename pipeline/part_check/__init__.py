"""``bakeoff check``: what is wrong with a part of the user, found on tables that are made for it.

`part` reads nothing: it holds the composed keys of a file. Each other module checks one kind of part, by functions that
return findings; `checks` knows which functions belong to which kind.
"""

from bakeoff.pipeline.part_check.checks import check_part
from bakeoff.pipeline.part_check.finding import NOTE, OK, UNCHECKED, WRONG, Finding
from bakeoff.pipeline.part_check.part import Part

__all__ = ["NOTE", "OK", "UNCHECKED", "WRONG", "Finding", "Part", "check_part"]
