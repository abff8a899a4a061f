"""Reading: a function for each source, all of which return a `RawTable`; ``formats`` chooses one by the extension."""

from bakeoff.pipeline.stages.dataset.reading.formats import read_file, require_file
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout
from bakeoff.pipeline.stages.dataset.reading.raw_table import RawTable
from bakeoff.pipeline.stages.dataset.reading.text_file import count_columns

__all__ = ["FileLayout", "RawTable", "count_columns", "read_file", "require_file"]
