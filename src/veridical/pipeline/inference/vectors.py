"""Vectors of word pieces: the embedding table of the packaged verifier, for semantic search.

The first layer of a cross-encoder is a table with one vector for each word piece of its vocabulary.
In it "kid" is near to "child" and "physicians" to "doctors", with no model run: enough to find the
sentence of a source that states a claim in other words. The table is read in place from the
weights' file (ONNX, a Protocol Buffers message); only the requested rows are decoded.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from veridical.core.cancellation import checkpoint
from veridical.core.homoglyphs import fold
from veridical.errors import BackendError
from veridical.pipeline.inference.card import DEFAULT_MODEL, load_card

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tokenizers import Tokenizer

_TABLE = b"word_embeddings.weight"
_BATCH = 1024
"""Texts tokenized at once: the tokenizer's output takes many times the memory of the text."""

_WORD = re.compile(r"(?:##)?[^\W_]+")
_GRAPH, _INITIALIZER = 7, 5
"""Fields of ONNX's ModelProto and GraphProto."""
_DIMS, _NAME, _RAW = 1, 8, 9
"""Fields of ONNX's TensorProto."""
_VARINT, _BYTES = 0, 2
_FIXED = {1: 8, 5: 4}
"""Wire types of Protocol Buffers, and the sizes in bytes of the fixed ones."""


class TokenVectors:
    """Word pieces of texts, and the nearness of their vectors (port `Vectors`)."""

    def __init__(self, tokenizer: Tokenizer, table: Any) -> None:  # noqa: ANN401 -- numpy, imported late
        self._tokenizer = tokenizer
        self._table = table
        self._mean = _mean(table)
        vocabulary = tokenizer.get_vocab()
        self._says = {number for piece, number in vocabulary.items() if _WORD.fullmatch(piece)}

    def pieces(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the word pieces of each text, without punctuation."""
        found: list[list[int]] = []
        for start in range(0, len(texts), _BATCH):
            checkpoint()
            batch = list(map(fold, texts[start : start + _BATCH]))
            encoded = self._tokenizer.encode_batch(batch, add_special_tokens=False)
            found += ([each for each in one.ids if each in self._says] for one in encoded)
        return found

    def nearness(self, pieces: Sequence[int], others: Sequence[int]) -> Any:  # noqa: ANN401 -- see above
        """Return the cosine of each piece (row) with each of the others (column), from 0 to 1."""
        import numpy as np

        directions = self._directions(others)
        # Row by row: how a product is rounded must not depend on the pieces asked beside it.
        found = np.empty((len(pieces), len(others)), dtype=np.float32)
        for row, piece in zip(found, self._directions(pieces), strict=True):
            np.matmul(directions, piece, out=row)
        return np.clip(found, 0.0, 1.0, out=found)

    def _directions(self, pieces: Sequence[int]) -> Any:  # noqa: ANN401 -- see above
        import numpy as np

        rows = self._table[list(pieces)].astype(np.float32) - self._mean
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)


def packaged_vectors() -> TokenVectors:
    """Return the vectors of the packaged verifier; read once per process."""
    return token_vectors(DEFAULT_MODEL)


@lru_cache(maxsize=1)
def token_vectors(model: str) -> TokenVectors:
    """Return the vectors of a packaged verifier; `BackendError` if its files cannot be read."""
    from tokenizers import Tokenizer

    card = load_card(model)
    try:
        tokenizer = Tokenizer.from_file(str(card.tokenizer))
        table = _table(card.weights)
    except Exception as error:
        msg = f"the vectors of {card.name} cannot be read ({type(error).__name__})"
        raise BackendError(msg, hint="Reinstall veridical: the package is damaged") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # as the verifier reads it: a "</s>" in a text is text
    return TokenVectors(tokenizer, table)


def _mean(table: Any) -> Any:  # noqa: ANN401 -- see above
    """Return the mean of the rows, which carries no word meaning (Mu & Viswanath 2018)."""
    import numpy as np

    # As sums of small blocks: the table in floats would take four times its size.
    sums = (block.sum(axis=0, dtype=np.float32) for block in np.array_split(table, 64))
    return (sum(sums) / len(table)).astype(np.float32)


# --- the weights' file -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tensor:
    """Tensor of the file: its name, its shape, and the place of its bytes."""

    name: bytes
    shape: tuple[int, ...]
    start: int
    end: int


def _table(weights: Path) -> Any:  # noqa: ANN401 -- see above
    """Return the table, one byte a number, as a view of the file: scale and zero do not matter.

    Only directions are compared, after the mean is subtracted.
    """
    import numpy as np

    with weights.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    largest = max(
        (tensor for tensor in _tensors(data) if _TABLE in tensor.name),
        key=lambda tensor: tensor.end - tensor.start,
    )
    rows, width = largest.shape
    size = largest.end - largest.start
    kind = {rows * width: np.uint8, 4 * rows * width: np.float32}[size]
    return np.frombuffer(data, kind, rows * width, largest.start).reshape(rows, width)


def _tensors(data: mmap.mmap) -> Iterator[_Tensor]:
    for graph, _, start, end in _fields(data, 0, len(data)):
        if graph == _GRAPH:
            for field, _, first, last in _fields(data, start, end):
                if field == _INITIALIZER:
                    yield _tensor(data, first, last)


def _tensor(data: mmap.mmap, start: int, end: int) -> _Tensor:
    name, shape, place = b"", [], (0, 0)
    for field, wire, first, last in _fields(data, start, end):
        if field == _NAME:
            name = data[first:last]
        elif field == _DIMS and wire == _VARINT:
            shape.append(first)
        elif field == _DIMS:
            at = first
            while at < last:
                size, at = _varint(data, at)
                shape.append(size)
        elif field == _RAW:
            place = first, last
    return _Tensor(name, tuple(shape), *place)


def _fields(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield number, wire type, start and end of each field; of a varint its value as the start."""
    while start < end:
        key, start = _varint(data, start)
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, start = _varint(data, start)
            yield field, wire, value, start
            continue
        size, start = _varint(data, start) if wire == _BYTES else (_FIXED[wire], start)
        yield field, wire, start, start + size
        start += size


def _varint(data: mmap.mmap, at: int) -> tuple[int, int]:
    """Return the number that begins at a place, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 -- the top bit says that more follow
            return value, at
        shift += 7
