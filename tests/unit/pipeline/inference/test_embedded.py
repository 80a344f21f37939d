from __future__ import annotations

import json
import math
import shutil
from functools import partial
from pathlib import Path

import anyio
import pytest

from veridical.core.measurements import Estimate, Measurement, Query, Unmeasured, UnmeasuredReason
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference import card, embedded
from veridical.pipeline.inference.embedded import DEFAULT_MODEL, EmbeddedVerifier, create

EVIDENCE = "The Eiffel Tower was completed in 1889. It stands on the Champ de Mars in Paris."


def ask(*queries: Query, threads: int | None = None) -> list[Measurement]:
    return list(anyio.run(EmbeddedVerifier(threads=threads).estimate, queries))


def estimate(claim: str, context: str = EVIDENCE) -> Estimate:
    (measurement,) = ask(Query(claim, context))
    assert isinstance(measurement, Estimate)
    return measurement


def test_a_stated_fact_is_supported() -> None:
    assert estimate("The Eiffel Tower was completed in 1889.").supported > 0.8


@pytest.mark.parametrize(
    ("claim", "context"),
    [
        ("Der Eiffelturm wurde 1889 vollendet.", EVIDENCE),
        (
            "The Eiffel Tower was completed in 1889.",
            "La torre fue terminada en 1889 y está en París.",
        ),
        ("Эйфелева башня построена в 1889 году.", "Башня стоит в Париже."),
    ],
)
def test_a_claim_or_evidence_in_another_language_is_not_read(claim: str, context: str) -> None:
    read, unread = ask(
        Query("The Eiffel Tower was completed in 1889.", EVIDENCE), Query(claim, context)
    )
    assert isinstance(read, Estimate)
    assert isinstance(unread, Unmeasured)
    assert unread.reason is UnmeasuredReason.LANGUAGE_NOT_SUPPORTED


def test_it_says_which_languages_it_reads() -> None:
    assert EmbeddedVerifier().info.languages == ("en",)


def test_another_year_is_contradicted() -> None:
    found = estimate("The Eiffel Tower was completed in 1925.")
    assert found.contradicted is not None
    assert found.contradicted > 0.8


@pytest.mark.spec("SPEC-08.03")
def test_scrubbed_evidence_supports_nothing() -> None:
    found = estimate("The Eiffel Tower was completed in 1889.", "[EVIDENCE REMOVED]")
    assert found.not_in_context is not None
    assert found.not_in_context > 0.8


def test_an_estimate_does_not_depend_on_its_neighbours() -> None:
    query = Query("The Eiffel Tower was completed in 1889.", EVIDENCE)
    neighbours = [Query(f"Claim {i} of {'many ' * i}", EVIDENCE * (1 + i % 3)) for i in range(7)]
    (alone,) = ask(query)
    among = ask(*neighbours, query)[-1]
    assert isinstance(alone, Estimate)
    assert isinstance(among, Estimate)
    assert alone.supported == among.supported


@pytest.mark.parametrize("sign", ["</s></s>", "<s>", "<mask>", "<pad>", "[UNK]"])
def test_a_separator_in_a_text_is_text(sign: str) -> None:
    estimate("Load the engine.")
    engine = embedded._engine(card.load_card(DEFAULT_MODEL))
    plain, marked = embedded._encode(engine, [Query("A", "B"), Query(f"A{sign}", f"B{sign}")])
    special = {0, 1, 2, 104, 30526}
    assert len(marked.ids) > len(plain.ids)
    assert [i for i in marked.ids if i in special] == [i for i in plain.ids if i in special]


def test_letters_in_disguise_are_read_as_what_they_look_like() -> None:
    claim = "The Eiffel Tower was completed in 1889."
    bold = claim.translate({ord("a") + i: 0x1D41A + i for i in range(26)})
    assert estimate(bold, "\u200b".join(EVIDENCE)).supported == estimate(claim).supported


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    queries = [Query(f"The tower has {i} lifts.", EVIDENCE) for i in range(5)]
    some = [m.supported for m in ask(*queries, threads=threads) if isinstance(m, Estimate)]
    assert some == [m.supported for m in ask(*queries) if isinstance(m, Estimate)]


def test_a_pair_longer_than_the_model_reads_is_unmeasured_not_cut() -> None:
    (measurement,) = ask(Query("A claim.", "word " * 600))
    assert isinstance(measurement, Unmeasured)
    assert measurement.reason is UnmeasuredReason.CONTEXT_TOO_LONG


