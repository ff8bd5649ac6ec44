"""The zip archive of an untrusted checkpoint: every size is verified before memory is allocated.

torch stores records without compression, so a valid archive is never smaller than its records. Compressed,
overlapping, duplicated or encrypted records, names that point outside the archive and inconsistent sizes are
refused.
"""

from __future__ import annotations

import os
import struct
import zlib
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import zipfile

HINT = ("The file is damaged (saved incompletely, transferred incorrectly, or changed after saving) or was made to do "
        "harm. Do not use it; get a fresh copy.")
PICKLE = "data.pkl"
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1


def broken(problem: str) -> RuntimeError:
    return RuntimeError(f"PytorchStreamReader failed reading zip archive: {problem}. {HINT}")


class Archive:
    """The records of a checkpoint by their name without the leading folder: `data.pkl`, `data/0`, `byteorder` ..."""

    def __init__(self, file: IO[bytes]) -> None:
        import zipfile

        self.file = file
        start = file.tell()
        self.size = file.seek(0, os.SEEK_END)
        file.seek(start)
        try:
            with zipfile.ZipFile(file) as directory:
                infos = directory.infolist()
        except (zipfile.BadZipFile, NotImplementedError, struct.error, ValueError, EOFError, OverflowError,
                OSError) as error:
            raise broken(f"failed finding central directory ({error})") from None
        self.records = self._checked(infos)

    def _checked(self, infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        roots = {info.filename.partition("/")[0] for info in infos}
        if len(roots) != 1:
            raise broken(f"its records are not in one folder but in {sorted(roots)[:5]}")
        records = {}
        for info in infos:
            # zipfile cuts a name at a NUL byte and turns backslashes into slashes on some systems.
            name = info.orig_filename
            parts = name.split("/")
            if "\\" in name or "\0" in name or ":" in name or not all(parts) or ".." in parts or "." in parts:
                raise broken(f"the record name {name!r} leads out of the archive")
            if info.compress_type or info.compress_size != info.file_size:
                raise broken(f"the record {name!r} is compressed, which torch.save never does")
            if info.flag_bits & _ENCRYPTED:
                raise broken(f"the record {name!r} is encrypted")
            short = name.partition("/")[2]
            if short in records:
                raise broken(f"there are two records {name!r}")
            records[short] = info
        if sum(info.file_size for info in infos) > self.size:
            raise broken("its records claim more bytes than the file has")
        return records

    def __contains__(self, name: str) -> bool:
        return name in self.records

    def nbytes(self, name: str) -> int:
        return self.records[name].file_size

    def read(self, name: str) -> bytes:
        return self.read_array(name).tobytes()

    def find(self, name: str) -> int:
        """Go to the first byte of a record, and tell where it is."""
        info = self.records[name]
        self.file.seek(info.header_offset)
        header = self.file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size:
            raise broken(f"the record {name!r} lies behind the end of the file")
        signature, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        if signature != b"PK\3\4" or self.file.read(name_length) != info.orig_filename.encode():
            raise broken(f"the record {name!r} is not where the directory says")
        data_at = self.file.seek(extra_length, os.SEEK_CUR)
        if data_at + info.file_size > self.size:
            raise broken(f"the record {name!r} is cut short")
        return data_at

    def read_array(self, name: str) -> np.ndarray:
        """The bytes of a record in fresh memory, its checksum verified, unless it was written without one."""
        info = self.records[name]
        self.find(name)
        memory = np.empty(info.file_size, np.uint8)
        read_into(self.file, memory, name)
        if info.CRC and zlib.crc32(memory.data) != info.CRC:
            raise broken(f"the checksum of the record {name!r} does not match its contents")
        return memory


def read_into(file: Any, memory: np.ndarray, name: str) -> None:
    view = memory.data
    done = 0
    while done < len(view):
        if hasattr(file, "readinto"):
            count = file.readinto(view[done:])
        else:
            piece = file.read(len(view) - done)
            count = len(piece)
            view[done:done + count] = piece
        if not count:
            raise broken(f"the record {name!r} is cut short")
        done += count
