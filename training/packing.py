"""Arrays in pieces that travel: packed, cut, checked, and joined again. NumPy alone.

A bundle is one file of named arrays, each compressed by itself. It is cut into pieces of a given
size; `NAME.json` beside them has the size and SHA-256 of each piece, so that a piece that is
missing or damaged has a name. Weights travel as bf16 (what half-precision products read anyway),
their two bytes apart: the upper ones have few values and shrink to two fifths.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_FARTHEST = 1 << 26
"""Bytes back to which a repetition is found."""

_THOROUGH, _FAST = 6, 1
"""Efforts: the second for weights, in which nothing is found again."""


class DamagedPieceError(Exception):
    """A piece is missing, or is not what its bundle's list says."""


def halved(values: np.ndarray) -> np.ndarray:
    """Return 32-bit numbers as bf16 in 16 bits, rounded to the nearest even."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def widened(halves: np.ndarray) -> np.ndarray:
    """Return bf16 in 16 bits as 32-bit numbers."""
    return (halves.astype(np.uint32) << 16).view(np.float32)


def dump(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return named arrays as one text of bytes; 32-bit floats lose half of their bits."""
    head, parts = [], []
    for name, array in arrays.items():
        halves = array.dtype == np.float32
        stored = halved(array) if halves else np.ascontiguousarray(array)
        planes = [_shrunk(plane, _FAST if halves else _THOROUGH) for plane in _planes(stored)]
        head.append(
            {
                "name": name,
                "shape": list(array.shape),
                "type": "bf16" if halves else stored.dtype.str,
                "planes": [len(plane) for plane in planes],
            }
        )
        parts += planes
    text = json.dumps(head).encode()
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def load(data: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of such a text, bf16 as 32-bit numbers."""
    start = 8 + int.from_bytes(data[:8], "little")
    found: dict[str, np.ndarray] = {}
    for entry in json.loads(data[8:start]):
        planes = []
        for size in entry["planes"]:
            planes.append(np.frombuffer(_grown(data[start : start + size]), np.uint8))
            start += size
        halves = entry["type"] == "bf16"
        kind = np.dtype("<u2" if halves else entry["type"])
        whole = np.stack(planes, axis=-1).reshape(-1).view(kind).reshape(entry["shape"])
        found[entry["name"]] = widened(whole) if halves else whole.copy()
    return found


def cut(data: bytes, name: str, folder: Path, most: int) -> list[Path]:
    """Write a text of bytes in pieces of at most `most` bytes, and their list."""
    folder.mkdir(parents=True, exist_ok=True)
    count = max(1, math.ceil(len(data) / most))
    size = math.ceil(len(data) / count)
    entries, paths = [], []
    for number in range(count):
        piece = data[number * size : (number + 1) * size]
        path = folder / f"{name}.{number:02}"
        path.write_bytes(piece)
        paths.append(path)
        entries.append({"file": path.name, "bytes": len(piece), "sha256": _sha256(piece)})
    listed = {"name": name, "bytes": len(data), "sha256": _sha256(data), "pieces": entries}
    (folder / f"{name}.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    return paths


def joined(name: str, folder: Path) -> bytes:
    """Return a bundle's bytes; `DamagedPieceError` names the first piece that is not right."""
    listed = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    pieces = []
    for entry in listed["pieces"]:
        path = folder / entry["file"]
        if not path.exists():
            msg = f"{path.name} is missing"
            raise DamagedPieceError(msg)
        piece = path.read_bytes()
        if _sha256(piece) != entry["sha256"]:
            msg = f"{path.name} is damaged"
            raise DamagedPieceError(msg)
        pieces.append(piece)
    return b"".join(pieces)


def calls(paths: Iterable[Path], most: int) -> list[list[Path]]:
    """Return pieces in their order, as many to a call as fit into `most` bytes."""
    found: list[list[Path]] = []
    room = 0
    for path in paths:
        size = path.stat().st_size
        if not found or size > room:
            found.append([])
            room = most
        found[-1].append(path)
        room -= size
    return found


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """Return the 32-bit tensors of a safetensors file."""
    with path.open("rb") as file:
        head: dict[str, Any] = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    start = 8 + len_of_head(path)
    body = np.memmap(path, np.uint8, "r", offset=start)
    return {
        name: body[slice(*entry["data_offsets"])].view(np.float32).reshape(entry["shape"])
        for name, entry in head.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def len_of_head(path: Path) -> int:
    """Return the length of a safetensors file's head."""
    with path.open("rb") as file:
        return int.from_bytes(file.read(8), "little")


def _planes(array: np.ndarray) -> list[np.ndarray]:
    raw = array.reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize)
    return [np.ascontiguousarray(raw[:, place]) for place in range(array.dtype.itemsize)]


def _shrunk(plane: np.ndarray, effort: int) -> bytes:
    data = plane.tobytes()
    sample = data[: 1 << 16]
    # The lower bytes of weights do not shrink: no time is spent on them.
    if len(sample) > 1000 and len(_compressed(sample, effort)) > 0.97 * len(sample):
        return b"\0" + data
    return b"\1" + _compressed(data, effort)


def _compressed(data: bytes, effort: int) -> bytes:
    back = min(_FARTHEST, max(4096, len(data)))
    return lzma.compress(data, lzma.FORMAT_RAW, filters=[_filter(back) | {"preset": effort}])


def _grown(data: bytes) -> bytes:
    if data[:1] == b"\0":
        return data[1:]
    return lzma.decompress(data[1:], lzma.FORMAT_RAW, filters=[_filter(_FARTHEST)])


def _filter(back: int) -> dict[str, int]:
    return {"id": lzma.FILTER_LZMA2, "dict_size": back}


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
