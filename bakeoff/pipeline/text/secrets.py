"""Secrets, such as the password in an address: never stored, and hidden in output.

A secret has two forms. In a configuration it is a reference to an environment variable, ``${oc.env:NAME}`` or, in an
address, ``$NAME``; this form is stored, hashed and printed. It is replaced by its value only where an object is built.
Any text that may contain the value, such as the message of an exception, is passed through `hide_secrets`.
"""

import os
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

from bakeoff.pipeline.text.wording import shorten_message

MIN_SECRET_LETTERS = 4
"""Shorter values are not searched for in texts, because they occur in many words."""
PLAIN_VALUES = ("true", "false", "null", "none")
"""Values that are not secret and occur in many texts."""
MASK = "***"
CONCEALED_VARIABLE = "BAKEOFF_SECRET"
"""The variable that holds a secret from the words of a command; further variables are numbered."""
SECRET_NAME = re.compile(
    r"(^|[_.-])(passw(or)?d|passphrase|pwd|secrets?|tokens?|credentials?|sig(nature)?|auth|api_?key|apikey)([_.-]|$)"
    r"|(api|access|account|private|secret|shared|sas|encryption)[_-]?key|password|signature|[_-]key$|^key$",
    re.IGNORECASE,
)
"""Names of variables and of address options that contain a secret."""
WORKING_FOLDERS = ("PWD", "OLDPWD")
"""Shell variables whose names resemble the names of passwords."""
REFERENCE = re.compile(r"\$\\?\{oc\.env\\?:([^{},\s\\]+)\\?\}")
"""A reference to an environment variable in a configuration; in the words of a sweep, it contains backslashes."""
PLAIN_REFERENCE = "$REFERENCE"
SHORT_REFERENCE = re.compile(r"\$([A-Za-z_]\w*)")
"""A reference to an environment variable in an address."""
ADDRESS = re.compile(r"(?<![\w+.-])(?:(?![A-Za-z])[\w+.-])*([A-Za-z][\w+.-]*)\\?://[^\s'\"]*")
"""An address in a text; in the words of a sweep, a backslash precedes a colon.

The search begins only where a word begins, and no letter that was read can be read in another way. Possessive
quantifiers would say so, but Python 3.11.2 finds wrong groups with them.
"""
USER_PART = re.compile(r"://(?:[^\s'\"/@:\\]*(\\?:))?([^\s'\"@]*(?:@[^\s'\"@/,:?]*(?=@))*)(@?)")
"""The part between ``://`` and the host: a user, a colon and a password, or a single word; or all letters up to the end
of an address without a user."""
OPTION = re.compile(r"([?&;])([\w.-]+)=([^&;\s'\",\])}]*)")
"""An option of an address."""


def hide_secrets(text: str, *sources: str) -> str:
    """Return a text with its secrets hidden.

    The hidden secrets are passwords and signatures in addresses, the values of environment variables whose name marks a
    secret, and the values of variables referenced by the sources.

    Parameters
    ----------
    text : str
    *sources : str
        Texts with references, such as a configuration.

    Examples
    --------
    >>> hide_secrets("no answer from http://me:hunter2@host:5000/?token=abc&page=2")
    'no answer from http://me:***@host:5000/?token=***&page=2'
    """
    values: dict[str, str] = {}
    for name in (*find_references(*sources), *filter(is_secret_name, os.environ)):
        value = os.environ.get(name, "")
        if len(value) >= MIN_SECRET_LETTERS and value.lower() not in PLAIN_VALUES:
            values.setdefault(value, name)
    # The longest value comes first, because a short one may be part of a longer one.
    for value, name in sorted(values.items(), key=lambda pair: -len(pair[0])):
        reference = f"${{oc.env:{name}}}"
        for spelling in (value, quote(value, safe=""), unquote(value)):
            text = text.replace(spelling, reference)
    for secret in find_secrets(text):
        text = text.replace(secret, secret.replace(_value_in(secret), MASK))
    return text


def hide_in_values(values: Mapping[str, str], *sources: str) -> dict[str, str]:
    """Return a mapping with secrets hidden in its values; for the sources see `hide_secrets`."""
    if not values:
        return {}
    # Most texts contain no secret, and the environment is searched once for all of them.
    hidden = hide_secrets("\0".join(values.values()), *sources).split("\0")
    return dict(zip(values, hidden, strict=True))


def describe_error(error: BaseException, *sources: str) -> str:
    """Return the type and the shortened message of an error, with secrets hidden; for the sources see `hide_secrets`.

    The type is omitted for an error with ``is_sentence``. Notes are appended.
    """
    is_sentence = getattr(error, "is_sentence", False)
    text = str(error) if is_sentence else f"{type(error).__name__}: {error}"
    notes: Sequence[str] = getattr(error, "__notes__", ())
    return shorten_message(hide_secrets(" ".join([text, *notes]), *sources))


def format_traceback(error: BaseException, *sources: str) -> str:
    """Return the traceback of an error, with secrets hidden; for the sources see `hide_secrets`."""
    return hide_secrets("".join(traceback.format_exception(error)), *sources)


def find_references(*texts: str) -> list[str]:
    """Return the names of the environment variables that texts refer to.

    Examples
    --------
    >>> find_references("url: postgresql://${oc.env:ME}:$PW@host/x, price: 3$")
    ['ME', 'PW']
    """
    names: dict[str, None] = {}
    for text in texts:
        names.update(dict.fromkeys(REFERENCE.findall(text)))
        for address in ADDRESS.finditer(text):
            names.update(dict.fromkeys(SHORT_REFERENCE.findall(address.group())))
    return list(names)


