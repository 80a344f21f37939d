"""Runs of encoder graphs: their inputs, padding and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.errors import BackendError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from onnxruntime import InferenceSession
    from tokenizers import Encoding

    from veridical.pipeline.inference.presets import Preset

    Runs = Callable[[Encoding], Any]

_BY_TOKEN = 3
"""Dimensions of an output that has a row for each token."""
_ENCODER_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_DECODER_INPUTS = frozenset({"input_ids", "encoder_hidden_states", "encoder_attention_mask"})


def runs_of(sessions: Sequence[InferenceSession], preset: Preset, name: str) -> Runs:
    """Return the run of a model's graphs on one encoded text: its logits, as a numpy array.

    `ConfigurationError` if a graph takes other inputs, or has another number of classes;
    `BackendError` if a seq2seq model has no decoder.
    """
    known = [_ENCODER_INPUTS, _DECODER_INPUTS]
    for session, inputs in zip(sessions, known, strict=False):
        _ensure_known(session, inputs, name)
    _ensure_classes(sessions[-1], preset, name)
    return _seq2seq(*sessions) if preset.kind == "seq2seq" else _encoder(*sessions)


def _ensure_known(session: InferenceSession, known: Iterable[str], name: str) -> None:
    unknown = {one.name for one in session.get_inputs()} - set(known)
    if unknown:
        msg = f"the graph of {name} takes the input {min(unknown)!r}, which nobody gives it"
        raise ConfigurationError(msg, hint="Export it again, without a cache of past keys")


def _ensure_classes(session: InferenceSession, preset: Preset, name: str) -> None:
    size = session.get_outputs()[0].shape[-1]
    expected = None if preset.kind == "seq2seq" else len(preset.labels)
    if isinstance(size, int) and expected is not None and size != expected:
        msg = f"the graph of {name} has {size} classes, its preset {expected}"
        raise ConfigurationError(msg, hint='State "labels" in veridical.json')


def _encoder(session: InferenceSession) -> Runs:
    names = {one.name: one.type for one in session.get_inputs()}
    length, output = _fixed_length(session), _output(session)

    def run(encoding: Encoding) -> Any:  # noqa: ANN401
        given = _inputs(encoding, length)
        feed = {name: _typed(given[name], of) for name, of in names.items()}
        found = session.run([output], feed)[0]
        return found[:, : len(encoding.ids)] if found.ndim == _BY_TOKEN else found

    return run


def _fixed_length(session: InferenceSession) -> int:
    """Return the number of tokens of a graph exported for one length; 0 where any is read."""
    size = session.get_inputs()[0].shape[-1]
    return size if isinstance(size, int) else 0


def _seq2seq(*sessions: InferenceSession) -> Runs:
    """Return the run of an encoder, and of one step of the decoder from token 0."""
    if len(sessions) != 2:  # noqa: PLR2004 -- an encoder and a decoder
        msg = "a seq2seq model has two graphs, its encoder and its decoder"
        raise BackendError(msg, hint='Name both in veridical.json: "files"')
    encoder, decoder = sessions
    encode, output = _encoder(encoder), _output(decoder)
    names = {one.name: one.type for one in decoder.get_inputs()}

    def run(encoding: Encoding) -> Any:  # noqa: ANN401
        import numpy as np

        given = {
            "input_ids": np.zeros((1, 1), dtype=np.int64),
            "encoder_hidden_states": encode(encoding),
            "encoder_attention_mask": _inputs(encoding)["attention_mask"],
        }
        return decoder.run([output], {name: _typed(given[name], of) for name, of in names.items()})[
            0
        ]

    return run


def _output(session: InferenceSession) -> str:
    """Return the name of the output: the logits, or a hidden state of an encoder."""
    names = [one.name for one in session.get_outputs()]
    return "logits" if "logits" in names else names[0]


def _inputs(encoding: Encoding, length: int = 0) -> dict[str, Any]:
    """Return the inputs of a graph, with masked padding up to `length` tokens."""
    import numpy as np

    size = len(encoding.ids)
    row = np.zeros((3, 1, max(size, length)), dtype=np.int64)
    row[:, 0, :size] = encoding.ids, [1] * size, encoding.type_ids
    return dict(zip(("input_ids", "attention_mask", "token_type_ids"), row, strict=True))


def _typed(values: Any, kind: str) -> Any:  # noqa: ANN401
    return values.astype("int32") if kind == "tensor(int32)" else values
