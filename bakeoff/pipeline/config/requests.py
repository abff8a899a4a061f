"""The requests of verbs: common fields of requests about stores and runs, and their creation from arguments.

A request contains the arguments of a verb. `bakeoff.pipeline.cli` fills it from the command line and
`bakeoff.pipeline.python` from keywords: a field has the name of the keyword; the word has dots in place of two
underscores. A field with ``metadata={"word": NAME}`` is given without a key, and one with ``metadata={"key": KEY}``
under another key. The descriptions of fields are the help of the command.
"""

import inspect
import re
import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from bakeoff.pipeline.config.trust import TRUST_KEY, read_trust
from bakeoff.pipeline.config.words import read_list
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.wording import expand_home

DEFAULT_EXPERIMENT = "bakeoff"
LAYOUT_KINDS: Mapping[str, Any] = {
    "separator": str | None,
    "header": bool | None,
    "strip": bool,
    "encoding": str | None,
    "decimal": str | None,
    "thousands": str | None,
    "quote": str | None,
    "skip_rows": int,
    "sheet": str | None,
    "na_values": tuple[str, ...],
}
"""Keys of a file -> their types. Ragged rows are rejected, since each row needs a prediction."""
R = TypeVar("R")
NULL = "null"
ANY_KEY = "KEY"
"""The key of a mapping that takes all keys."""
SENTENCES = re.compile(r"^(\w[\w, ]*) : .*\n((?: +.+\n?)+)", re.MULTILINE)
"""The descriptions of fields in a docstring: their names, and the indented lines after them."""
HELP_COLUMNS = 110
KEY_COLUMNS = 22


def list_store_words(uri: Any = None, experiment: Any = DEFAULT_EXPERIMENT) -> list[str]:
    """Return the words that select a store on the command line, without default values."""
    words = [] if uri is None else [f"tracking.uri={uri}"]
    return words if experiment == DEFAULT_EXPERIMENT else [*words, f"tracking.experiment={experiment}"]


@dataclass(frozen=True, kw_only=True)
class StoreRequest:
    """A request about a store.

    Attributes
    ----------
    tracking__uri : str or None
        The store: a SQLite file or a server; by default MLFLOW_TRACKING_URI, else outputs/mlflow.db.
    """

    tracking__uri: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExperimentRequest(StoreRequest):
    """A request about the runs of an experiment.

    Attributes
    ----------
    tracking__experiment : str
        The MLflow experiment in which to search for runs.
    """

    tracking__experiment: str = DEFAULT_EXPERIMENT

    def list_store_words(self) -> list[str]:
        """Return the words that select the store, without default values."""
        return list_store_words(self.tracking__uri, self.tracking__experiment)


@dataclass(frozen=True, kw_only=True)
class TrustRequest:
    """A request that may run code of the user.

    Attributes
    ----------
    trust : tuple of str
        Packages whose code may run, besides those that the variable BAKEOFF_TRUST names.
    """

    trust: tuple[str, ...] = field(default_factory=read_trust)


@dataclass(frozen=True, kw_only=True)
class RunRequest(ExperimentRequest, TrustRequest):
    """A request about a stored run or its model.

    Attributes
    ----------
    run : str
        The id of a run or its first 8 characters, latest, best, or the name of a registered model, such as
        titanic@champion or titanic/3.
    dataset : str
        Restricts latest and best to the runs on a dataset.
    """

    run: str = field(metadata={"word": "RUN"})
    dataset: str = ""


@dataclass(frozen=True, kw_only=True)
class RefitRequest(RunRequest):
    """A request about a run that is fitted again.

    Attributes
    ----------
    dataset__path : str or None
        Where the file of the dataset is now, if it was moved.
    """

    dataset__path: str | None = None


@dataclass(frozen=True, kw_only=True)
class RowsRequest(RunRequest):
    """A request about a model and the rows of a file, which is read as the file of its training rows was.

    Attributes
    ----------
    layout : mapping of str to object
        How the file differs from that of the training rows, as in conf/dataset/file.yaml.
    """

    layout: Mapping[str, Any] = field(default_factory=dict, metadata={"kinds": LAYOUT_KINDS})


@dataclass(frozen=True)
class Argument:
    """A field of a request on the command line.

    Attributes
    ----------
    name : str
        The name of the field.
    part : str
        The key in a field that is a mapping; empty for other fields.
    word : str
        The key of the word, or the name of a word without a key.
    kind : type
        The type of the value; None is also allowed if ``may_be_null``.
    has_key, is_required, may_be_null : bool
    sentence : str
        The description in the docstring of the request.
    """

    name: str
    part: str
    word: str
    kind: Any
    has_key: bool
    is_required: bool
    may_be_null: bool
    sentence: str

    @property
    def is_list(self) -> bool:
        """Whether the argument accepts several words."""
        return not self.has_key and self.kind == tuple[str, ...]

    def read(self, text: str) -> Any:
        """Convert a text to a value of this argument.

        Raises
        ------
        UserError
        """
        if self.may_be_null and text == NULL:
            return None
        if self.name == TRUST_KEY:
            return read_trust(text)
        try:
            return READERS[self.kind](text)
        except ValueError:
            raise UserError(f"{self.word}={text!r} must be {NOUNS[self.kind]}. {self.sentence}") from None


