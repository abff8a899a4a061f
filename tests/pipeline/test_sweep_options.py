"""The jobs of a sweep are counted as Hydra would list them."""

from __future__ import annotations

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.options import count_values, require_few_jobs

PARSER = OverridesParser.create()


@pytest.mark.parametrize(
    "word",
    [
        "seed=1", "seed=1,2,3", "seed=choice(4,5)", "x=[1,2]", "seed=range(1,10)", "seed=range(1,10,3)",
        "seed=range(0,9,3)", "seed=range(10,1,-3)", "seed=range(5,5)", "seed=range(9,1)", "x=range(0.1,0.5,0.1)",
        "x=range(1,2,0.25)", "x=range(2,1,-0.25)", "seed=shuffle(range(1,7))", "seed=sort(3,1,2)", "x=interval(0,1)",
    ],
)  # fmt: skip
def test_values_are_counted_as_hydra_lists_them(word: str) -> None:
    override = PARSER.parse_override(word)
    is_listed = override.is_sweep_override() and override.is_discrete_sweep()
    assert count_values(override) == (len(list(override.sweep_string_iterator())) if is_listed else 1)


def test_pairs_are_counted_and_not_their_product() -> None:
    words = [PARSER.parse_override(word) for word in ("seed=range(0,300)", "n_jobs=range(1,301)")]
    require_few_jobs(words, "zip", max_jobs=300)
    with pytest.raises(UserError, match="90,000 jobs"):
        require_few_jobs(words, "none", max_jobs=300)


@pytest.mark.parametrize("word", ["x=range(0,inf)", "x=range(0.0,1.0,0.0)", "x=range(nan,2)"])
def test_a_range_without_an_end_is_refused(word: str) -> None:
    with pytest.raises(UserError, match="has no end"):
        count_values(PARSER.parse_override(word))