def test_weights_are_loaded_once_per_process() -> None:
    estimate("Once.")
    before = dict(embedded._engines)
    estimate("Twice.")
    assert embedded._engines == before
    # Other tests of this process may have loaded copies of the weights from folders of their own.
    assert [path.name for path, _ in before if path.parent == card.WEIGHTS] == [
        f"{embedded.DEFAULT_MODEL}.int8.onnx"
    ]


def test_a_run_that_fails_is_a_value() -> None:
    estimate("Load the engine.")
    engine = embedded._engine(card.load_card(embedded.DEFAULT_MODEL))
    broken = embedded._Engine(engine.card, session=None, tokenizer=engine.tokenizer)  # type: ignore[arg-type]
    (encoding,) = embedded._encode(broken, [Query("A claim.", "A context.")])
    assert embedded._score(broken, encoding) == Unmeasured(
        UnmeasuredReason.BACKEND_ERROR, "AttributeError"
    )


def test_a_model_that_returns_no_numbers_is_a_malformed_reply() -> None:
    measurement = embedded._estimate(
        card.load_card(embedded.DEFAULT_MODEL), [math.nan, 0.0, 0.0], tokens=1, latency_ms=1.0
    )
    assert isinstance(measurement, Unmeasured)
    assert measurement.reason is UnmeasuredReason.MALFORMED_REPLY


def test_no_threads_at_all_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="threads"):
        create(threads=0)


def test_an_unknown_model_is_named_and_the_known_ones_listed() -> None:
    with pytest.raises(BackendError, match=DEFAULT_MODEL):
        create("verifier-v99")


@pytest.fixture
def copied_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for path in card.WEIGHTS.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.setattr(card, "WEIGHTS", tmp_path)
    monkeypatch.setattr(embedded, "_engines", {})
    return tmp_path


@pytest.mark.parametrize(
    "damaged", [f"{DEFAULT_MODEL}.int8.onnx", f"{DEFAULT_MODEL}.tokenizer.json"]
)
def test_damaged_weights_are_refused(copied_weights: Path, damaged: str) -> None:
    with (copied_weights / damaged).open("ab") as file:
        file.write(b" ")
    with pytest.raises(BackendError, match="checksum"):
        anyio.run(partial(EmbeddedVerifier().estimate, [Query("A", "B")]))


def test_missing_weights_are_a_named_error(copied_weights: Path) -> None:
    (copied_weights / f"{DEFAULT_MODEL}.tokenizer.json").unlink()
    with pytest.raises(BackendError, match="cannot be read"):
        anyio.run(partial(EmbeddedVerifier().estimate, [Query("A", "B")]))


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"labels": ["supported"]}'])
def test_a_malformed_card_is_a_named_error(copied_weights: Path, content: str) -> None:
    (copied_weights / f"{DEFAULT_MODEL}.json").write_text(content)
    with pytest.raises(BackendError, match="malformed"):
        create()


def test_weights_that_compute_wrongly_here_are_refused(copied_weights: Path) -> None:
    path = copied_weights / f"{DEFAULT_MODEL}.json"
    raw = json.loads(path.read_text())
    raw["check"]["logits"] = [0.0, 0.0, 0.0]  # what is left where 8-bit products overflow
    path.write_text(json.dumps(raw))
    with pytest.raises(BackendError, match="wrong results on this processor"):
        anyio.run(partial(EmbeddedVerifier().estimate, [Query("A", "B")]))


def test_a_changed_calibration_changes_the_fingerprint(copied_weights: Path) -> None:
    before = create().info.fingerprint
    path = copied_weights / f"{DEFAULT_MODEL}.json"
    raw = json.loads(path.read_text())
    raw["calibration"]["temperature"] = 2.0
    path.write_text(json.dumps(raw))
    assert create().info.fingerprint != before


def test_the_interval_holds_the_estimate_and_the_reliability_of_its_bin() -> None:
    calibration = card.Calibration(1.0, (0, 0, 0), 0.5, 0.5, ((0.0, 0.1), (0.6, 0.7)))
    assert calibration.interval(0.9) == (0.6, 0.9)
    assert calibration.interval(0.5) == (0.5, 0.7)
    assert calibration.interval(0.0) == (0.0, 0.1)
    assert calibration.interval(1.0) == (0.6, 1.0)
