"""The capsule of a study: one zip file, whose manifest has a digest of each other file.

A capsule may come from anybody. Only files with the names that `bakeoff paper` writes are read, so none can be written
outside the folder of a verification.
"""

import hashlib
import json
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tables.output_file import replace_file

CODE_FOLDER = "code"
FORMAT = 1
"""The version of the format of capsules."""
MANIFEST = "manifest.json"
TABLES = "tables.tex"
STUDY = "study.yaml"
DATA = "data.csv"
SCORES = "scores.parquet"
REQUIREMENTS = "requirements.txt"
NEEDED = (TABLES, "methods.tex", "references.bib", STUDY, DATA, SCORES, REQUIREMENTS, "README.md")
FILE = re.compile(r"[\w-]+\.\w+|figures/[\w-]+\.pdf|data/(?!\.)[^/\\]+|code/(\w+/)*\w+\.py")
MAX_BYTES = 1 << 30
DATE = (1980, 1, 1, 0, 0, 0)
"""The date of each file, so that equal studies have equal capsules."""

Files = Mapping[str, bytes]
"""Name -> content."""


def compute_digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal digits."""
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
    except FileNotFoundError as error:
        raise UserError(f"there is no file {path}.") from error
    except Exception as error:  # a damaged archive raises errors of many kinds
        raise UserError(f"{path} is damaged or not a capsule of `bakeoff paper`: {error!r}.") from error


def read_capsule(path: Path) -> tuple[Files, dict[str, Any]]:
    """Return the files and the manifest of a capsule.

    Raises
    ------
    UserError
        It is not a capsule or has another version, or a file is missing, has another digest or belongs to no capsule.
    """
    with reject_damage(path), ZipFile(path) as archive:
        _require_harmless(archive.infolist())
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        manifest = json.loads(files.pop(MANIFEST))
        version = manifest["format"]
        digests = dict(manifest["files"])
    if version != FORMAT:
        raise UserError(
            f"{path} has format {version}, and this version of bakeoff reads format {FORMAT}; install the packages of "
            f"its {REQUIREMENTS}."
        )
    for name in dict.fromkeys([*NEEDED, *digests, *files]):
        if name not in files or compute_digest(files[name]) != digests.get(name):
            raise UserError(f"{name} is missing, or is not the file of which {MANIFEST} of {path} has the digest.")
    return files, manifest


def _require_harmless(entries: list[ZipInfo]) -> None:
    """Reject an archive with links, with names that occur twice or belong to no capsule, or with too many bytes."""
    names = [entry.filename for entry in entries]
    for name, entry in zip(names, entries, strict=True):
        is_link = stat.S_ISLNK(entry.external_attr >> 16)
        if is_link or not FILE.fullmatch(name):
            raise UserError(f"{name!r} is {'a link' if is_link else 'not a file of a capsule'}; nothing was written.")
    if len(set(names)) < len(names):
        raise UserError("a file is in the archive twice; nothing was written.")
    n_bytes = sum(entry.file_size for entry in entries)
    if n_bytes > MAX_BYTES:
        raise UserError(
            f"the files have {n_bytes:,} bytes, of at most {MAX_BYTES:,}; leave the data out (data=FOLDER)."
        )
