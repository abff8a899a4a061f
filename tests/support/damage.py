"""Files of every format with damage, drawn by a generator."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
from collections.abc import Iterator, Mapping
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd

ROWS = 30
TABLE = pd.DataFrame({"x": np.arange(ROWS) + 0.5, "z": np.arange(ROWS) % 7, "y": ["a", "b"] * (ROWS // 2)})
THRIFT = b"PAR1" + bytes(100) + b"PAR1"
"""A Parquet file whose footer Arrow rejects with an OSError."""
ARFF = "@relation r\n@attribute x numeric\n@attribute y {a,b}\n@data\n" + "1,a\n2,b\n" * 15


def damage(content: bytes, generator: random.Random) -> bytes:
    """Return a file with an end, a piece or some bytes missing, changed, inserted or repeated."""
    damaged = bytearray(content)
    start = generator.randrange(len(damaged))
    piece = damaged[start : start + generator.randrange(1, 100)]
    match generator.randrange(6):
        case 0:
            del damaged[start:]
        case 1:
            del damaged[start : start + len(piece)]
        case 2:
            damaged[start : start + len(piece)] = bytes(len(piece))
        case 3:
            damaged[start:start] = piece
        case 4:
            damaged[start:start] = generator.randbytes(len(piece))
        case 5:
            for _ in range(4):
                damaged[generator.randrange(len(damaged))] = generator.randrange(256)
    return bytes(damaged)


def damage_member(content: bytes, generator: random.Random) -> bytes:
    """Return an archive of which one member is damaged."""
    written = io.BytesIO()
    with ZipFile(io.BytesIO(content)) as archive, ZipFile(written, "w") as target:
        victim = generator.choice(archive.namelist())
        for name in archive.namelist():
            member = archive.read(name)
            target.writestr(name, damage(member, generator) if name == victim else member)
    return written.getvalue()


def write_formats() -> Mapping[str, bytes]:
    """Return a table in each format that can be read: extension -> content."""
    text = TABLE.to_csv(index=False).encode()
    files = {name: io.BytesIO() for name in (".csv.zip", ".parquet", ".arrow", ".feather", ".xlsx")}
    with ZipFile(files[".csv.zip"], "w", ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", text)
    TABLE.to_parquet(files[".parquet"], index=False)
    TABLE.to_feather(files[".arrow"], compression="uncompressed")
    TABLE.to_feather(files[".feather"])
    TABLE.to_excel(files[".xlsx"], index=False)
    return {
        ".csv": text,
        ".csv.gz": gzip.compress(text),
        ".csv.bz2": bz2.compress(text),
        ".csv.xz": lzma.compress(text),
        ".arff": ARFF.encode(),
        ".jsonl": TABLE.to_json(orient="records", lines=True).encode(),
        ".json": TABLE.to_json(orient="records").encode(),
        **{name: file.getvalue() for name, file in files.items()},
    }


def draw_damaged(extension: str, n_files: int) -> Iterator[bytes]:
    """Yield damaged files of one format."""
    generator = random.Random(extension)
    content = write_formats()[extension]
    if extension == ".parquet":
        yield THRIFT
    for number in range(n_files):
        is_member = extension == ".xlsx" and number % 2 == 0
        yield (damage_member if is_member else damage)(content, generator)
