"""Packing: files in pieces are restored unchanged, and a damaged piece is named."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "training"))

import packed_pairs
import packing

WORDS = st.lists(st.integers(5, 30000), max_size=12)


def pairs_of(texts: list[list[int]], rows: list[tuple[int, int]]) -> packed_pairs.Pairs:
    return packed_pairs.Pairs.of(
        {
            "tokens": np.asarray([token for text in texts for token in text], np.uint16),
            "sizes": np.asarray([len(text) for text in texts], np.uint16),
            "evidence": np.asarray([first for first, _ in rows], np.uint32),
            "claim": np.asarray([second for _, second in rows], np.uint32),
            "label": np.zeros(len(rows), np.uint8),
            "source": np.zeros(len(rows), np.uint16),
        }
    )


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=50))
def test_weights_come_back_to_one_part_in_256(values: list[float]) -> None:
    array = np.asarray(values, np.float32)
    found = packing.load(packing.dump({"w": array}))["w"]
    assert found.shape == array.shape
    assert np.all(np.abs(found - array) <= np.abs(array) / 256 + 1e-37)


@given(st.lists(st.integers(0, 65535), max_size=200))
def test_whole_numbers_come_back_as_they_were(values: list[int]) -> None:
    arrays = {"a": np.asarray(values, np.uint16), "b": np.asarray([[1, -2], [3, 4]], np.int32)}
    found = packing.load(packing.dump(arrays))
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())


@pytest.mark.parametrize("most", [1, 7, 100, 1000])
def test_pieces_are_no_larger_than_asked_and_join_to_the_whole(tmp_path: Path, most: int) -> None:
    data = bytes(range(256)) * 3
    paths = packing.cut(data, "x", tmp_path, most)
    assert all(path.stat().st_size <= most for path in paths)
    assert packing.joined("x", tmp_path) == data


@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_a_piece_that_is_not_right_is_named(tmp_path: Path, harm: str) -> None:
    paths = packing.cut(b"a" * 100, "x", tmp_path, 30)
    if harm == "missing":
        paths[2].unlink()
    else:
        paths[2].write_bytes(b"b" * 25)
    with pytest.raises(packing.DamagedPieceError, match=rf"x\.02 is {harm}"):
        packing.joined("x", tmp_path)


def test_no_call_carries_more_than_it_may(tmp_path: Path) -> None:
    paths = packing.cut(b"a" * 1000, "x", tmp_path, 90)
    found = packing.calls(paths, 250)
    assert [path for call in found for path in call] == paths
    assert all(sum(path.stat().st_size for path in call) <= 250 for call in found)


@given(st.integers(0, 500), st.integers(0, 500), st.integers(2, 400))
def test_a_pair_is_shortened_where_it_is_longer_and_fills_its_room(
    first: int, second: int, most: int
) -> None:
    a, b = packed_pairs.shortened(first, second, most)
    assert 0 <= a <= first
    assert 0 <= b <= second
    assert a + b == min(first + second, most)
    if a < first and b < second:
        assert abs(a - b) <= 1


def test_a_pair_stands_between_its_marks() -> None:
    pairs = pairs_of([[11, 12], [], [13]], [(0, 2), (1, 2)])
    assert pairs.ids(0, 20).tolist() == [0, 11, 12, 2, 2, 13, 2]
    assert pairs.ids(1, 20).tolist() == [0, 2, 2, 13, 2]
    assert pairs.ids(0, 6).tolist() == [0, 11, 2, 2, 13, 2]
    assert pairs.lengths(384).tolist() == [7, 5]


@given(st.lists(WORDS, min_size=1, max_size=30), st.integers(40, 200))
def test_each_row_is_in_one_batch_and_no_batch_is_too_large(
    texts: list[list[int]], tokens: int
) -> None:
    pairs = pairs_of(texts, [(i, 0) for i in range(len(texts))])
    lengths = pairs.lengths(384)
    rows = np.arange(len(pairs))
    plans = list(packed_pairs.batches(rows, lengths, tokens, np.random.default_rng(0), pool=8))
    assert sorted(row for plan in plans for row in plan) == rows.tolist()
    for plan in plans:
        ids, mask = packed_pairs.padded(pairs, plan, 384)
        assert ids.shape == mask.shape
        assert len(plan) == 1 or ids.size <= tokens
        assert mask.sum(axis=1).tolist() == lengths[plan].tolist()
        assert (ids[mask == 0] == packed_pairs.PAD).all()
