"""Against servers on loopback in the form of Text Embeddings Inference and of vLLM."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from veridical.core.measurements import (
    Estimate,
    Measurement,
    Query,
    Reads,
    Unmeasured,
    UnmeasuredReason,
)
from veridical.errors import ConfigurationError, MissingExtraError
from veridical.pipeline.inference import classify
from veridical.pipeline.inference.class_names import meanings_of, read_classes
from veridical.pipeline.inference.probing import Probing
from veridical.pipeline.inference.wrappers import Backoff, MemoryStore, Retries, wrap

Json = dict[str, Any]
Start = Callable[..., Any]

NLI = ("contradiction", "entailment", "neutral")
PROBABILITIES = [0.2, 0.7, 0.1]
QUERY = Query("The bridge was opened in 1998.", "The bridge was opened in 1998, in May.")
JOINED: Json = {"template": "{context}\n{claim}", "labels": list(NLI)}
SERVERS = [("tei", {}), ("vllm", JOINED)]
EITHER = pytest.mark.parametrize(("kind", "options"), SERVERS, ids=["tei", "vllm"])


def fixed(*_: str) -> list[float]:
    return list(PROBABILITIES)


def by_number(*texts: str) -> list[float]:
    """Return P(entailment) as the number at the end of the claim says, in percent."""
    share = int(texts[-1].split()[-1]) / 100
    return [0.0, share, 1.0 - share]


def asked(backend: Any, *queries: Query) -> list[Measurement]:  # noqa: ANN401
    return list(anyio.run(backend.estimate, queries or (QUERY,)))


def measured(backend: Any, *queries: Query) -> list[Estimate]:  # noqa: ANN401
    found = asked(backend, *queries)
    assert all(isinstance(one, Estimate) for one in found), found
    return [one for one in found if isinstance(one, Estimate)]


# --- probabilities and requests --------------------------------------------------------------


@EITHER
def test_classes_are_read_by_their_names(
    kind: str, options: Json, classifier_server: Start
) -> None:
    server = classifier_server(kind, NLI, fixed)
    backend = classify.create(server.url, **options)
    (found,) = measured(backend)
    assert (found.supported, found.contradicted) == (pytest.approx(0.7), pytest.approx(0.2))
    assert (found.low, found.high) == (found.supported, found.supported)
    assert found.model == "org/classifier"
    assert found.fingerprint == backend.info.fingerprint
    assert found.tokens is not None
    assert found.tokens > 10
    assert found.cost_usd is None
    assert backend.info.tells_contradiction
    assert not backend.info.measures_dependence


def test_the_order_of_classes_is_the_models(classifier_server: Start) -> None:
    names = ("entailment", "neutral", "contradiction")
    server = classifier_server("tei", names, fixed)
    (found,) = measured(classify.create(server.url))
    assert (found.supported, found.contradicted) == (pytest.approx(0.2), pytest.approx(0.1))


def test_text_embeddings_inference_is_sent_pairs_and_may_not_cut_them(
    classifier_server: Start,
) -> None:
    server = classifier_server("tei", NLI, fixed)
    measured(classify.create(server.url, api_key="sk-1"))
    assert server.requests == [
        {"inputs": [[QUERY.context, QUERY.claim]], "raw_scores": False, "truncate": False}
    ]
    assert server.keys == ["Bearer sk-1"]


def test_vllm_is_sent_texts_in_the_form_of_the_template(classifier_server: Start) -> None:
    server = classifier_server("vllm", NLI, fixed)
    query = Query("A {context}.", "Evidence </s> [SEP] {claim}", question="Why?")
    backend = classify.create(
        server.url, template="{question} {context}</s>{claim}", labels=list(NLI)
    )
    measured(backend, query)
    assert server.requests == [{"input": ["Why? Evidence < /s> [ SEP] {claim}</s>A {context}."]}]


@EITHER
def test_measurements_come_in_the_order_of_the_queries(
    kind: str, options: Json, classifier_server: Start
) -> None:
    server = classifier_server(kind, NLI, by_number)
    queries = [Query(f"Claim {i}", "word " * (i % 7)) for i in range(10, 50)]
    backend = classify.create(server.url, texts_per_request=7, **options)
    found = measured(backend, *queries)
    assert [m.supported for m in found] == pytest.approx([i / 100 for i in range(10, 50)])
    assert len(server.requests) == 6
    asked(backend, *queries)
    assert len(server.keys) == (1 if kind == "tei" else 2), "the server is asked once what it is"


def test_a_request_has_no_more_texts_than_the_server_takes(classifier_server: Start) -> None:
    server = classifier_server("tei", NLI, fixed, most=4)
    measured(classify.create(server.url), *[QUERY] * 10)
    sizes = [len(request["inputs"]) for request in server.requests]  # they arrive in any order
    assert sorted(sizes, reverse=True) == [4, 4, 2]


@EITHER
def test_a_text_that_is_too_long_costs_no_other_text_its_measurement(
    kind: str, options: Json, classifier_server: Start
) -> None:
    server = classifier_server(kind, NLI, fixed)
    queries = [QUERY, Query("A claim.", "word " * 600), QUERY, QUERY]
    found = asked(classify.create(server.url, **options), *queries)
    assert [isinstance(one, Estimate) for one in found] == [True, False, True, True]
    assert isinstance(found[1], Unmeasured)
    assert found[1].reason is UnmeasuredReason.CONTEXT_TOO_LONG


@pytest.mark.parametrize("names", [("not_entailment", "entailment"), ("supported",)])
def test_a_model_of_two_classes_knows_no_contradiction(
    names: tuple[str, ...], classifier_server: Start
) -> None:
    server = classifier_server("tei", names, lambda *_: [0.25, 0.75][-len(names) :])
    backend = classify.create(server.url)
    (found,) = measured(backend)
    assert (found.supported, found.contradicted) == (pytest.approx(0.75), 0.0)
    assert found.not_in_context == pytest.approx(0.25)
    assert not backend.info.tells_contradiction


def test_tokens_and_cost_of_a_request_are_shared_out(classifier_server: Start) -> None:
    server = classifier_server("tei", NLI, fixed)
    backend = classify.create(server.url, price=lambda usage: usage.prompt_tokens * 0.5)
    found = measured(backend, QUERY, QUERY)
    assert [(m.tokens, m.cost_usd) for m in found] == [(14, 7.0), (14, 7.0)]


# --- names of classes ------------------------------------------------------------------------


def test_classes_without_a_known_meaning_are_listed(classifier_server: Start) -> None:
    server = classifier_server("tei", ("LABEL_0", "entailment", "LABEL_2"), fixed)
    with pytest.raises(ConfigurationError, match="not known: LABEL_0, LABEL_2"):
        asked(classify.create(server.url))


def test_labels_name_the_classes_of_a_model_that_does_not(classifier_server: Start) -> None:
    server = classifier_server("tei", ("LABEL_0", "LABEL_1", "LABEL_2"), fixed)
    (found,) = measured(classify.create(server.url, labels=list(NLI)))
    assert (found.supported, found.contradicted) == (pytest.approx(0.7), pytest.approx(0.2))


@EITHER
def test_labels_in_another_order_than_the_servers_are_an_error(
    kind: str, options: Json, classifier_server: Start
) -> None:
    server = classifier_server(kind, NLI, fixed)
    turned = {**options, "labels": ["entailment", "contradiction", "neutral"]}
    with pytest.raises(ConfigurationError, match="is configured as"):
        asked(classify.create(server.url, **turned))


@EITHER
def test_labels_of_another_number_than_the_classes_are_an_error(
    kind: str, options: Json, classifier_server: Start
) -> None:
    server = classifier_server(kind, NLI, fixed)
    with pytest.raises(ConfigurationError, match="3 classes, 2 are configured"):
        asked(classify.create(server.url, **{**options, "labels": ["entailment", "neutral"]}))


def test_vllm_does_not_tell_its_classes(classifier_server: Start) -> None:
    server = classifier_server("vllm", NLI, fixed)
    with pytest.raises(ConfigurationError, match="does not tell the classes"):
        asked(classify.create(server.url, template="{context} {claim}"))


@pytest.mark.parametrize("name", ["Entailment", "SUPPORTED", "not-entailment", "NOT ENOUGH INFO"])
def test_names_are_known_however_they_are_written(name: str) -> None:
    assert meanings_of([name, "entailment"], hint="")


def test_classes_none_of_which_supports_a_claim_are_an_error() -> None:
    with pytest.raises(ConfigurationError, match="none of these classes supports"):
        meanings_of(["neutral", "contradiction"], hint="")


@pytest.mark.parametrize(
    "probabilities",
    [[0.5, float("nan")], [0.5, None], [0.5, True], [0.5], [0.4, 0.4], [1.5, -0.5], ["0.5", "0.5"]],
)
def test_what_is_no_distribution_is_a_malformed_reply(probabilities: list[object]) -> None:
    found = read_classes(meanings_of(["entailment", "neutral"], hint=""), probabilities)
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.MALFORMED_REPLY


# --- presets ---------------------------------------------------------------------------------


def test_a_preset_has_template_labels_and_threshold(classifier_server: Start) -> None:
    server = classifier_server("vllm", ("LABEL_0", "LABEL_1"), lambda *_: [0.1, 0.9])
    backend = classify.create(server.url, preset="minicheck-roberta-l")
    (found,) = measured(backend)
    assert (found.supported, found.contradicted) == (pytest.approx(0.9), 0.0)
    assert (backend.info.support_threshold, backend.info.reads) == (0.5, Reads.WHOLE)
    assert not backend.info.tells_contradiction
    assert server.requests == [{"input": [f"{QUERY.context}</s>{QUERY.claim}"]}]


def test_the_classes_of_a_preset_have_its_order(classifier_server: Start) -> None:
    server = classifier_server("tei", ("LABEL_0", "LABEL_1"), lambda *_: [0.1, 0.9])
    backend = classify.create(server.url, preset="groundcheck")
    (found,) = measured(backend, replace(QUERY, question="When?"))
    assert found.supported == pytest.approx(0.1)
    assert server.requests[0]["inputs"] == [[f"When?\n\n{QUERY.context}", QUERY.claim]]


def test_long_evidence_is_read_in_the_windows_of_a_preset(classifier_server: Start) -> None:
    def likelier_at_the_end(text: str) -> list[float]:
        return [0.2, 0.8] if "Number 99." in text else [0.9, 0.1]

    names = ("LABEL_0", "LABEL_1")
    server = classifier_server("tei", names, likelier_at_the_end, longest=2048)
    backend = classify.create(server.url, preset="factcg-deberta-l")
    evidence = " ".join(f"Word {'and word ' * 10}here. Number {i}." for i in range(100))
    (found,) = measured(backend, Query("A claim.", evidence))
    assert found.supported == pytest.approx(0.8)
    texts = [text for request in server.requests for (text,) in request["inputs"]]
    assert len(texts) == 5
    assert all(text.endswith("I think the answer is ") for text in texts)
    assert found.tokens == sum(len(text.split()) for text in texts)


def test_a_window_that_is_not_measured_leaves_the_claim_unmeasured(
    classifier_server: Start,
) -> None:
    server = classifier_server("tei", ("LABEL_0", "LABEL_1"), lambda *_: [0.1, 0.9])
    backend = classify.create(server.url, preset="factcg-deberta-l")
    (found,) = asked(backend, Query("A claim.", f"A short one. {'word ' * 600}end. Another one."))
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.CONTEXT_TOO_LONG


def test_a_model_of_english_is_not_asked_about_another_language(classifier_server: Start) -> None:
    server = classifier_server("tei", ("LABEL_0", "LABEL_1"), lambda *_: [0.1, 0.9])
    german = "Die Brücke wurde im Jahr 1998 eröffnet und trägt neun Spuren über den breiten Fluss."
    found = asked(classify.create(server.url, preset="factcg-deberta-l"), Query(german, german))
    assert [getattr(one, "reason", None) for one in found] == [
        UnmeasuredReason.LANGUAGE_NOT_SUPPORTED
    ]
    assert server.requests == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"preset": "nobody"}, "no preset"),
        ({"preset": "bespoke-minicheck-7b"}, "no classifier of texts"),
        ({"preset": "tinylettuce-17m"}, "no classifier of texts"),
        ({"preset": "groundcheck", "server": "vllm"}, "reads single texts"),
        ({"preset": "bespoke-minicheck-7b", "labels": ["supported"]}, "of its own"),
        ({"template": "{context}"}, "does not hold"),
        ({"server": "vllm"}, "reads single texts"),
        ({"timeout_s": 0.0}, "timeout_s"),
        ({"texts_per_request": 0}, "claims_per_request"),
    ],
)
def test_options_that_do_not_fit_are_an_error(options: Json, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        classify.create("http://127.0.0.1:9", **options)


@pytest.mark.parametrize("url", [None, "", "127.0.0.1:8080", "http://user:secret@127.0.0.1:8080"])
def test_what_is_no_address_is_an_error_that_does_not_repeat_it(url: str | None) -> None:
    with pytest.raises(ConfigurationError) as raised:
        classify.create(url)
    assert "secret" not in str(raised.value)


# --- servers ---------------------------------------------------------------------------------


def test_a_server_of_another_kind_is_an_error(classifier_server: Start) -> None:
    server = classifier_server("neither", NLI, fixed)
    with pytest.raises(ConfigurationError, match="Text Embeddings Inference or vLLM"):
        asked(classify.create(server.url))
    server = classifier_server("tei", NLI, fixed)
    with pytest.raises(ConfigurationError, match="describe itself as vLLM"):
        asked(classify.create(server.url, server="vllm", **JOINED))


def test_vllm_reads_no_pairs(classifier_server: Start) -> None:
    server = classifier_server("vllm", NLI, fixed)
    with pytest.raises(ConfigurationError, match="reads single texts"):
        asked(classify.create(server.url, labels=list(NLI)))


@EITHER
def test_a_killed_server_is_a_value(kind: str, options: Json, classifier_server: Start) -> None:
    server = classifier_server(kind, NLI, fixed)
    backend = classify.create(server.url, **options)
    measured(backend)
    server.http.shutdown()
    server.http.server_close()
    for again in (backend, classify.create(server.url, **options)):
        (found,) = asked(again)
        assert isinstance(found, Unmeasured)
        assert found.reason is UnmeasuredReason.BACKEND_ERROR
        assert found.detail == "no connection (ConnectError)"


@EITHER
def test_a_slow_server_is_a_timeout(kind: str, options: Json, classifier_server: Start) -> None:
    server = classifier_server(kind, NLI, fixed, delay_s=0.5)
    (found,) = asked(classify.create(server.url, timeout_s=0.1, **options))
    assert isinstance(found, Unmeasured)
    assert found.reason is UnmeasuredReason.TIMEOUT


@EITHER
def test_a_busy_server_says_how_long_to_wait_and_is_asked_again(
    kind: str, options: Json, classifier_server: Start
) -> None:
    busy = iter([True, True])

    def spoil(status: int, headers: Json, body: Json) -> tuple[int, Json, Any]:
        refusal = {"error": "Model is overloaded", "error_type": "overloaded"}
        return (429, {"Retry-After": "0.05"}, refusal) if next(busy, False) else (
            status, headers, body,
        )  # fmt: skip

    server = classifier_server(kind, NLI, fixed, spoil=spoil)
    backend = classify.create(server.url, **options)
    (found,) = asked(backend)
    assert found == Unmeasured(UnmeasuredReason.RATE_LIMITED, "HTTP 429", 0.05)
    (again,) = measured(Retries(backend, Backoff(first_wait_s=0.01)))
    assert again.supported == pytest.approx(0.7)


def _results(body: Any) -> list[Any]:  # noqa: ANN401
    results: list[Any] = body["data"] if isinstance(body, dict) else body
    return results


def _lose_last(body: Any) -> Any:  # noqa: ANN401
    _results(body).pop()
    return body


def _nan_in_first(body: Any) -> Any:  # noqa: ANN401
    first = _results(body)[0]
    if isinstance(first, dict):
        first["probs"][0] = float("nan")
    else:
        first[0]["score"] = float("nan")
    return body


NONE = [False] * 3
FAULTS: dict[str, tuple[Callable[[Any], Any], dict[str, list[bool]]]] = {
    # Results without numbers belong to nobody once one is missing.
    "one is missing": (_lose_last, {"tei": NONE, "vllm": [True, True, False]}),
    "one is no number": (
        _nan_in_first,
        {"tei": [False, True, True], "vllm": [False, True, True]},
    ),
    "no results": (lambda _: {"a": 1}, {"tei": NONE, "vllm": NONE}),
    "a text": (lambda _: "The bridge", {"tei": NONE, "vllm": NONE}),
}


@EITHER
@pytest.mark.parametrize("fault", FAULTS)
def test_a_result_that_is_missing_or_wrong_is_a_malformed_reply(
    kind: str, options: Json, fault: str, classifier_server: Start
) -> None:
    change, expected = FAULTS[fault]
    server = classifier_server(
        kind, NLI, fixed, spoil=lambda status, headers, body: (status, headers, change(body))
    )
    found = asked(classify.create(server.url, **options), QUERY, QUERY, QUERY)
    assert [isinstance(one, Estimate) for one in found] == expected[kind]
    reasons = {one.reason for one in found if isinstance(one, Unmeasured)}
    assert reasons == {UnmeasuredReason.MALFORMED_REPLY}


def test_results_of_vllm_are_told_apart_by_their_numbers(classifier_server: Start) -> None:
    def turned(status: int, headers: Json, body: Json) -> tuple[int, Json, Any]:
        body["data"].reverse()
        return status, headers, body

    server = classifier_server("vllm", NLI, by_number, spoil=turned)
    queries = [Query(f"Claim {i}", "Context.") for i in (10, 40, 90)]
    found = measured(classify.create(server.url, **JOINED), *queries)
    assert [m.supported for m in found] == pytest.approx([0.1, 0.4, 0.9])


def test_two_results_for_one_text_are_none(classifier_server: Start) -> None:
    def doubled(status: int, headers: Json, body: Json) -> tuple[int, Json, Any]:
        body["data"][1]["index"] = 0
        return status, headers, body

    server = classifier_server("vllm", NLI, fixed, spoil=doubled)
    found = asked(classify.create(server.url, **JOINED), QUERY, QUERY)
    assert not any(isinstance(one, Estimate) for one in found)


def test_a_result_with_other_classes_than_the_model_is_a_malformed_reply(
    classifier_server: Start,
) -> None:
    server = classifier_server("tei", NLI, fixed)
    backend = classify.create(server.url)
    measured(backend)
    server.names = ("entailment", "neutral", "other")  # another model on the same address
    (found,) = asked(backend)
    assert found == Unmeasured(
        UnmeasuredReason.MALFORMED_REPLY, "a result has other classes than the model"
    )


def test_a_wrong_key_is_a_value(classifier_server: Start) -> None:
    server = classifier_server("tei", NLI, fixed, spoil=lambda *_: (401, {}, {}))
    (found,) = asked(classify.create(server.url))
    assert found == Unmeasured(UnmeasuredReason.BACKEND_ERROR, "HTTP 401")


@EITHER
def test_a_probe_names_server_model_and_classes(
    kind: str, options: Json, classifier_server: Start
) -> None:
    server = classifier_server(kind, NLI, fixed)
    backend = classify.create(server.url, **options)
    assert isinstance(backend, Probing)
    probe = anyio.run(backend.probe)
    assert probe.ok
    assert " serves " in probe.detail
    assert "contradict" in probe.detail
    assert not anyio.run(classify.create("http://127.0.0.1:9").probe).ok


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"veridical\[classify\]"):
        asked(classify.create("http://127.0.0.1:9"))


@EITHER
def test_a_cache_keeps_the_models_of_one_address_apart(
    kind: str, options: Json, classifier_server: Start
) -> None:
    server, store = classifier_server(kind, NLI, fixed), MemoryStore()
    found = []
    for server.model in ("org/one", "org/other", "org/one"):
        backend = wrap(classify.create(server.url, **options), cache=store, attempts=2)
        found += [(one.model, one.cached) for one in measured(backend)]
    assert found == [("org/one", False), ("org/other", False), ("org/one", True)]


def test_the_fingerprint_depends_on_what_decides_the_estimate() -> None:
    def fingerprint(url: str = "http://127.0.0.1:9", **options: Any) -> str:  # noqa: ANN401
        return classify.create(url, **options).info.fingerprint

    found = [
        fingerprint(),
        fingerprint("http://127.0.0.1:10"),
        fingerprint(labels=list(NLI)),
        fingerprint(template="{context} {claim}"),
    ]
    assert len(set(found)) == len(found)
    assert fingerprint(texts_per_request=4, concurrency=2, api_key="sk-1") == found[0]