@lru_cache
def is_secret_name(name: str) -> bool:
    """Return whether the name of a variable or an address option marks a secret.

    Examples
    --------
    >>> [is_secret_name(name) for name in ("MLFLOW_TRACKING_PASSWORD", "X-Amz-Signature", "TOKENIZERS_X", "PWD")]
    [True, True, False, False]
    """
    return name not in WORKING_FOLDERS and SECRET_NAME.search(name) is not None


def find_secrets(text: str) -> list[str]:
    """Return the parts of addresses in a text that contain a secret: ``:secret@``, ``://secret@`` or ``name=secret``.

    Examples
    --------
    >>> find_secrets("tracking.uri=http://me:hunter2@host, postgresql://me@host/x?sslmode=on, http://me:$PW@host")
    [':hunter2@']
    """
    return list(dict.fromkeys(_iterate_secrets(text)))


def conceal_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Replace the secrets in the words of a command by references, and set the variables that they refer to.

    Processes started by this one inherit the variables.

    Parameters
    ----------
    words : sequence of str
        The overrides.

    Returns
    -------
    words : list of str
    names : list of str
        The names of the variables.
    """
    concealed = []
    names: dict[str, None] = {}
    variables = {value: name for name, value in os.environ.items() if name.startswith(CONCEALED_VARIABLE)}
    for word in words:
        for secret in find_secrets(word):
            value = _value_in(secret)
            plain = value.replace("\\", "")
            if plain not in variables:
                variables[plain] = _name_variable(plain, len(variables))
            name = variables[plain]
            names[name] = None
            word = word.replace(secret, secret.replace(value, f"${{oc.env:{name}}}"))
        concealed.append(word)
    return concealed, list(names)


def expand_references(node: Any) -> Any:
    """Return a part of a configuration with references to environment variables replaced by their values.

    Parameters
    ----------
    node : mapping, list or plain value

    Raises
    ------
    KeyError
        A variable is not set; the argument is its name.
    """
    if isinstance(node, Mapping):
        return {key: expand_references(value) for key, value in node.items()}
    if isinstance(node, list):
        return [expand_references(value) for value in node]
    if isinstance(node, str) and "${" in node:
        return REFERENCE.sub(lambda found: os.environ[found.group(1)], node)
    return node


def expand_public_references(text: str) -> str:
    """Return a text with the values of variables that are set and whose names do not mark a secret.

    Examples
    --------
    >>> expand_public_references("${oc.env:MY_PASSWORD} ${oc.env:NOT_SET}")
    '${oc.env:MY_PASSWORD} ${oc.env:NOT_SET}'
    """

    def expand(found: re.Match[str]) -> str:
        name = found.group(1)
        return found.group() if is_secret_name(name) else os.environ.get(name, found.group())

    return REFERENCE.sub(expand, text)


def expand_address(uri: str) -> str:
    """Return an address with its variables expanded; ``$NAME`` counts as one in place of a user or a password.

    Raises
    ------
    KeyError
        A variable is not set; the argument is its name.

    Examples
    --------
    >>> expand_address("my$folder/mlflow.db")
    'my$folder/mlflow.db'
    """
    expanded = str(expand_references(uri))
    scheme, separator, rest = expanded.partition("://")
    user_part, at, host = rest.rpartition("@")
    if not separator or not at:
        return expanded
    parts = [_expand_short(part) for part in user_part.split(":")]
    return f"{scheme}://{':'.join(parts)}@{host}"


def strip_secrets(uri: str) -> str:
    """Return an address without its secrets, so that it is the same for every user and after a password change.

    Examples
    --------
    >>> strip_secrets("http://me:hunter2@host:5000/?token=abc")
    'http://me@host:5000/?token='
    """
    for secret in find_secrets(uri):
        uri = uri.replace(secret, secret.replace(_value_in(secret), "").replace(":@", "@"))
    return uri.replace("://@", "://")


def _iterate_secrets(text: str) -> Iterator[str]:
    # The characters of a reference have a meaning in an address.
    for address in ADDRESS.finditer(REFERENCE.sub(PLAIN_REFERENCE, text)):
        found = address.group()
        is_web = address.group(1).lower().startswith("http")
        for user_part in USER_PART.finditer(found):
            colon, secret, end = user_part.groups()
            # For a database, a single word is the user; on the web, it is a token.
            if end and _is_literal(secret) and (colon or is_web):
                yield f"{colon or '://'}{secret}@"
        for option in OPTION.finditer(found):
            _, name, value = option.groups()
            if is_secret_name(name) and _is_literal(value):
                yield f"{name}={value}"


def _is_literal(value: str) -> bool:
    return value not in ("", MASK) and not SHORT_REFERENCE.fullmatch(value)


def _value_in(secret: str) -> str:
    """Return the secret value in a part of an address as returned by `find_secrets`."""
    if secret.endswith("@"):
        return secret[:-1].removeprefix("\\").removeprefix("://").removeprefix(":")
    return secret.partition("=")[2]


def _name_variable(value: str, n_others: int) -> str:
    """Return the name of a further variable, which is set to a value."""
    number = n_others + 1
    while os.environ.setdefault(name := f"{CONCEALED_VARIABLE}_{number}".removesuffix("_1"), value) != value:
        number += 1
    return name


def _expand_short(part: str) -> str:
    found = SHORT_REFERENCE.fullmatch(part)
    return os.environ[found.group(1)] if found else part
