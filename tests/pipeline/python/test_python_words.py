"""The arguments of Python calls as words of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.call import make_words, read_words


@pytest.mark.parametrize(
    "value",
    [None, True, 1e-7, "two words", "it's", "a,b", "007", "null", "", "x=y", [1, "a b", None], {"a": [1]}],
)
def test_a_value_of_a_keyword_is_the_value_of_its_key(value: Any) -> None:
    (word,) = make_words({"learner__key": value})
    parsed = OverridesParser.create().parse_override(word)
    assert (parsed.key_or_group, parsed.value()) == ("learner.key", value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(np.float64(0.5), 0.5), (np.int64(3), 3), (np.bool_(True), True), (Path("a b.csv"), "a b.csv")],
)
def test_numbers_of_numpy_and_paths_are_plain_values(value: Any, expected: Any) -> None:
    (word,) = make_words({"dataset.key": value})
    assert OverridesParser.create().parse_override(word).value() == expected


def test_a_list_is_one_value_of_a_run_and_several_of_a_sweep() -> None:
    values = {"evaluation__metrics": ["accuracy", "f1"]}
    assert make_words(values) == ["evaluation.metrics=[accuracy,f1]"]
    assert make_words(values, is_sweep=True) == ["evaluation.metrics=accuracy,f1"]
    assert make_words({"evaluation__metrics": [["accuracy", "f1"]]}, is_sweep=True) == [
        "evaluation.metrics=[accuracy,f1]"
    ]


@pytest.mark.parametrize("key", ["trust", "figures", "space__C"])
def test_a_key_that_is_a_list_for_every_job_stays_one(key: str) -> None:
    (word,) = make_words({key: ["a", "b"]}, is_sweep=True)
    assert word.endswith("=[a,b]")


def test_names_of_columns_are_one_value_and_lists_of_them_are_several() -> None:
    assert make_words({"dataset__drop": ["a", "b"]}, is_sweep=True) == ["dataset.drop=[a,b]"]
    assert make_words({"dataset__drop": [["a"], ["a", "b"]]}, is_sweep=True) == ["dataset.drop=[a],[a,b]"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--config-dir=a", "'--config-dir=a' is not a string KEY=VALUE"),
        ("predict", "is not a string KEY=VALUE"),
        (3, "3 is not a string"),
    ],
)
def test_words_that_mean_nothing_in_python_are_refused(word: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_words([word], {})


def test_a_value_with_spaces_and_equals_signs_is_one_word() -> None:
    words = ["dataset.query='select x = 1 from t'", "dataset.path='a b=c.csv'", "dataset.path=a b.csv"]
    assert read_words(words, {}) == words


@pytest.mark.parametrize(("value", "said"), [(object(), "was given a value of type object"), (len, "builtin_function")])
def test_an_object_is_refused_with_the_way_to_name_a_class(value: Any, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        make_words({"learner": value})
    assert "learner._target_" in str(caught.value)


def test_an_empty_list_of_jobs_is_refused() -> None:
    with pytest.raises(UserError, match=r"learner.C=\[\] is empty"):
        make_words({"learner__C": []}, is_sweep=True)
