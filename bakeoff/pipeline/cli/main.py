"""The entry point: verbs and their help, completion, exit codes, signals and streams.

A verb is a first word that stands in the table of commands; its module is imported when it is called. All other words
describe an experiment or a sweep and are passed to Hydra. Heavy packages are imported when a job runs, so that help,
``--cfg job`` and the error for a misspelled key appear immediately.

With ``to=json``, standard output has one JSON document and nothing else.

The exit code is 0 if all jobs are done, 1 if a job failed, 2 if the command was refused before anything ran, 130 or 143
if the command was ended by Ctrl-C or SIGTERM, and 129 if the terminal was closed.
"""

from __future__ import annotations

import gc
import inspect
import io
import os
import re
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from errno import EINVAL, ENAMETOOLONG, EPIPE
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, final

from bakeoff.pipeline.cli.refusal import describe_refusal
from bakeoff.pipeline.commands import COMMANDS, Command, read_pages
from bakeoff.pipeline.commands import load as load
from bakeoff.pipeline.config.flags import TRACEBACK_VARIABLE, VERSION_FLAG, shows_tracebacks
from bakeoff.pipeline.errors import STORE_THREAD, UserError, did_you_mean, placing_errors
from bakeoff.pipeline.system import find_signals
from bakeoff.pipeline.tables.document import JSON_WORD, Answer
from bakeoff.pipeline.text.secrets import describe_error, format_traceback, hide_secrets
from bakeoff.pipeline.text.wording import print_note
from bakeoff.version import __version__

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


HELP_FLAGS = ("-h", "--help")
HELP = "help"
VERBS: Mapping[str, Command] = {
    **COMMANDS,
    HELP: Command("VERB", "describe a verb and its words", "cli.main.show_help", words="[VERB ...]"),
}
OPENING = """\
bakeoff runs machine-learning experiments that are described in YAML.

bakeoff [KEY=VALUE ...]          run one experiment; with -m, a sweep over comma-separated values
"""
ENDING = """
bakeoff [...] to=json            print one JSON document to standard output, and all else to standard error
bakeoff --version                print the version

An experiment chooses an option of each group with GROUP=OPTION, and sets its keys with GROUP.KEY=VALUE. Groups, with
their numbers of options:
"""
NEXT_STEPS = """
bakeoff list learner             list the options of a group, each with a sentence
bakeoff list learner=knn         show the keys of an option with their defaults and allowed values
bakeoff [KEY=VALUE ...] --cfg job  print the composed configuration without running it
bakeoff --hydra-help             list Hydra's flags"""
LINE_LETTERS = 118
USAGE_LETTERS = 33
INDENT = "  "


def run_verb(verb: str, words: Sequence[str]) -> int | Answer:
    """Run a verb, or print its help, and return the exit code or the answer.

    Raises
    ------
    UserError
        The request is invalid; the message begins with the verb.
    """
    if any(word in HELP_FLAGS for word in words) or (verb == "compare" and not words):
        return show_help([verb])
    called = VERBS[verb]
    run: Callable[[Any], int | Answer] = load(called.function)
    with placing_errors(verb):
        if called.words:
            return run(words)
        from bakeoff.pipeline.config.requests import read_request

        return run(read_request(verb, load(called.request), words))


def format_help(verb: str) -> str:
    """Return the description of a verb and the words that it accepts."""
    called = VERBS[verb]
    summary = (inspect.getdoc(load(called.function)) or "").partition("\n\n")[0]
    if not called.request:
        return f"bakeoff {verb} {called.words}\n\n{summary}"
    # The verb imports packages, which a folder of the same name in the current folder must not replace.
    from bakeoff.pipeline.config.requests import format_arguments, format_usage

    request = load(called.request)
    usage = f"{format_usage(verb, request)} {called.words}".strip()
    return f"{usage}\n\n{summary}\n\n{format_arguments(request)}"


def show_help(words: Sequence[str]) -> Answer:
    """Print a description of verbs and the words that they accept; without a verb, print an overview.

    Raises
    ------
    UserError
        A word is not a verb.
    """
    pages = {} if VERBS.keys() >= set(words) else read_pages()
    for word in words:
        if word not in VERBS and word not in pages:
            raise UserError(f"{word} is not a verb. {did_you_mean(word, VERBS)} For options, use `bakeoff list`.")
    shown = [f"{word}  {pages[word]}" if word in pages else format_help(word) for word in words]
    print("\n\n".join(shown) or format_overview())
    checks = {word: pages[word] for word in words if word in pages}
    verbs = [word for word in words if word not in pages] if words else VERBS
    return Answer("help", lambda: {"verbs": {verb: _describe_verb(verb) for verb in verbs}, "checks": checks})


