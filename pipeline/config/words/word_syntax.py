"""Sentences about a word that Hydra's grammar does not read: what is wrong in it, and how it is written."""

from __future__ import annotations

import re

from bakeoff.pipeline.errors import did_you_mean
from bakeoff.pipeline.text.terminal import show_in_line

FUNCTIONS = {
    "choice": "choice(a,b,c)",
    "range": "range(START,STOP,STEP)",
    "interval": "interval(START,END)",
    "glob": "glob(PATTERN,exclude=PATTERN)",
    "tag": "tag(log,interval(START,END))",
    "sort": "sort(a,b,reverse=true)",
    "shuffle": "shuffle(a,b,c)",
    "int": "int(NUMBER)",
    "float": "float(NUMBER)",
    "str": "str(TEXT)",
    "bool": "bool(VALUE)",
}
"""Functions of Hydra's grammar, and how each is called."""
KEY = re.compile(r"(\+\+?|~)?[A-Za-z_][\w$/-]*(\.[\w$/-]+)*(@[\w.]+)?", re.ASCII)
"""A key with its prefix."""
CALL = re.compile(r"(?P<error>\w+) while evaluating '(?P<name>\w+)\(.*': (?P<reason>.*)", re.DOTALL)
"""Hydra's message about a function."""
UNKNOWN_FUNCTION = "Unknown function"
WRONG_ARGUMENTS = "TypeError"
"""What Hydra's message begins with if the reason is one of Python, and the form of the call says all."""
MAX_SHOWN_CHARACTERS = 200
"""Of a word that a message repeats."""


def explain_syntax(word: str, problem: str) -> str:
    """Return a sentence that names a word, what is wrong in it, and the cure.

    Parameters
    ----------
    word : str
    problem : str
        The message of Hydra's parser.

    Examples
    --------
    >>> explain_syntax("seed", "missing EQUAL at '<EOF>'")
    "'seed' has no value; write seed=VALUE."
    >>> print(explain_syntax("x=rnage(1,3)", "HydraException while evaluating 'rnage(1,3)': Unknown function 'rnage'"))
    x=rnage(1,3): rnage is not a function of values. Did you mean 'range'? A text is quoted: 'x="rnage(1,3)"'.
    """
    key, equals, value = word.partition("=")
    if not word.strip():
        return f"{word!r} is an empty word; write KEY=VALUE, or leave it out."
    call = CALL.search(problem)
    if call is not None:
        return _explain_call(show(word), key, value, call)
    if not KEY.fullmatch(key):
        return _explain_key(word, key, value)
    if not equals:
        return f"{word!r} has no value; write {key}=VALUE."
    if value.startswith("="):
        return f"{show(word)} has two equality signs; write {key}={value.lstrip('=')}."
    if value.startswith(",") or value.endswith(",") or ",," in value:
        values = ",".join(filter(None, value.split(",")))
        return (
            f"{show(word)} has an empty value beside a comma; write {key}={values or 'VALUE'}, and '' for an empty "
            "text."
        )
    opening = _find_open_bracket(value)
    if opening:
        return (
            f"{show(word)}: {opening!r} is not closed; close it, or write a text in quotes: {quote_word(key, value)}."
        )
    return (
        f"{show(word)}: the value holds characters that are read only in a text in quotes; write "
        f"{quote_word(key, value)}."
    )


def quote_word(key: str, value: str) -> str:
    """Return a word whose value is a text in quotes, as it is written in a shell.

    Examples
    --------
    >>> print(quote_word("dataset.target", "a, b"))
    'dataset.target="a, b"'
    """
    value = show(value)
    if "'" in value:
        escaped = value.replace("'", r"\'")
        return f'''"{key}='{escaped}'"'''
    escaped = value.replace('"', r"\"")
    return f"""'{key}="{escaped}"'"""


def show(text: str) -> str:
    """Return a word in one line, without characters that a terminal cannot show, and not longer than a message."""
    shown = show_in_line(text)
    return shown if len(shown) <= MAX_SHOWN_CHARACTERS else f"{shown[:MAX_SHOWN_CHARACTERS]}…"


def _explain_key(word: str, key: str, value: str) -> str:
    """Return what is wrong with a key, and the nearest one that could be written."""
    nearest = re.sub(r"\.+", ".", re.sub(r"[^\w$./@~+-]", "", key, flags=re.ASCII)).strip(".")
    nearest_word = f"{nearest}={show(value)}" if "=" in word else nearest
    cure = f"Did you mean {nearest_word}?" if KEY.fullmatch(nearest) else "Keys are written as in learner=knn."
    return f"{show(word)!r}: {show(key)!r} is not the name of a key, which has neither spaces nor signs. {cure}"


def _explain_call(word: str, key: str, value: str, call: re.Match[str]) -> str:
    """Return what is wrong with a function."""
    name = call["name"]
    reason = call["reason"].splitlines()[0]
    if reason.startswith(UNKNOWN_FUNCTION):
        suggestion = did_you_mean(name, FUNCTIONS)
        return f"{word}: {name} is not a function of values. {suggestion} A text is quoted: {quote_word(key, value)}."
    reason = "" if call["error"] == WRONG_ARGUMENTS else f" ({reason})"
    return f"{word}: {name} is written as {FUNCTIONS.get(name, name)}{reason}."


def _find_open_bracket(text: str) -> str:
    """Return the innermost bracket that is not closed; empty if there is none."""
    pairs = {"]": "[", "}": "{", ")": "("}
    open_brackets: list[str] = []
    for character in text:
        if character in pairs.values():
            open_brackets.append(character)
        elif open_brackets and pairs.get(character) == open_brackets[-1]:
            open_brackets.pop()
    return open_brackets[-1] if open_brackets else ""
