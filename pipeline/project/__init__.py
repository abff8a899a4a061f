"""`bakeoff init`: a folder for parts of one's own, with a dataset, a learner, a test and a Makefile.

The folder `template` holds its files as they are, but for the name of the project.
"""

from bakeoff.pipeline.project.make_project import make_project, name_package

__all__ = ["make_project", "name_package"]
