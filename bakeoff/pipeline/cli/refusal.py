"""A refusal for programs: what its sentence says of a key of the command, and how to go on."""

import re
from collections.abc import Sequence
from typing import Any

from bakeoff.pipeline.text.secrets import hide_in_values

KEY = re.compile(r"(?<![\w.])([\w.@/]+)(?==|:| is not a key)")
"""A key, as sentences write it."""
PARTS = {
    "allowed": re.compile(r"(?: must be(?! given)|Allowed:) ([^…]+?)[.;:](?: |$)"),
    "cure": re.compile(
        r"(?:[;.]| \w+:) (?:then )?((?:add|change|choose|convert|correct|delete|download|drop|export|fetch|fill|give"
        r"|install|leave|list|make|mark|merge|move|name|open|put|remove|rename|repeat|restore|run(?! \w{8})|save|see"
        r"|set|shorten|start|try|use|write|usage(?=:)|did you mean)\b.*)",
        re.IGNORECASE | re.DOTALL,
    ),
}
"""What is allowed, and the end of a sentence that says what to do."""


def describe_refusal(sentence: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the document of a refusal.

    Parameters
    ----------
    sentence : str
    words : sequence of str
        Those of the command.

    Returns
    -------
    dict
        The sentence as ``refused``. The key of the command that it names first, the value that was given, what is
        allowed in words, and the cure are None if the sentence does not contain them.

    Examples
    --------
    >>> list(describe_refusal("learner=kn is not an option. Did you mean 'knn'?", ["learner=kn"]).values())[1:]
    ['learner', 'kn', None, "Did you mean 'knn'?"]
    """
    given = hide_in_values(dict(word.lstrip("+~").split("=", 1) for word in words if "=" in word))
    key = next((each for each in KEY.findall(sentence) if each in given), None)
    parts = {name: (found := part.search(sentence)) and found[1] for name, part in PARTS.items()}
    return {"refused": sentence, "key": key, "given": given.get(key or ""), **parts}
