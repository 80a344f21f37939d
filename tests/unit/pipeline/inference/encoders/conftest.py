"""Tiny ONNX models of each shape, with weights that a test can recompute."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from veridical.pipeline.inference import cross_encoder, embedded

Floats = NDArray[np.float32]

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "</s>", "<pad>"]
WORDS = (
    "the a bridge tower opened was in 1998 1850 it carries nine thousand vehicles day ferry leaves"
    " at noon choose your answer based on paragraph above can we conclude that options yes no i"
    " think is predict determine if hypothesis true given premise summarize following text output"
    " briefly question bear mind response should be strictly passages passage 1 when"
    ' . , : ? " - : ." "? #'
)
_TEXT = TensorProto.INT64
_BATCH = ["batch", "tokens"]
HIDDEN, SEEN_IDS = 4, 300


@dataclass
class TinyModel:
    """Weights of a tiny model, its vocabulary, and the folder it was written to."""

    folder: Path
    classes: int
    vocabulary: dict[str, int] = field(default_factory=dict)
    words: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    kinds: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    last: Floats = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def ids(self, tokens: str) -> list[int]:
        """Return the ids of tokens that a test writes out, with blanks between them."""
        return [self.vocabulary[token] for token in tokens.split()]

    def logits(self, ids: Sequence[int], types: Sequence[int] | None = None) -> Floats:
        """Return the logits of a sequence: words weighted by position, and kinds of tokens."""
        rows = self.tokens(ids)
        if types is not None:
            rows = rows + self.kinds[list(types)]
        return np.asarray(rows.sum(axis=0))

    def tokens(self, ids: Sequence[int]) -> Floats:
        """Return one row for each token."""
        positions = np.arange(1, len(ids) + 1, dtype=np.float32)[:, None]
        return np.asarray(self.words[list(ids)] * positions)

    def step(self, ids: Sequence[int]) -> Floats:
        """Return the logits over all ids of one decoder step from token 0."""
        return np.asarray(self.tokens(ids).sum(axis=0) @ self.last)


def probabilities(logits: Floats) -> Floats:
    """Return the softmax of logits in double precision."""
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def _tokenizer(folder: Path, *, pairs: bool) -> dict[str, int]:
    words = [*SPECIAL, *dict.fromkeys(WORDS.split())]
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=SPECIAL[1]))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(SPECIAL)
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    if pairs:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
        )
    else:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="$A </s>", special_tokens=[("</s>", 4)]
        )
    tokenizer.save(str(folder / "tokenizer.json"))
    return vocabulary


def _save(
    path: Path, nodes: list[Any], given: list[Any], made: list[Any], **weights: NDArray[Any]
) -> None:
    path.parent.mkdir(exist_ok=True)
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "tiny", given, made, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def _weighted() -> list[Any]:
    """Return the nodes that weight each word by its position, which `attention_mask` counts."""
    return [
        helper.make_node("Gather", ["words", "input_ids"], ["plain"]),
        helper.make_node("CumSum", ["attention_mask", "axis"], ["places"]),
        helper.make_node("Cast", ["places"], ["positions"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["positions", "columns"], ["column"]),
        helper.make_node("Mul", ["plain", "column"], ["rows"]),
    ]


def _texts(*names: str) -> list[Any]:
    return [helper.make_tensor_value_info(name, _TEXT, _BATCH) for name in names]


def _floats(name: str, *shape: str | int) -> list[Any]:
    return [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))]


def _axes() -> dict[str, Any]:
    return {"axis": np.asarray(1), "columns": np.asarray([2])}


def _sequence(model: TinyModel, file: str, *, types: bool) -> None:
    nodes, weights = _weighted(), {"words": model.words, **_axes()}
    given = _texts("input_ids", "attention_mask", *(["token_type_ids"] if types else []))
    rows = "rows"
    if types:
        nodes += [
            helper.make_node("Gather", ["kinds", "token_type_ids"], ["typed"]),
            helper.make_node("Add", ["rows", "typed"], ["both"]),
        ]
        weights["kinds"], rows = model.kinds, "both"
    weights["over"] = np.asarray([1])
    nodes.append(helper.make_node("ReduceSum", [rows, "over"], ["logits"], keepdims=0))
    made = _floats("logits", "batch", model.classes)
    _save(model.folder / file, nodes, given, made, **weights)


def _tokenwise(model: TinyModel, file: str, output: str) -> None:
    nodes = [*_weighted(), helper.make_node("Identity", ["rows"], [output])]
    made = _floats(output, "batch", "tokens", model.words.shape[1])
    given = _texts("input_ids", "attention_mask")
    _save(model.folder / file, nodes, given, made, words=model.words, **_axes())


def _decoder(model: TinyModel, file: str) -> None:
    """Write a decoder whose logits also hold its own input, which has to be token 0."""
    nodes = [
        helper.make_node("Cast", ["encoder_attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "columns"], ["column"]),
        helper.make_node("Mul", ["encoder_hidden_states", "column"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "over"], ["summed"], keepdims=1),
        helper.make_node("MatMul", ["summed", "last"], ["plain"]),
        helper.make_node("Gather", ["starts", "input_ids"], ["start"]),
        helper.make_node("Add", ["plain", "start"], ["logits"]),
    ]
    given = _floats("encoder_hidden_states", "batch", "tokens", HIDDEN)
    given += [helper.make_tensor_value_info("input_ids", _TEXT, ["batch", "steps"])]
    given += [helper.make_tensor_value_info("encoder_attention_mask", _TEXT, _BATCH)]
    made = _floats("logits", "batch", "steps", SEEN_IDS)
    starts = np.zeros((2, SEEN_IDS), np.float32)
    starts[1] = np.arange(SEEN_IDS)
    weights = {"last": model.last, "columns": np.asarray([2]), "over": np.asarray([1])}
    weights["starts"] = starts
    _save(model.folder / file, nodes, given, made, **weights)


@pytest.fixture(autouse=True)
def _own_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load each model anew, and keep none of them in memory."""
    monkeypatch.setattr(cross_encoder, "_engines", {})
    monkeypatch.setattr(embedded, "_engines", {})


