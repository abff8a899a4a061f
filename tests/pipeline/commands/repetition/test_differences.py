"""Results are compared to the last bit, but for their times; differences are shown with their sizes."""

from __future__ import annotations

import json
import math

import pytest

from bakeoff.pipeline.commands.repetition.differences import (
    MISSING,
    Difference,
    compare_numbers,
    compare_values,
    find_changes,
    measure_record,
    show_differences,
    write_number,
)

NAN = math.nan


def compare(stored: float, now: float) -> tuple[Difference, ...]:
    """Return the differences of two scores of one name."""
    return compare_values("scores", *({("a", ""): write_number(value)} for value in (stored, now))).differences


@pytest.mark.parametrize(("stored", "now"), [(0.0, -0.0), (NAN, NAN), (1, 1.0), (0.1 + 0.2, 0.30000000000000004)])
def test_equal_numbers_do_not_differ(stored: float, now: float) -> None:
    assert compare(stored, now) == ()


@pytest.mark.parametrize(
    ("stored", "now", "size", "is_close"),
    [
        (0.5, math.nextafter(0.5, 1), 2**-53, True),
        (0.0, 5e-10, 5e-10, True),
        (0.0, 2e-9, 2e-9, False),
        (1e6, 1e6 + 2**-10, 2**-10, True),
        (0.5, 0.75, 0.25, False),
        (0.5, NAN, math.inf, False),
    ],
)
def test_one_bit_is_a_difference_with_a_size(stored: float, now: float, size: float, is_close: bool) -> None:
    (difference,) = compare(stored, now)
    assert (difference.size, difference.is_close) == (size, is_close)


def test_a_value_on_one_side_only_is_a_difference_and_further_kinds_are_not_compared() -> None:
    stored = {"scores": {("a", ""): "1.0", ("b", ""): "2.0"}}
    (comparison,) = compare_numbers(
        stored, {"scores": {("a", ""): "1.0", ("c", ""): "3.0"}, "outputs": {("d", ""): "4"}}
    )
    assert (comparison.what, comparison.n_values) == ("scores", 3)
    assert [(each.name, each.stored, each.now) for each in comparison.differences] == [
        ("b", "2.0", MISSING),
        ("c", MISSING, "3.0"),
    ]
    assert {each.size for each in comparison.differences} == {math.inf}


def test_the_first_differences_are_shown_and_the_others_counted() -> None:
    lines = show_differences([Difference("a", f"fold {number}", "0.5", "0.75") for number in range(14)])
    assert lines[0].split() == ["a", "fold", "0", "0.5", "→", "0.75", "(by", "0.25)"]
    assert (len(lines), lines[-1]) == (13, "  and 2 more")
    assert show_differences([Difference("b", "line 2", "yes", "no")]) == ["  b  line 2  yes  → no"]
    assert show_differences([]) == []


def test_a_record_has_scores_and_cells_without_times() -> None:
    scores = {("test_accuracy", 0): 1, ("fold/test_accuracy", 1): 0.5, ("time/fit", 0): 3.0, ("fold/time/fit", 1): 3.0}
    steps = {("pruning_path/leaves", 4): 2, ("pruning/alpha", 0): 0.25}
    numbers = measure_record(scores | steps, {"a.csv": 'row,y,fit_seconds\n1,"b,c",3\n2.50,,4\n'})
    assert numbers["scores"] == {
        ("test_accuracy", ""): "1.0",
        ("fold/test_accuracy", "fold 1"): "0.5",
        ("pruning_path/leaves", "step 4"): "2.0",
        ("pruning/alpha", ""): "0.25",
    }
    assert numbers["cells of a.csv"] == {
        ("a.csv row", "line 2"): "1.0",
        ("a.csv y", "line 2"): "b,c",
        ("a.csv row", "line 3"): "2.5",
        ("a.csv y", "line 3"): "",
    }


def test_what_has_changed_is_named_in_words() -> None:
    stored = {"versions": json.dumps({"numpy": "1.26.4", "scipy": "1.11"}), "host": "a", "blas": "openblas"}
    now = {"versions": json.dumps({"numpy": "2.0", "scipy": "1.11"}), "host": "b", "blas": "openblas", "threads": "1"}
    found = [(each.name, each.stored, each.now) for each in find_changes(stored, now)]
    assert found == [("numpy", "1.26.4", "2.0"), ("threads", "not recorded", "1"), ("machine", "a", "b")]