def _describe_verb(verb: str) -> Mapping[str, Any]:
    """Return the help of a verb, and its words with a sentence each."""
    from bakeoff.pipeline.config.requests import list_arguments

    request = VERBS[verb].request
    words = {each.word: each.describe() for each in list_arguments(load(request))} if request else {}
    return {"text": format_help(verb), "words": words}


def format_overview() -> str:
    """Return the verbs, the groups of options with their numbers of options, and where to find more."""
    from bakeoff.pipeline.config.options import LISTED, METRIC_LIST, read_listing

    listings = {group: read_listing(group) for group in LISTED if group != METRIC_LIST}
    counts = [f"{group} {len(shipped) + len(own)}" for group, (shipped, own) in listings.items()]
    groups = textwrap.fill(", ".join(counts), LINE_LETTERS, initial_indent=INDENT, subsequent_indent=INDENT)
    usages = {f"bakeoff {verb} {command.usage}": command.sentence for verb, command in VERBS.items()}
    lines = "\n".join(f"{usage:<{USAGE_LETTERS}}{sentence}" for usage, sentence in usages.items())
    return f"{OPENING}{lines}{ENDING}{groups}\n{NEXT_STEPS}"


COMPLETION_FLAGS = ("-sc", "--shell-completion")
QUERY = "query="
"""The beginning of the value with which a shell asks for completions."""
LINE_VARIABLE = "COMP_LINE"
"""Contains the line to complete."""


def complete_line(line: str) -> str | None:
    """Print the completions of the last word of a line, and return the line whose completion is left to Hydra.

    Verbs are read from the table, and their keys and values from their requests. Hydra completes the words of
    experiments, which some verbs also take.
    """
    program, *words = re.split(" +", line.lstrip())
    verb, *others = words or [""]
    if not others:
        completions = [*VERBS]
        remaining: str | None = line
    elif verb not in VERBS:
        return " ".join([program, *words])
    elif verb == HELP:
        completions, remaining = [*VERBS], None
    else:
        from bakeoff.pipeline.config.requests import ANY_KEY, list_arguments

        called = VERBS[verb]
        arguments = list_arguments(load(called.request)) if called.request else []
        choices = {f"{argument.word}=": argument.choices for argument in arguments if argument.has_key}
        takes_experiment = called.words or choices.pop(f"{ANY_KEY}=", None) is not None
        pairs = [f"{key}{choice}" for key in choices for choice in choices[key]]
        completions = pairs if "=" in others[-1] else [*choices]
        *before, last = others
        of_experiment = [word for word in before if f"{word.partition('=')[0]}=" not in choices]
        remaining = " ".join([program, *of_experiment, last]) if takes_experiment else None
    print("\n".join(word for word in completions if word.startswith(words[-1] if words else "")))
    return remaining


RUN_WORDS = "commands.run.command.run_experiments"
"""Runs the experiment or the sweep that words without a verb describe."""
OPTION_PREFIXES = ("-", "~", "+")
"""First characters of flags and of overrides that delete or add a key."""
EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_SIGNAL_BASE = 128
REFUSED_BEFORE = "the jobs cannot run, for the reasons on standard error; correct them."
GC_THRESHOLD_OBJECTS = 500_000


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, raised like Ctrl-C so that the current run is ended as KILLED.

    Parameters
    ----------
    number : int
        The number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main() -> NoReturn:
    """Run the command and exit."""
    # Imports create many objects but no garbage, and frequent collections would account for a fifth of a short run.
    gc.set_threshold(GC_THRESHOLD_OBJECTS)
    signal.signal(signal.SIGTERM, _raise_terminated)
    # Closing the terminal ends the command unless it was started by nohup.
    for hangup in find_signals("SIGHUP"):
        if signal.getsignal(hangup) == signal.SIG_DFL:
            signal.signal(hangup, _raise_terminated)
    prepare_streams()
    status = run_words(sys.argv[1:])
    gc.freeze()  # there is no garbage worth collecting at exit either
    leave(status)


