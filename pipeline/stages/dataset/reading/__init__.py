"""Reading: a function for each source, all of which return a `RawTable`; ``formats`` chooses one by the extension."""

from bakeoff.pipeline.stages.dataset.reading.data_frame import read_frame, require_table
from bakeoff.pipeline.stages.dataset.reading.formats import read_file, require_file
from bakeoff.pipeline.stages.dataset.reading.layout import FileLayout
from bakeoff.pipeline.stages.dataset.reading.openml import OpenmlQuery, read_openml
from bakeoff.pipeline.stages.dataset.reading.query import Query, read_query
from bakeoff.pipeline.stages.dataset.reading.raw_table import RawTable
from bakeoff.pipeline.stages.dataset.reading.several_files import read_files
from bakeoff.pipeline.stages.dataset.reading.sklearn_data import read_sklearn
from bakeoff.pipeline.stages.dataset.reading.text_file import count_columns

__all__ = [
    "FileLayout",
    "OpenmlQuery",
    "Query",
    "RawTable",
    "count_columns",
    "read_file",
    "read_files",
    "read_frame",
    "read_openml",
    "read_query",
    "read_sklearn",
    "require_file",
    "require_table",
]
