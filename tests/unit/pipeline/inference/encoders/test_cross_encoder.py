"""Each shape of model: the tokens it is given, and the probabilities that come out of it.

The tokens are written out, and the probabilities recomputed from the weights.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from veridical.core.measurements import (
    BackendInfo,
    Estimate,
    Measurement,
    Query,
    Reads,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.core.ports import Backend
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference import card
from veridical.pipeline.inference.cross_encoder import (
    EncoderReading,
    aggregated,
    create,
    create_hub,
    engine,
    read_logits,
)
from veridical.pipeline.inference.embedded import EmbeddedVerifier
from veridical.pipeline.inference.model_folder import read_folder
from veridical.pipeline.inference.presets import preset
from veridical.testing import check_backend

pytestmark = pytest.mark.slow

EVIDENCE, CLAIM = "The bridge opened in 1998.", "The bridge opened in 1850."
DOC, SAID = "the bridge opened in 1998 .", "the bridge opened in 1850 ."
NLI = ("contradiction", "entailment", "neutral")
FACTCG = (
    f"[CLS] {DOC} choose your answer : based on the paragraph above can we conclude that"
    ' " the bridge opened in 1850 [UNK] options : - yes - no i think the answer is [SEP]'
)
"""The `."?` at the end of the claim is one token to this tokenizer, and unknown to it."""
QA = (
    "briefly answer the following question : when ? bear in mind that your response should"
    f" be strictly based on the following 1 passages : passage 1 : {DOC} output :"
)


def ask(backend: Backend, *queries: Query) -> list[Measurement]:
    return list(anyio.run(backend.estimate, queries))


def estimate(backend: Backend, query: Query | None = None) -> Estimate:
    (found,) = ask(backend, query or Query(CLAIM, EVIDENCE))
    assert isinstance(found, Estimate), found
    return found


def probabilities(logits: Any) -> Any:  # noqa: ANN401 -- numpy
    powers = np.exp(np.asarray(logits, np.float64) - np.max(logits, axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def types_of(first: str, second: str) -> list[int]:
    """Return the types of the tokens of a pair: [CLS] and one [SEP] are of the first text."""
    return [0] * (len(first.split()) + 2) + [1] * (len(second.split()) + 1)


# --- pairs, and labels from `id2label` -------------------------------------------------------


@pytest.mark.parametrize("types", [False, True])
@pytest.mark.parametrize(
    "names",
    [NLI, ("entailment", "neutral", "contradiction"), ("NEUTRAL", "Contradiction", "ENTAILMENT")],
)
def test_a_pair_is_read_by_the_names_of_its_labels(
    make_model: Callable[..., Any], names: Sequence[str], types: bool
) -> None:
    model = make_model(classes=3, id2label=names, types=types)
    found = estimate(create(str(model.folder)))
    ids = model.ids(f"[CLS] {DOC} [SEP] {SAID} [SEP]")
    wanted = probabilities(model.logits(ids, types_of(DOC, SAID) if types else None))
    by_name = dict(zip((name.lower() for name in names), wanted, strict=True))
    assert found.supported == pytest.approx(by_name["entailment"], abs=1e-6)
    assert found.contradicted == pytest.approx(by_name["contradiction"], abs=1e-6)
    assert found.not_in_context == pytest.approx(by_name["neutral"], abs=1e-6)
    assert found.tokens == len(ids)


def test_swapped_labels_give_another_estimate(make_model: Callable[..., Any]) -> None:
    one = make_model(name="one", classes=3, id2label=NLI)
    other = make_model(name="other", classes=3, id2label=("entailment", "contradiction", "neutral"))
    assert estimate(create(str(one.folder))).supported != pytest.approx(
        estimate(create(str(other.folder))).supported, abs=1e-3
    )


@pytest.mark.parametrize(
    "names", [("LABEL_0", "LABEL_1", "LABEL_2"), ("entailment", "neutral"), ("yes", "no"), None]
)
def test_labels_of_unknown_meaning_are_refused(
    make_model: Callable[..., Any], names: Sequence[str] | None
) -> None:
    model = make_model(document={"preset": "nli-deberta-v3"}, id2label=names)
    with pytest.raises(ConfigurationError, match="id2label"):
        create(str(model.folder))


def test_a_configuration_with_the_labels_of_the_preset_in_another_order_is_refused(
    make_model: Callable[..., Any],
) -> None:
    document = {"preset": "groundcheck"}
    right = make_model(name="a", document=document, id2label=("grounded", "hallucinated"))
    assert create(str(right.folder)).info.tells_contradiction is False
    wrong = make_model(name="b", document=document, id2label=("hallucinated", "grounded"))
    with pytest.raises(ConfigurationError, match="another order"):
        create(str(wrong.folder))


def test_a_graph_with_another_number_of_classes_is_refused(
    make_model: Callable[..., Any],
) -> None:
    model = make_model(document={"preset": "groundcheck"}, classes=3)
    with pytest.raises(ConfigurationError, match="3 classes, its preset 2"):
        ask(create(str(model.folder)), Query(CLAIM, EVIDENCE))


@pytest.mark.parametrize(("question", "first"), [(None, DOC), ("When?", f"when ? {DOC}")])
def test_a_question_goes_before_the_evidence_where_the_model_was_trained_so(
    make_model: Callable[..., Any], question: str | None, first: str
) -> None:
    model = make_model(document={"preset": "groundcheck"})
    found = estimate(create(str(model.folder)), Query(CLAIM, EVIDENCE, question))
    wanted = probabilities(model.logits(model.ids(f"[CLS] {first} [SEP] {SAID} [SEP]")))
    assert found.supported == pytest.approx(wanted[0], abs=1e-6)


# --- one text, two classes -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("factcg-deberta-l", FACTCG),
        ("minicheck-deberta-l", f"[CLS] {DOC} [SEP] {SAID} [SEP]"),
        ("minicheck-roberta-l", f"[CLS] {DOC} </s> {SAID} [SEP]"),
    ],
)
def test_a_joined_text_is_the_one_of_training(
    make_model: Callable[..., Any], name: str, tokens: str
) -> None:
    model = make_model(document={"preset": name}, types=True)
    found = estimate(create(str(model.folder)))
    ids = model.ids(tokens)
    wanted = probabilities(model.logits(ids, [0] * len(ids)))
    assert found.supported == pytest.approx(wanted[1], abs=1e-6)
    assert found.tokens == len(ids)


def test_a_pair_in_place_of_a_joined_text_gives_another_estimate(
    make_model: Callable[..., Any],
) -> None:
    model = make_model(document={"preset": "minicheck-deberta-l"}, types=True)
    joined = estimate(create(str(model.folder))).supported
    fields = {"preset": "minicheck-deberta-l", "kind": "pair", "template": "{context}"}
    (model.folder / "veridical.json").write_text(json.dumps(fields), encoding="utf-8")
    assert estimate(create(str(model.folder))).supported != pytest.approx(joined, abs=1e-3)


def test_a_special_token_in_a_text_is_no_separator(make_model: Callable[..., Any]) -> None:
    model = make_model(document={"preset": "minicheck-roberta-l"})
    loaded = engine(read_folder(model.folder))
    ((encoding,),) = loaded.encodings(Query("It [SEP] opened </s>", "The </s> bridge [CLS]"))
    special = model.ids("[CLS] </s> [SEP]")
    assert [one for one in encoding.ids if one in special] == special


def test_braces_in_a_text_are_text(make_model: Callable[..., Any]) -> None:
    model = make_model(document={"preset": "minicheck-roberta-l"})
    loaded = engine(read_folder(model.folder))
    ((encoding,),) = loaded.encodings(Query("It opened", "The {claim} bridge"))
    assert encoding.ids.count(model.vocabulary["opened"]) == 1


def test_two_classes_leave_no_probability_of_contradiction(
    make_model: Callable[..., Any],
) -> None:
    backend = create(str(make_model(document={"preset": "factcg-deberta-l"}).folder))
    found = estimate(backend)
    assert found.contradicted == 0.0
    assert found.not_in_context == pytest.approx(1.0 - found.supported)
    assert (backend.info.tells_contradiction, backend.info.measures_dependence) == (False, False)
    assert (backend.info.reads, backend.info.support_threshold) == (Reads.WHOLE, 0.5)


# --- one decoder step, token zero, tokens of the answer --------------------------------------


def test_one_decoder_step_decides_between_two_ids(make_model: Callable[..., Any]) -> None:
    model = make_model("seq2seq", {"preset": "minicheck-flan-t5-l"})
    found = estimate(create(str(model.folder)))
    logits = model.step(model.ids(f"predict : {DOC} </s> {SAID} </s>"))
    assert found.supported == pytest.approx(probabilities(logits[[3, 209]])[1], abs=1e-5)


def test_token_zero_of_a_token_classifier_decides(make_model: Callable[..., Any]) -> None:
    model = make_model("tokens", {"preset": "hhem-2.1-open"})
    found = estimate(create(str(model.folder)))
    tokens = (
        "<pad> determine if the hypothesis is true given the premise ? premise :"
        f" {DOC} hypothesis : {SAID} </s>"
    )
    ids = model.ids(tokens)
    assert found.supported == pytest.approx(probabilities(model.tokens(ids)[0])[1], abs=1e-6)
    assert found.tokens == len(ids)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        (None, f"summarize the following text : {DOC} output :"),
        (
            "When?",
            QA,
        ),
    ],
)
def test_the_least_supported_token_of_the_answer_decides(
    make_model: Callable[..., Any], question: str | None, first: str
) -> None:
    model = make_model("tokens", {"preset": "lettucedetect-base"})
    found = estimate(create(str(model.folder)), Query(CLAIM, EVIDENCE, question))
    rows = probabilities(model.tokens(model.ids(f"[CLS] {first} [SEP] {SAID} [SEP]")))
    start = len(first.split()) + 2
    hallucinated = rows[start : start + len(SAID.split()), 1]
    assert found.supported == pytest.approx(1.0 - hallucinated.max(), abs=1e-6)


# --- long evidence ---------------------------------------------------------------------------

LONG = "The bridge opened in 1998. The ferry leaves at noon. It carries nine thousand vehicles."
SENTENCES = (DOC, "the ferry leaves at noon .", "it carries nine thousand vehicles .")


def windowed(make_model: Callable[..., Any], **fields: object) -> tuple[Any, Backend]:
    document = {"preset": "minicheck-deberta-l", "window_words": 6} | fields
    model = make_model(document=document)
    return model, create(str(model.folder))


def by_sentence(model: Any, claim: str = SAID) -> list[float]:  # noqa: ANN401 -- the fixture's
    texts = [f"[CLS] {sentence} [SEP] {claim} [SEP]" for sentence in SENTENCES]
    return [float(probabilities(model.logits(model.ids(text)))[1]) for text in texts]


@pytest.mark.parametrize(("how", "pick"), [("max", max), ("max_of_hallucinated", min)])
def test_windows_are_aggregated_as_the_preset_says(
    make_model: Callable[..., Any], how: str, pick: Callable[[list[float]], float]
) -> None:
    model, backend = windowed(make_model, aggregation=how)
    found = estimate(backend, Query(CLAIM, LONG))
    assert found.supported == pytest.approx(pick(by_sentence(model)), abs=1e-6)
    assert found.tokens == sum(len(one.split()) + len(SAID.split()) + 3 for one in SENTENCES)


def test_the_least_supported_sentence_of_a_claim_can_decide(
    make_model: Callable[..., Any],
) -> None:
    model, backend = windowed(make_model, aggregation="min_of_max")
    found = estimate(backend, Query("The tower opened. It opened in 1850.", LONG))
    each = [max(by_sentence(model, one)) for one in ("the tower opened .", "it opened in 1850 .")]
    assert found.supported == pytest.approx(min(each), abs=1e-6)


def test_three_classes_have_the_largest_of_both_probabilities_over_the_windows() -> None:
    row = [EncoderReading(0.3, 0.1), EncoderReading(0.2, 0.6)]
    assert aggregated([row], "max") == EncoderReading(0.3, 0.6)
    both = aggregated([[EncoderReading(0.9, 0.1), EncoderReading(0.1, 0.6)]], "max")
    assert (both.supported, both.contradicted) == (pytest.approx(0.6), pytest.approx(0.4))


@pytest.mark.parametrize(
    "name", ["factcg-deberta-l", "minicheck-roberta-l", "groundcheck", "nli-deberta-v3"]
)
def test_a_claim_that_would_be_cut_is_unmeasured(make_model: Callable[..., Any], name: str) -> None:
    model = make_model(
        document={"preset": name, "max_tokens": 60, "window_words": None},
        classes=3 if name.startswith("nli") else 2,
        id2label=NLI if name.startswith("nli") else None,
    )
    backend = create(str(model.folder))
    short, long_, claim = ask(
        backend,
        Query(CLAIM, EVIDENCE),
        Query(CLAIM, EVIDENCE * 20),
        Query(CLAIM * 20, EVIDENCE),
    )
    assert isinstance(short, Estimate)
    for found in (long_, claim):
        assert isinstance(found, Unmeasured)
        assert found.reason is UnmeasuredReason.CONTEXT_TOO_LONG


def test_as_many_tokens_as_the_model_reads_are_read(make_model: Callable[..., Any]) -> None:
    size = len(f"[CLS] {DOC} [SEP] {SAID} [SEP]".split())
    for limit, kind in ((size, Estimate), (size - 1, Unmeasured)):
        document = {"preset": "groundcheck", "max_tokens": limit}
        model = make_model(name=f"tiny{limit}", document=document)
        assert isinstance(ask(create(str(model.folder)), Query(CLAIM, EVIDENCE))[0], kind)


@pytest.mark.parametrize(
    ("shape", "preset"), [("sequence", "groundcheck"), ("tokens", "lettucedetect-base")]
)
def test_a_graph_of_one_length_is_given_masked_padding(
    make_model: Callable[..., Any], shape: str, preset: str
) -> None:
    model = make_model(shape, {"preset": preset})
    path = model.folder / "model.onnx"
    graph = onnx.load(str(path))
    for constant in graph.graph.initializer:
        if constant.name == "words":  # the tiny graph has no use for the mask
            words = numpy_helper.to_array(constant).copy()
            words[0] = 0
            constant.CopyFrom(numpy_helper.from_array(words, "words"))
    onnx.save(graph, str(path))
    dynamic = estimate(create(str(model.folder)))
    for one in graph.graph.input:
        one.type.tensor_type.shape.dim[1].dim_value = 160
    onnx.save(graph, str(path))
    fixed = estimate(create(str(model.folder)))
    assert fixed.supported == pytest.approx(dynamic.supported, abs=1e-6)
    assert 0.001 < fixed.supported < 0.999


# --- the contract ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        ("sequence", "factcg-deberta-l"),
        ("sequence", "minicheck-deberta-l"),
        ("sequence", "minicheck-roberta-l"),
        ("seq2seq", "minicheck-flan-t5-l"),
        ("tokens", "hhem-2.1-open"),
        ("sequence", "groundcheck"),
        ("sequence", "nli-deberta-v3"),
        ("tokens", "lettucedetect-base"),
        ("tokens", "tinylettuce-17m"),
    ],
)
def test_each_shape_fulfils_the_contract(
    make_model: Callable[..., Any], shape: str, name: str
) -> None:
    nli = name.startswith("nli")
    model = make_model(
        shape, {"preset": name}, classes=3 if nli else 2, id2label=NLI if nli else None
    )
    anyio.run(check_backend, create(str(model.folder)))


def test_foreign_text_is_not_read_by_a_model_of_english(make_model: Callable[..., Any]) -> None:
    model = make_model(document={"preset": "groundcheck"})
    (found,) = ask(create(str(model.folder)), Query("Die Brücke wurde 1998 eröffnet.", EVIDENCE))
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.LANGUAGE_NOT_SUPPORTED


@pytest.mark.parametrize("logits", [[[np.nan, 0.0]], [[0.0, 0.0, 0.0]], [0.0, 0.0]])
def test_logits_that_are_none_are_a_malformed_reply(logits: Any) -> None:  # noqa: ANN401
    found = read_logits(preset("factcg-deberta-l"), np.asarray(logits), encoding=None)  # type: ignore[arg-type]
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.MALFORMED_REPLY


@pytest.mark.parametrize("damaged", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_a_named_error(make_model: Callable[..., Any], damaged: str) -> None:
    model = make_model(document={"preset": "groundcheck"})
    (model.folder / damaged).write_bytes(b"no model")
    with pytest.raises(BackendError, match="cannot be loaded"):
        ask(create(str(model.folder)), Query(CLAIM, EVIDENCE))


def test_a_changed_file_or_preset_changes_the_fingerprint(
    make_model: Callable[..., Any],
) -> None:
    model = make_model(document={"preset": "groundcheck"})
    first = create(str(model.folder)).info.fingerprint
    assert create(str(model.folder)).info.fingerprint == first
    (model.folder / "veridical.json").write_text('{"preset": "groundcheck", "max_tokens": 99}')
    second = create(str(model.folder)).info.fingerprint
    with (model.folder / "model.onnx").open("ab") as file:
        file.write(b" ")
    assert len({first, second, create(str(model.folder)).info.fingerprint}) == 3


@pytest.mark.parametrize("make", [create, create_hub])
def test_a_model_has_to_be_named(make: Callable[[None], Backend]) -> None:
    with pytest.raises(ConfigurationError, match="no default model"):
        make(None)


def test_no_threads_at_all_is_a_configuration_error(make_model: Callable[..., Any]) -> None:
    model = make_model(document={"preset": "groundcheck"})
    with pytest.raises(ConfigurationError, match="threads"):
        create(str(model.folder), threads=0)


# --- this package's own weights --------------------------------------------------------------

QUERIES = (
    Query("The Eiffel Tower was completed in 1889.", "The tower was completed in 1889."),
    Query("The Eiffel Tower was completed in 1925.", "The tower was completed in 1889."),
    Query("The Eiffel Tower is in Paris.", "[EVIDENCE REMOVED]"),
    Query("Der Eiffelturm steht in Paris.", "The tower is in Paris."),
    Query("A claim.", "word " * 600),
)


def same(found: Measurement) -> object:
    if isinstance(found, Unmeasured):
        return found
    numbers = (found.supported, found.contradicted, found.not_in_context, found.low, found.high)
    return (*numbers, found.fingerprint, found.tokens)


def test_our_own_weights_in_a_folder_give_the_same_estimates_bit_for_bit(tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    shutil.copytree(card.WEIGHTS, folder)
    backend, embedded = create(str(folder)), EmbeddedVerifier()
    assert list(map(same, ask(backend, *QUERIES))) == list(map(same, ask(embedded, *QUERIES)))
    info: BackendInfo = backend.info
    assert (info.name, info.support_threshold, info.certainty) == (
        "onnx",
        embedded.info.support_threshold,
        embedded.info.certainty,
    )


def test_damaged_weights_of_our_own_layout_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "ours"
    shutil.copytree(card.WEIGHTS, folder)
    with (folder / f"{card.DEFAULT_MODEL}.tokenizer.json").open("ab") as file:
        file.write(b" ")
    with pytest.raises(BackendError, match="checksum") as caught:
        anyio.run(partial(create(str(folder)).estimate, QUERIES))
    assert "Copy the folder again" in caught.value.hint
