"""The capsule of a study, one zip file, and the folder of its verification.

Both may come from anybody. Only files with the names that `bakeoff paper` writes are read from a capsule, so none can
be written outside the folder of its verification, nor as a part of the store in it. All files have a limit, and the
manifest, which has a digest of each other file, is checked as a whole.

The store in a folder of a verification may have runs that no job made. The folder is used again only if it has the mark
of an earlier verification in this place: the name of the mark contains the time at which another file of the folder was
created, as the system recorded it, which no archive and no repository can restore.
"""

import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from bakeoff.pipeline.commands.paper import carried_runs
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.system import find_user
from bakeoff.pipeline.tables.output_file import replace_file, write_whole
from bakeoff.pipeline.text.wording import cut_text
from bakeoff.pipeline.tracking.stored_runs import TAG_FORMS

CODE_FOLDER = "code"
FORMAT, MANIFEST = carried_runs.FORMAT, carried_runs.MANIFEST
RUNS, SCORES = carried_runs.RUNS, carried_runs.SCORES
TABLES = "tables.tex"
STUDY = "study.yaml"
DATA = "data.csv"
REQUIREMENTS = "requirements.txt"
NEEDED = (TABLES, "methods.tex", "references.bib", STUDY, DATA, SCORES, REQUIREMENTS, "README.md")
FOLDERS = (r"figures/[\w-]+\.pdf", r"data/(?!\.)[^/\\]+", r"code/(?:\w+/)*\w+\.py")
FILE = re.compile("|".join([*map(re.escape, (*NEEDED, RUNS, MANIFEST)), *FOLDERS]))
"""The names of files: a fixed list, and those in three folders."""
TABLES_OF_ROWS = (SCORES, RUNS, "data/")
"""The beginnings of the names of files whose size depends on the study."""
MAX_BYTES = 1 << 30
MAX_TEXT_BYTES = 1 << 24
"""The maximum size of a file that has no rows."""
MAX_LETTERS = 1000
FACTS: Mapping[str, Mapping[str, Any]] = {
    "comparison": {
        "base": str,
        "metrics": list | None,
        "alpha": float | int,
        "rope": float | int,
        "pairs": str,
        "overall": str,
        "choice": str,
        "until": str,
        "repeats": int,
    },
    "style": {"decimals": int | None, "percent": bool, "std": bool},
    "environment": {"versions": str, "blas": str, "threads": str},
}
"""What the manifest has besides digests, with the types in JSON: the keys that determine the numbers of a comparison of
the same runs, the style of its tables, and the tags of a run that may explain other scores."""
DATE = (1980, 1, 1, 0, 0, 0)
"""The date of each file, so that equal studies have equal capsules."""
ORIGIN = ".verification"
"""An empty file, which is created with the folder and never changed."""
STORE = "mlflow.db"
STORE_BYTES = 8
"""The length of the random number in the name of the folder of the store, which nobody can know in advance."""

Files = Mapping[str, bytes]
"""Name -> content."""


def compute_digest(content: bytes) -> str:
    """Return the SHA-256 digest of the content as a hexadecimal string."""
    return hashlib.sha256(content).hexdigest()


def list_packages(names: Iterable[str]) -> set[str]:
    """Return the packages of the code in a capsule, given the names of its files."""
    paths = [PurePath(name) for name in names]
    return {path.parts[1].removesuffix(".py") for path in paths if path.parts[0] == CODE_FOLDER}


def write_capsule(path: Path, files: Files, facts: Mapping[str, Any]) -> None:
    """Write a capsule; equal contents give equal bytes.

    Parameters
    ----------
    path : Path
    files : mapping of str to bytes
    facts : mapping
        What the manifest has besides the digests of the files.
    """
    digests = {name: compute_digest(content) for name, content in files.items()}
    manifest = json.dumps({"format": FORMAT, **facts, "files": digests}, indent=1)
    with replace_file(path) as temporary, ZipFile(temporary, "w") as archive:
        for name, content in {**files, MANIFEST: manifest.encode()}.items():
            archive.writestr(ZipInfo(name, DATE), content, ZIP_DEFLATED)