def list_arguments(request: type) -> list[Argument]:
    """Return the arguments of a verb: those without a key first, then its specific keys, then the common ones."""
    hints = get_type_hints(request)
    sentences = read_sentences(request)
    arguments = [
        _make_argument(field, part, kind, sentences.get(field.name, ""))
        for field in fields(request)
        for part, kind in field.metadata.get("kinds", {"": hints[field.name]}).items()
    ]
    own = request.__annotations__
    return sorted(arguments, key=lambda argument: (argument.has_key, argument.has_key and argument.name not in own))


def read_request(verb: str, request: type[R], words: Sequence[str]) -> R:
    """Create a request from words.

    Parameters
    ----------
    verb : str
    request : type
        A dataclass whose fields are described in `bakeoff.pipeline.config.requests`.
    words : sequence of str

    Raises
    ------
    UserError
        There are too few or too many words without a key, a key is unknown or given twice, or a value is not allowed.
    """
    arguments = list_arguments(request)
    by_key = {argument.word: argument for argument in arguments if argument.has_key}
    values: dict[str, Any] = {}
    placed: list[str] = []
    given: set[str] = set()
    for word in words:
        key, sign, text = word.partition("=")
        # A path such as ./a=b.csv is no pair of key and value.
        if not sign or "/" in key:
            placed.append(word)
            continue
        argument = by_key.get(key) or by_key.get(ANY_KEY)
        if argument is None:
            raise UserError(f"{key} is not a key. {did_you_mean(key, by_key)}")
        if key in given:
            raise UserError(f"{key}= is given twice, the second time as {word}; give it once.")
        given.add(key)
        if argument.part:
            values.setdefault(argument.name, {})[key] = argument.read(text)
        else:
            values[argument.name] = argument.read(text)
    values |= _place_words(placed, arguments, format_usage(verb, request))
    for argument in arguments:
        if argument.is_required and argument.name not in values:
            raise UserError(f"{argument.word}=… must be given. {argument.sentence}")
    return request(**values)


def format_usage(verb: str, request: type) -> str:
    """Return a line with the words of a verb."""
    shown: list[str] = []
    for argument in list_arguments(request):
        word = f"{argument.word}=…" if argument.has_key else argument.word
        word = f"{word} ..." if argument.is_list else word
        shown.append("[KEY=…]" if argument.part else word if argument.is_required else f"[{word}]")
    return " ".join(["bakeoff", verb, *dict.fromkeys(shown)])


def format_arguments(request: type) -> str:
    """Return a paragraph for each argument of a verb, with one for all keys of a mapping."""
    keys: dict[tuple[str, str], list[str]] = {}
    for argument in list_arguments(request):
        word = f"{argument.word}=" if argument.has_key else argument.word
        keys.setdefault((argument.name, argument.sentence), []).append(word)
    paragraphs = []
    for (_, sentence), words in keys.items():
        text = f"{', '.join(words):<{KEY_COLUMNS - 1}} {sentence}"
        indent = " " * KEY_COLUMNS
        paragraphs.append(textwrap.fill(text, HELP_COLUMNS, subsequent_indent=indent, break_long_words=False))
    return "\n".join(paragraphs)


def _make_argument(field: Field[Any], part: str, hint: Any, sentence: str) -> Argument:
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    may_be_null = NoneType in get_args(hint)
    key = part or field.metadata.get("key", field.name.replace("__", "."))
    return Argument(
        name=field.name,
        part=part,
        word=field.metadata.get("word", key),
        kind=kinds[0] if may_be_null else hint,
        has_key="word" not in field.metadata,
        is_required=field.default is MISSING and field.default_factory is MISSING,
        may_be_null=may_be_null,
        sentence=sentence,
    )


def read_sentences(request: type) -> dict[str, str]:
    """Return the description of each field in the docstrings of a request and its base classes."""
    sentences = {}
    for each in reversed(inspect.getmro(request)):
        for names, text in SENTENCES.findall(inspect.cleandoc(each.__doc__ or "")):
            sentences.update(dict.fromkeys(names.split(", "), " ".join(text.split())))
    return sentences


def _place_words(words: Sequence[str], arguments: Sequence[Argument], usage: str) -> dict[str, Any]:
    """Return the values of words without a key by field name."""
    places = [argument for argument in arguments if not argument.has_key]
    n_required = sum(place.is_required for place in places)
    has_too_many = len(words) > len(places) and not (places and places[-1].is_list)
    if len(words) < n_required or has_too_many or any(word.startswith("-") for word in words):
        is_divided = any(word.endswith(("]", "}")) for word in words)
        cure = "the shell divides a value at its spaces: write 'KEY={NAME: VALUE}' in quotation marks; "
        raise UserError(f"{shlex.join(words) or 'no argument'} was given; {cure * is_divided}usage: {usage}")
    pairs = enumerate(places[: len(words)])
    return {
        place.name: tuple(words[number:]) if place.is_list else place.read(words[number]) for number, place in pairs
    }


def _read_boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


READERS: Mapping[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: _read_boolean,
    Path: expand_home,
    tuple[str, ...]: read_list,
}
"""The type of a field -> the function that converts a text to it."""
NOUNS: Mapping[Any, str] = {int: "a whole number", float: "a number", bool: "true or false"}
"""The type of a field -> what its texts must be."""