def leave(status: int) -> NoReturn:
    """End the process, even if a call to the store is still waiting for an answer."""
    if JSON_WORD in sys.argv:
        os.dup2(STANDARD_ERROR, STANDARD_OUTPUT)  # libraries in C write what they have buffered when a process ends
    if any(thread.name == STORE_THREAD for thread in threading.enumerate()):
        # Python would wait for the threads in which MLflow receives files.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    sys.exit(status)


def _search_current_folder() -> None:
    """Let trusted packages, such as user-defined learners, be found in the current folder, and no other modules.

    ``python -m`` puts that folder on the import path.
    """
    from bakeoff.pipeline.identity.source_code import UserModuleFinder

    try:
        folder = os.getcwd()
    except FileNotFoundError:
        raise UserError(
            "the current folder was deleted; change to an existing folder, for example with cd ~."
        ) from None
    if sys.path and sys.path[0] == folder:
        del sys.path[0]
    UserModuleFinder(folder).install()


def _require_database() -> None:
    """Refuse an interpreter that was built without SQLite, in which runs are stored."""
    if find_spec("_sqlite3") is None:
        raise UserError(
            f"{sys.executable} lacks the module sqlite3, in which runs are stored; use a Python that has it, such as "
            "that of the system, or build this one again where SQLite's header files are installed."
        )


def run_words(words: Sequence[str]) -> int:
    """Run a command line and return its exit code.

    Parameters
    ----------
    words : sequence of str
        The command line without the program name.
    """
    if JSON_WORD not in words:
        return _answer_words(words).status
    with reserving_output():
        answer = _answer_words([word for word in words if word != JSON_WORD], is_for_program=True)
    try:
        sys.stdout.write(answer.document)
    except OSError as error:  # such as a full disk
        return _fail(f"standard output cannot be written: {error.strerror}").status
    return answer.status


