"""A refusal for programs: what its sentence says of a key of the command, and how to go on."""

import re
from collections.abc import Iterable
from typing import Any

from bakeoff.pipeline.text.secrets import hide_secrets

LISTED = re.compile(r"Allowed: ([^…]+?)\.(?: [A-Z]|$)")
NEEDED = re.compile(r" must be ([^.;:]+)[.;:]")
CURE = re.compile(
    r"[;:.] (?:then )?((?:add|change|choose|convert|correct|delete|download|drop|export|fetch|fill|give|install|leave"
    r"|list|make|mark|merge|move|name|open|put|remove|rename|repeat|restore|run|save|see|set|shorten|start|try|use|write"
    r"|usage:)\b.*|Did you mean .*)",
    re.IGNORECASE | re.DOTALL,
)
"""The end of a sentence that says what to do."""


def describe_refusal(sentence: str, words: Iterable[str]) -> dict[str, Any]:
    """Return the document of a refusal.

    Parameters
    ----------
    sentence : str
    words : iterable of str
        Those of the command.

    Returns
    -------
    dict
        The sentence as ``refused``. The key of the command that it names first, the value that was given, the values
        that are allowed, as a list or in words, and the cure are None if the sentence does not contain them.

    Examples
    --------
    >>> list(describe_refusal("learner=kn is not an option. Did you mean 'knn'?", ["learner=kn"]).values())[1:]
    ['learner', 'kn', None, "Did you mean 'knn'?"]
    """
    named: dict[int, tuple[str, str]] = {}
    for word in words:
        key, sign, value = word.lstrip("+~").partition("=")
        if sign and (found := re.search(rf"(?<![\w.]){re.escape(key)}(?==|:| is not a key)", sentence)):
            named[found.start()] = key, hide_secrets(value)
    key, given = named[min(named)] if named else (None,) * 2
    listed = LISTED.search(sentence)
    needed = NEEDED.search(sentence)
    cure = CURE.search(sentence)
    return {
        "refused": sentence,
        "key": key,
        "given": given,
        "allowed": listed[1].split(", ") if listed else needed and needed[1],
        "cure": cure and cure[1],
    }
