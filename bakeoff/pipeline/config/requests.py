"""The requests of verbs: each word of a command is declared once, as a field of a frozen dataclass.

The annotation of a field has its type and, in a `Word`, the values that are allowed and how it is written; the
docstring describes it. The parser of the command line, its help, the completion of shells and the check of values from
Python are made from these declarations. A field has the name of the keyword in Python; in a key of the command line,
two underscores become a dot.
"""

import inspect
import re
import shlex
import textwrap
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from math import inf
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from bakeoff.pipeline.config.trust import TRUST_KEY, read_trust
from bakeoff.pipeline.config.words import read_list
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.tables.document import JSON_WORD
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
BOOLEANS = ("false", "true")
ANY_KEY = "KEY"
"""The key of a mapping that takes all keys."""
SENTENCES = re.compile(r"^(\w[\w, ]*) : .*\n((?: +.+\n?)+)", re.MULTILINE)
"""The descriptions of fields in a docstring: their names, and the indented lines after them."""
HELP_COLUMNS = 110
KEY_COLUMNS = 22


@dataclass(frozen=True)
class Bounds:
    """The numbers that a field may have.

    Attributes
    ----------
    low, high : float
    is_open : bool
        Whether both bounds are excluded; infinity always is.

    Examples
    --------
    >>> 0 in Bounds(0, 1), 0 in Bounds(0, 1, is_open=True), float("nan") in Bounds(0)
    (True, False, False)
    >>> str(Bounds(2, 100)), str(Bounds(0, 1, is_open=True)), str(Bounds(1))
    ('at least 2 and at most 100', 'above 0 and below 1', 'at least 1')
    """

    low: float
    high: float = inf
    is_open: bool = False

    def __contains__(self, number: float) -> bool:
        is_between = self.low < number < self.high if self.is_open else self.low <= number <= self.high
        return is_between and number != inf

    def __str__(self) -> str:
        above, below = ("above", "below") if self.is_open else ("at least", "at most")
        return f"{above} {self.low:.15g}" + (f" and {below} {self.high:.15g}" if self.high != inf else "")


@dataclass(frozen=True)
class Word:
    """What an annotation declares about a field of a request, besides its type.

    Attributes
    ----------
    place : str
        The name of the word in the usage of the command if it is given without a key.
    key : str
        The key, if it is not the name of the field.
    kinds : mapping of str to type
        The keys of a field that is a mapping, and the types of their values.
    allowed : tuple of str, Bounds or None
        The values that are allowed; None allows every value of the type.
    """

    place: str = ""
    key: str = ""
    kinds: Mapping[str, Any] = field(default_factory=dict)
    allowed: tuple[str, ...] | Bounds | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """What a command asks for: its fields are the words of the command."""

    def __post_init__(self) -> None:
        for argument in list_arguments(type(self)):
            argument.require_allowed(getattr(self, argument.name))


def list_store_words(uri: Any = None, experiment: Any = DEFAULT_EXPERIMENT) -> list[str]:
    """Return the words that select a store on the command line, without default values."""
    words = [] if uri is None else [f"tracking.uri={uri}"]
    return words if experiment == DEFAULT_EXPERIMENT else [*words, f"tracking.experiment={experiment}"]


@dataclass(frozen=True, kw_only=True)
class StoreRequest(Request):
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
class TrustRequest(Request):
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

    run: Annotated[str, Word(place="RUN")]
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
    """A request about a model and the rows of a file, which is read like the file of the training rows.

    Attributes
    ----------
    layout : mapping of str to object
        How the file differs from that of the training rows, as in conf/dataset/file.yaml.
    """

    layout: Annotated[Mapping[str, Any], Word(kinds=LAYOUT_KINDS)] = field(default_factory=dict)


@dataclass(frozen=True)
class Argument:
    """A word of a command, or all words that one key takes.

    Attributes
    ----------
    name : str
        The name of the field.
    part : str
        The key in a field that is a mapping; empty for other fields.
    word : str
        The key of the word, or the name of a word without a key.
    hint : type
        The annotation of its value.
    default : object
        The default of the field; `MISSING` if it has none.
    declared : Word
    sentence : str
        The description in the docstring of the request.
    """

    name: str
    part: str
    word: str
    hint: Any
    default: Any
    declared: Word
    sentence: str

    @property
    def may_be_null(self) -> bool:
        """Whether None is allowed."""
        return NoneType in get_args(self.hint)

    @property
    def kind(self) -> Any:
        """The type of a value that is not None."""
        return get_args(self.hint)[0] if self.may_be_null else self.hint

    @property
    def has_key(self) -> bool:
        """Whether it is written as KEY=VALUE."""
        return not self.declared.place

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is MISSING

    @property
    def is_list(self) -> bool:
        """Whether it accepts several words."""
        return not self.has_key and self.kind == tuple[str, ...]

    @property
    def choices(self) -> Sequence[str]:
        """The values that are allowed, if they can be listed."""
        allowed = self.declared.allowed
        return BOOLEANS if self.kind is bool else allowed if isinstance(allowed, tuple) else ()

    def describe(self) -> str:
        """Return the description with the values that are allowed, and the default."""
        allowed = self.declared.allowed
        sentence = self.sentence
        if allowed is not None:
            sentence += f" Allowed: {allowed if isinstance(allowed, Bounds) else ', '.join(allowed)}."
        if self.default in (None, MISSING, "", ()):
            return sentence
        return f"{sentence} Default: {BOOLEANS[self.default] if self.kind is bool else self.default}."

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

    def require_allowed(self, value: Any) -> None:
        """Reject a value that the declaration does not allow.

        Raises
        ------
        UserError
        """
        allowed = self.declared.allowed
        if allowed is None or (value is None and self.may_be_null) or value in allowed:
            return
        if isinstance(allowed, Bounds):
            raise UserError(f"{self.word}={value:.15g} must be {allowed}. {self.sentence}")
        raise UserError(f"{self.word}={value}: {did_you_mean(str(value), allowed)}")


