"""`bakeoff init`: a folder for parts of one's own, with a dataset, a learner, a test and a Makefile.

The folder `template` holds its files as they are, but for the name of the project.
"""