@contextmanager
def reserving_output() -> Iterator[None]:
    """Send what the block and its processes write to standard output to standard error."""
    sys.stdout.flush()
    output = os.dup(STANDARD_OUTPUT)
    os.dup2(STANDARD_ERROR, STANDARD_OUTPUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(output, STANDARD_OUTPUT)
        os.close(output)


def answer_words(words: Sequence[str]) -> Answer:
    """Run a command line and return its answer, which is the exit code if the command has no other.

    Raises
    ------
    UserError
        The command is refused.
    """
    if VERSION_FLAG in words:
        print(f"bakeoff {__version__}")
        return Answer("version", lambda: {"version": __version__})
    _search_current_folder()
    _require_database()
    from bakeoff.pipeline.config.words import conceal_passwords, require_encoded

    require_encoded([*words, os.getcwd()])
    words = conceal_passwords(words)
    if words and words[0] in VERBS:
        answer = run_verb(words[0], words[1:])
    elif any(word in HELP_FLAGS for word in words):
        answer = show_help([])
    elif words[:1] and words[0] in COMPLETION_FLAGS and words[-1].startswith(QUERY):
        answer = _complete(words)
    else:
        _require_option(words)
        answer = load(RUN_WORDS)(words)
    if answer == EXIT_REFUSED:
        return Answer("refusal", lambda: describe_refusal(REFUSED_BEFORE, words), EXIT_REFUSED)
    return answer if isinstance(answer, Answer) else Answer("exit", dict, answer)


def _complete(words: Sequence[str]) -> int:
    """Print the completions of the line of a shell."""
    remaining = complete_line(os.environ.get(LINE_VARIABLE, ""))
    if remaining is not None:
        os.environ[LINE_VARIABLE] = remaining
        with suppress(UserError):  # a shell would print the reason into the line
            load(RUN_WORDS)(words)
    return 0


def _answer_words(words: Sequence[str], *, is_for_program: bool = False) -> Answer:
    """Run a command line, and return its answer, or print its refusal or its failure and return that."""
    has_tracebacks = shows_tracebacks()
    try:
        answer = answer_words(words)
        assert not is_for_program or answer.document  # an error of the document is one of the command
        return answer
    except UserError as error:
        if has_tracebacks and error.__context__ is not None:
            print(format_traceback(error.__context__), file=sys.stderr)
        return _refuse(str(error), words)
    except SystemExit as error:
        return _fail(f"the code that this command ran has called sys.exit({error.code!r})")
    except Exception as error:
        if has_tracebacks:
            print(getattr(error, "trace", "") or format_traceback(error), file=sys.stderr)
        if isinstance(error, OSError) and error.errno == ENAMETOOLONG:
            name = hide_secrets(str(error.filename))
            return _refuse(f"{name} is too long for the name of a file; shorten it.", words)
        hint = "" if hasattr(error, "is_sentence") else f" ({TRACEBACK_VARIABLE}=1 in the environment shows where)"
        return _fail(" ".join(describe_error(error).split()) + hint)
    except KeyboardInterrupt as error:
        number = error.number if isinstance(error, Terminated) else signal.SIGINT
        sentence = f"interrupted by {'Ctrl-C' if number == signal.SIGINT else signal.Signals(number).name}"
        with suppress(OSError):  # the output may no longer be read
            print(sentence, file=sys.stderr)
        return Answer("failure", lambda: {"failed": sentence}, EXIT_SIGNAL_BASE + number)


def _refuse(sentence: str, words: Sequence[str]) -> Answer:
    print_note(f"refused: {sentence}")
    return Answer("refusal", lambda: describe_refusal(sentence, words), EXIT_REFUSED)


def _fail(sentence: str) -> Answer:
    print_note(f"failed: {sentence}")
    return Answer("failure", lambda: {"failed": sentence}, EXIT_FAILED)


def _require_option(words: Sequence[str]) -> None:
    """Reject a first word that is neither a flag nor an override, because it is probably a misspelled verb."""
    first = words[0] if words else ""
    if first and "=" not in first and not first.startswith(OPTION_PREFIXES):
        raise UserError(f"{first!r} is neither a verb nor KEY=VALUE. {did_you_mean(first, VERBS)}")


def _raise_terminated(number: int, frame: Any) -> None:
    raise Terminated(number)


STANDARD_OUTPUT = 1
STANDARD_ERROR = 2
"""File descriptors."""
CLOSED_PIPE = (EPIPE, EINVAL)
"""The errors of a pipe without a reader; the second is that of Windows."""
UNKNOWN_LETTERS = "backslashreplace"
"""How to write letters that the encoding of a terminal lacks."""


def prepare_streams() -> None:
    """Make standard output and standard error writable for the whole command, whatever they are connected to.

    A closed stream, as created by ``>&-``, discards what is written to it. Its descriptor is occupied, because a file
    opened later, such as the store, would otherwise receive the output of other code.
    """
    for descriptor in range(STANDARD_ERROR + 1):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        sys.stdout = _open_stream(sys.stdout, STANDARD_OUTPUT)
    if sys.stderr is None or sys.stderr is sys.__stderr__:
        sys.stderr = _open_stream(sys.stderr, STANDARD_ERROR)


def _open_stream(stream: TextIO | None, descriptor: int) -> TextIO:
    if stream is None:
        return open(descriptor, "w", encoding="utf-8", closefd=False)
    try:
        return keep_writable(stream)
    except OSError:  # it has no descriptor, as in a notebook
        return stream


def keep_writable(stream: TextIO) -> TextIO:
    """Return a stream to the same file descriptor that remains writable after its reader has ended.

    Parameters
    ----------
    stream : TextIO
        Standard output or standard error.
    """
    stream.flush()
    raw = LastingFile(stream.fileno(), "w", closefd=False)
    if isinstance(stream, io.TextIOWrapper) and not isinstance(getattr(stream.buffer, "raw", raw), io.FileIO):
        stream.reconfigure(errors=UNKNOWN_LETTERS)  # a console of Windows, which expects letters and no bytes
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=UNKNOWN_LETTERS,
        line_buffering=True,
    )


@final
class LastingFile(io.FileIO):
    """A file descriptor that discards data once its file can no longer be written.

    If the reader of a pipe has ended, the experiment continues, so that no run is lost. Any other error, such as a full
    disk, is raised once: what is still buffered when the process ends is discarded.
    """

    def write(self, data: ReadableBuffer) -> int:
        """Write bytes and return their number; after an error, discard all further bytes.

        Raises
        ------
        OSError
            The bytes cannot be written, for another reason than a pipe without a reader.
        """
        try:
            return super().write(data)
        except OSError as error:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if error.errno not in CLOSED_PIPE:
                raise
            return super().write(data)
