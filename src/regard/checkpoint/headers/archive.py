"""Zip archives (.pt, .bin, .npz): the directory is looked at before `zipfile` may read it."""

import struct
import zipfile
from pathlib import Path

from regard.checkpoint.headers.held import MAX_HEADER, Contents, shown

END, END64, LOCATOR = b"PK\5\6", b"PK\6\6", b"PK\6\7"
RATIO = 20  # an archive that claims to grow more than this is a bomb


def open_archive(path: Path, found: Contents) -> zipfile.ZipFile | None:
    """The archive, when its directory is small and honest enough to be read."""
    size = path.stat().st_size
    directory = _directory_size(path, size)
    if directory is None or directory > size:
        found.find("broken", "cut off: the directory at the end of the archive is missing")
        return None
    if directory > MAX_HEADER:
        found.find("unsafe", f"its directory claims {directory:,} bytes")
        return None
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        found.find("broken", f"its directory cannot be read: {shown(str(error))}")
        return None
    members = archive.infolist()
    total = sum(member.file_size for member in members)
    if total > RATIO * size + MAX_HEADER:
        found.find("unsafe", f"it claims to unpack to {total:,} bytes from {size:,}")
    names = [member.filename for member in members]
    if len(set(names)) != len(names):
        found.find("unsafe", "two members have one name: readers may differ in which wins")
    for name in names:
        if name.startswith("/") or ".." in name.split("/") or "\\" in name:
            found.find("unsafe", f"member {shown(name)!r} points out of the folder")
    packed = sum(member.compress_type != zipfile.ZIP_STORED for member in members)
    if packed:
        found.find("note", f"{packed} members are compressed")
    return archive


def _directory_size(path: Path, size: int) -> int | None:
    """Bytes of the central directory, from the record at the archive's end."""
    with path.open("rb") as file:
        file.seek(max(0, size - 65_557))
        tail = file.read(65_557)
        at = tail.rfind(END)
        if at < 0 or len(tail) - at < 22:
            return None
        stated: int = struct.unpack_from("<I", tail, at + 12)[0]
        if stated != 0xFFFFFFFF:
            return stated
        if at < 20 or not tail[at - 20 :].startswith(LOCATOR):
            return None
        offset = struct.unpack_from("<Q", tail, at - 12)[0]
        if offset > size:
            return None
        file.seek(offset)
        record = file.read(56)
        if len(record) < 56 or not record.startswith(END64):
            return None
        wide: int = struct.unpack_from("<Q", record, 40)[0]
        return wide