MakeModel = Callable[..., TinyModel]


@pytest.fixture
def make_model(tmp_path: Path) -> MakeModel:
    """Write a model: `shape` is sequence, tokens or seq2seq; `document` is its veridical.json."""

    def make(  # noqa: PLR0913 -- the parts of a folder
        shape: str = "sequence",
        document: dict[str, Any] | None = None,
        *,
        name: str = "tiny",
        classes: int = 2,
        id2label: Sequence[str] | None = None,
        types: bool = False,
        file: str = "model.onnx",
        seed: int = 7,
    ) -> TinyModel:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        kind = (document or {}).get("preset", "")
        model = TinyModel(folder, classes)
        model.vocabulary = _tokenizer(folder, pairs=shape != "seq2seq" and "hhem" not in kind)
        draw = np.random.default_rng(seed)
        width = HIDDEN if shape == "seq2seq" else classes
        size = (len(model.vocabulary), width)
        model.words = draw.normal(0, 0.05, size).astype(np.float32)
        model.kinds = draw.normal(0, 0.05, (2, classes)).astype(np.float32)
        model.last = draw.normal(0, 0.5, (HIDDEN, SEEN_IDS)).astype(np.float32)
        if shape == "sequence":
            _sequence(model, file, types=types)
        elif shape == "tokens":
            _tokenwise(model, file, "logits")
        else:
            _tokenwise(model, "encoder_model.onnx", "last_hidden_state")
            _decoder(model, "decoder_model.onnx")
        labels = None if id2label is None else {str(i): one for i, one in enumerate(id2label)}
        config = {"model_type": "tiny"} | ({} if labels is None else {"id2label": labels})
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        if document is not None:
            (folder / "veridical.json").write_text(json.dumps(document), encoding="utf-8")
        return model

    return make