def list_arguments(request: type) -> list[Argument]:
    """Return the arguments of a verb: those without a key first, then its specific keys, then the common ones."""
    hints = get_type_hints(request, include_extras=True)
    sentences = read_sentences(request)
    arguments = [
        argument
        for each in fields(request)
        for argument in _list_words(each, hints[each.name], sentences.get(each.name, ""))
    ]
    own = request.__annotations__
    return sorted(arguments, key=lambda argument: (argument.has_key, argument.has_key and argument.name not in own))


def _list_words(field: Field[Any], hint: Any, sentence: str) -> list[Argument]:
    """Return the argument that a field declares, or one for each key of a mapping."""
    is_annotated = get_origin(hint) is Annotated
    kind, declared = get_args(hint) if is_annotated else (hint, Word())
    key = declared.place or declared.key or field.name.replace("__", ".")
    default = field.default if field.default_factory is MISSING else None
    return [
        Argument(field.name, part, part or key, each, default, declared, sentence)
        for part, each in (declared.kinds or {"": kind}).items()
    ]


def require_value(request: type, name: str, value: Any) -> None:
    """Reject a value that the declaration of a field does not allow.

    Raises
    ------
    UserError
    """
    next(argument for argument in list_arguments(request) if argument.name == name).require_allowed(value)


def read_request(verb: str, request: type[R], words: Sequence[str]) -> R:
    """Create a request from words.

    Parameters
    ----------
    verb : str
    request : type
        A subclass of `Request`.
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
            raise UserError(f"{key} is not a key. {did_you_mean(key, [*by_key, JSON_WORD])}")
        if key in given:
            raise UserError(f"{key}= is given twice, the second time as {word}; give it once.")
        given.add(key)
        if argument.part:
            values.setdefault(argument.name, {})[key] = argument.read(text)
        else:
            values[argument.name] = argument.read(text)
    places = [argument for argument in arguments if not argument.has_key]
    n_required = sum(place.is_required for place in places)
    has_too_many = len(placed) > len(places) and not (places and places[-1].is_list)
    if len(placed) < n_required or has_too_many or any(word.startswith("-") for word in placed):
        is_divided = any(word.endswith(("]", "}")) for word in placed)
        cure = "the shell divides a value at its spaces: write 'KEY={NAME: VALUE}' in quotation marks; "
        usage = format_usage(verb, request)
        raise UserError(f"{shlex.join(placed) or 'no argument'} was given; {cure * is_divided}usage: {usage}")
    for number, (place, word) in enumerate(zip(places, placed, strict=False)):
        values[place.name] = tuple(placed[number:]) if place.is_list else place.read(word)
    for argument in arguments:
        if argument.is_required and argument.name not in values:
            raise UserError(f"{argument.word}=… must be given. {argument.sentence}")
    return request(**values)


def divide_words(request: type, words: Iterable[str], others: Container[str] = ()) -> tuple[list[str], list[str]]:
    """Return the words with a key of a request, and all others.

    Parameters
    ----------
    request : type
    words : iterable of str
    others : container of str
        Keys of the request that belong to the other words here.
    """
    keys = {argument.word for argument in list_arguments(request) if argument.has_key and argument.word not in others}
    own = [word for word in words if "=" in word and word.partition("=")[0].lstrip("+") in keys]
    return own, [word for word in words if word not in own]


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
        keys.setdefault((argument.name, argument.describe()), []).append(word)
    paragraphs = []
    for (_, description), words in keys.items():
        text = f"{', '.join(words):<{KEY_COLUMNS - 1}} {description}"
        indent = " " * KEY_COLUMNS
        paragraphs.append(textwrap.fill(text, HELP_COLUMNS, subsequent_indent=indent, break_long_words=False))
    return "\n".join(paragraphs)


def read_sentences(request: type) -> dict[str, str]:
    """Return the description of each field in the docstrings of a request and its base classes."""
    sentences = {}
    for each in reversed(inspect.getmro(request)):
        for names, text in SENTENCES.findall(inspect.cleandoc(each.__doc__ or "")):
            sentences.update(dict.fromkeys(names.split(", "), " ".join(text.split())))
    return sentences


READERS: Mapping[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: lambda text: bool(BOOLEANS.index(text)),
    Path: expand_home,
    tuple[str, ...]: read_list,
}
"""The type of a field -> the function that converts a text to it."""
NOUNS: Mapping[Any, str] = {int: "a whole number", float: "a number", bool: "true or false"}
"""The type of a field -> what its texts must be."""
