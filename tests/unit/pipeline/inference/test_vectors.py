from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from veridical.errors import BackendError
from veridical.pipeline.inference import vectors
from veridical.pipeline.inference.card import DEFAULT_MODEL, load_card
from veridical.pipeline.inference.vectors import TokenVectors, packaged_vectors, token_vectors


@pytest.fixture(scope="module")
def packaged() -> TokenVectors:
    return packaged_vectors()


def near(packaged: TokenVectors, one: str, other: str) -> float:
    first, second = packaged.pieces([one, other])
    return float(packaged.nearness(first, second)[0, 0])


@pytest.mark.parametrize(
    ("word", "like", "unlike"),
    [
        ("kid", "child", "dog"),
        ("asleep", "sleeping", "outside"),
        ("physicians", "doctors", "salaries"),
    ],
)
def test_words_of_like_meaning_are_nearer_than_others(
    packaged: TokenVectors, word: str, like: str, unlike: str
) -> None:
    assert near(packaged, word, like) > near(packaged, word, unlike) + 0.15


def test_a_word_is_as_near_as_can_be_to_itself(packaged: TokenVectors) -> None:
    (pieces,) = packaged.pieces(["The ferry sank in 2003."])
    found = packaged.nearness(pieces, pieces)
    assert np.diag(found) == pytest.approx(np.ones(len(pieces)), abs=1e-5)
    assert found.min() >= 0.0


def test_punctuation_and_what_the_vocabulary_lacks_are_no_pieces(packaged: TokenVectors) -> None:
    assert packaged.pieces(["...!", "", "☃", "</s>"])[:3] == [[], [], []]
    assert packaged.pieces(["Ferry"]) == packaged.pieces(["“ferry”!"])


def test_the_table_is_that_of_the_weights_file() -> None:
    onnx = pytest.importorskip("onnx")
    card = load_card(DEFAULT_MODEL)
    tensors = onnx.load(str(card.weights)).graph.initializer
    (table,) = [t for t in tensors if t.name.endswith("word_embeddings.weight_quantized")]
    assert np.array_equal(vectors._table(card.weights), onnx.numpy_helper.to_array(table))


def test_damaged_weights_are_a_named_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = load_card(DEFAULT_MODEL)
    for name in (f"{DEFAULT_MODEL}.json", card.tokenizer.name):
        shutil.copy(card.tokenizer.parent / name, tmp_path)
    (tmp_path / card.weights.name).write_bytes(card.weights.read_bytes()[:1000])
    monkeypatch.setattr("veridical.pipeline.inference.card.WEIGHTS", tmp_path)
    token_vectors.cache_clear()
    try:
        with pytest.raises(BackendError, match="vectors"):
            token_vectors(DEFAULT_MODEL)
    finally:
        token_vectors.cache_clear()
