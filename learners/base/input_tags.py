"""What a learner declares of its input in scikit-learn's tags."""

from __future__ import annotations

from sklearn.utils import Tags


def with_input_tags(tags: Tags, *, allow_nan: bool = False, categorical: bool = False) -> Tags:
    """Declare in the tags whether a learner supports missing cells and nominal columns."""
    tags.input_tags.allow_nan = allow_nan
    tags.input_tags.categorical = categorical
    return tags