@contextmanager
def reject_damage(path: Path) -> Iterator[None]:
    """Reject a capsule that has another form than the block reads."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # a damaged archive raises errors of many kinds
        reason = cut_text(repr(error), MAX_LETTERS)
        raise UserError(
            f"{path} is damaged or not a capsule of `bakeoff paper`: {reason}; ask the authors for the file."
        ) from error


def read_capsule(path: Path) -> tuple[Files, dict[str, Any]]:
    """Return the files and the manifest of a capsule.

    Raises
    ------
    UserError
        It is not a capsule or has another version, a fact is missing or has another type, or a file is missing, has
        another digest, is too large or belongs to no capsule.
    """
    if not path.is_file() or path.stat().st_size > MAX_BYTES:
        raise UserError(
            f"{path} is not a file of at most {MAX_BYTES:,} bytes (looked in {Path.cwd()}); give a capsule, which "
            "`bakeoff paper` writes."
        )
    with reject_damage(path), ZipFile(path) as archive:
        _require_harmless(archive.infolist())
        # `read` without a size would decompress an entry completely, even if it is larger than its declared size.
        files = {entry.filename: archive.open(entry).read(max(entry.file_size, 1)) for entry in archive.infolist()}
        manifest = json.loads(files.pop(MANIFEST))
        version = manifest["format"]
        if version != FORMAT:
            raise UserError(
                f"{path} has format {cut_text(str(version), MAX_LETTERS)}, and this version of bakeoff reads format "
                f"{FORMAT}; install the packages of its {REQUIREMENTS}."
            )
        digests = dict(manifest["files"])
        for place, kinds in FACTS.items():
            _require_facts(place, manifest[place], kinds)
    for name in dict.fromkeys([*NEEDED, *digests, *files]):
        if name not in files or compute_digest(files[name]) != digests.get(name):
            raise UserError(f"{name} is missing, or does not match its digest in the {MANIFEST} of {path}.")
    return files, manifest


def _require_facts(place: str, given: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Reject a part of the manifest that lacks a fact, or has one of another type or form."""
    for key, kind in kinds.items():
        value = given[key]
        form = TAG_FORMS.get(key, rf"(?s:.{{,{MAX_LETTERS}}})")
        text = ",".join(value) if isinstance(value, list) else str(value)
        if not isinstance(value, kind) or not re.fullmatch(form, text):
            shown = cut_text(repr(value), MAX_LETTERS)
            raise UserError(
                f"{place}.{key}={shown} in {MANIFEST} was not written by `bakeoff paper`; ask the authors of the "
                "capsule."
            )


def _require_harmless(entries: list[ZipInfo]) -> None:
    """Reject an archive with links, with names that occur twice or belong to no capsule, or with too many bytes."""
    for entry in entries:
        name = entry.filename
        is_link = stat.S_ISLNK(entry.external_attr >> 16)
        is_compressed_as_written = entry.compress_type in (ZIP_STORED, ZIP_DEFLATED)
        if is_link or not FILE.fullmatch(name) or not is_compressed_as_written:
            raise UserError(f"{name!r} is {'a link' if is_link else 'not a file of a capsule'}; nothing was written.")
        if entry.file_size > MAX_TEXT_BYTES and not name.startswith(TABLES_OF_ROWS):
            raise UserError(f"{name} has {entry.file_size:,} bytes, but may have at most {MAX_TEXT_BYTES:,}.")
    if len({entry.filename for entry in entries}) < len(entries):
        raise UserError("a file is in the archive twice; nothing was written.")
    n_bytes = sum(entry.file_size for entry in entries)
    if n_bytes > MAX_BYTES:
        raise UserError(
            f"the files have {n_bytes:,} bytes, but may have at most {MAX_BYTES:,}; leave the data out (data=FOLDER)."
        )


def open_folder(folder: Path, digest: str, files: Files) -> Path:
    """Write the files of a capsule into the folder of its verification, and return the path of its store.

    The files that an earlier verification wrote are replaced. Its store is used again if the capsule is the same.

    Parameters
    ----------
    folder : Path
        An absolute path.
    digest : str
        The SHA-256 of the capsule.
    files : mapping of str to bytes

    Raises
    ------
    UserError
        `verify` did not make the folder, or a file in it is not as it was written; nothing is changed.
    """
    origin = folder / ORIGIN
    earlier: dict[str, Any] = {"capsule": "", "files": {}}
    if os.path.lexists(folder):
        if not (_is_plain(origin) and _find_mark(origin).is_file()):
            raise UserError(
                f"{folder.name} was not made here by `verify` for this user: its files may be yours, and its runs "
                "may be made up; move it away, or verify in another folder."
            )
        earlier = json.loads(_find_mark(origin).read_bytes())
    for name in {**earlier["files"], **files}:
        _require_replaceable(folder / name, earlier["files"].get(name))
    folder.mkdir(exist_ok=True)
    origin.open("a").close()
    for name in earlier["files"]:
        (folder / name).unlink(missing_ok=True)
    is_new = earlier["capsule"] != digest
    store = f"runs-{secrets.token_hex(STORE_BYTES)}" if is_new else earlier["store"]
    digests = {name: compute_digest(content) for name, content in files.items()}
    # The mark is written first, because an interruption may leave any of the files.
    write_whole(_find_mark(origin), json.dumps({"capsule": digest, "store": store, "files": digests}))
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / name, content)
    return folder / store / STORE


def _find_mark(origin: Path) -> Path:
    """Return the path of the mark of a folder, given a file whose time only the system sets."""
    found = origin.stat()
    return origin.with_name(f"{ORIGIN}-{found.st_ino}-{found.st_ctime_ns}.json")


def _require_replaceable(file: Path, digest: str | None) -> None:
    """Reject a file that `verify` did not write, or that was changed since."""
    place = next(path for path in (file, *file.parents) if os.path.lexists(path))
    is_free = place != file and place.is_dir() and _has_no_links(place)
    if not is_free and not (_is_plain(file) and compute_digest(file.read_bytes()) == digest):
        raise UserError(f"{file} is a link, or differs from what `verify` wrote; move it away to keep it.")


def _has_no_links(path: Path) -> bool:
    return os.path.realpath(path) == str(path)


def _is_plain(file: Path) -> bool:
    """Whether a file is a regular one of this user, which is not reached by a link."""
    return _has_no_links(file) and file.is_file() and file.stat().st_uid == find_user()
