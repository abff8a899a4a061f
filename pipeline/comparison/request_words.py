"""The keys of a comparison, read from the words of a command line."""

from __future__ import annotations

from collections.abc import Mapping

from bakeoff.pipeline.config.booleans import read_boolean
from bakeoff.pipeline.errors import UserError, did_you_mean

DEFAULT_ALPHA = 0.05
DEFAULT_ROPE = 0.01
FORMATS = ("terminal", "csv", "json", "markdown", "latex", "html")


def check_values(values: Mapping[str, str]) -> None:
    """Reject wrong values of keys before anything runs or is imported.

    Parameters
    ----------
    values : mapping of str to str
        By key.

    Raises
    ------
    UserError
        A value is not allowed.
    """
    read_choice(values, "to", FORMATS)
    read_choice(values, "pairs", ("best", "all"))
    read_choice(values, "choice", ("auto", "none"))
    read_boolean("compare: keep", values.get("keep", True))
    read_choice(values, "fail_if", ("never", "worse"))
    read_fraction(values, "alpha", DEFAULT_ALPHA)
    read_fraction(values, "rope", DEFAULT_ROPE, allows_zero=True)
    read_list(values, "metrics")
    if values.get("fail_if") == "worse" and "base" not in values:
        raise UserError("compare: fail_if=worse needs base=, the run, model or configuration that is the standard.")
    if not values.get("filter", "any").strip():
        raise UserError(
            "compare: filter= is empty; write it as in MLflow, for example filter=\"params.dataset = 'wine'\", or "
            "filter=\"attributes.status = 'FINISHED'\" for all runs."
        )


def read_fraction(values: Mapping[str, str], key: str, default: float, allows_zero: bool = False) -> float:
    """Return a number between 0 and 1.

    Raises
    ------
    UserError
        It is not a number, or not in that range.
    """
    text = values.get(key)
    if text is None:
        return default
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    is_allowed = 0 < number < 1 or (allows_zero and number == 0)
    if not is_allowed:
        least = "from 0 to below 1" if allows_zero else "between 0 and 1"
        raise UserError(f"compare: {key}={text} must be a number {least}, such as {default:g}.")
    return number


def read_choice(values: Mapping[str, str], key: str, allowed: tuple[str, ...]) -> str:
    """Return one of the allowed words; the first one by default.

    Raises
    ------
    UserError
        Another word was given.
    """
    given = values.get(key, allowed[0])
    if given not in allowed:
        raise UserError(f"compare: {key}={given}: {did_you_mean(given, allowed)}")
    return given


def read_list(values: Mapping[str, str], key: str) -> tuple[str, ...]:
    """Return the words of a list, in brackets or not; empty if the key is not given.

    Raises
    ------
    UserError
        The list is empty.
    """
    if key not in values:
        return ()
    words = tuple(word.strip() for word in values[key].strip("[]").split(",") if word.strip())
    if not words:
        raise UserError(f"compare: {key}={values[key]} names nothing; give a list, such as {key}=accuracy,f1.")
    return words
