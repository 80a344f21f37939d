"""Formats of two classifier servers: Text Embeddings Inference, and vLLM.

Text Embeddings Inference reads pairs (`POST /predict`), names all classes, and describes itself in
`GET /info`. vLLM reads single texts (`POST /classify`), gives the probabilities in the order of the
classes, and names the most probable one only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from veridical.core.measurements import Unmeasured
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.class_names import meaning_of, meanings_of, read_classes
from veridical.pipeline.inference.failures import malformed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from veridical.pipeline.inference.option_scores import Distribution

ServerName = Literal["tei", "vllm"]
Input = list[str]
"""A text, or a pair of evidence and claim."""

_HINT = "Name them in order with classify.labels, or set classify.preset"


@dataclass(frozen=True, slots=True)
class Classifier:
    """Classifier as its server describes it; `meanings` are those of its classes, in order.

    `names` are the server's own names of the classes, empty where it gives none, and `most` the
    maximum number of texts in a request, if there is one.
    """

    model: str
    meanings: tuple[str, ...]
    names: tuple[str, ...] = ()
    most: int | None = None


class ServerFormat(Protocol):
    """Paths, requests and replies of a kind of server."""

    title: str
    about: str
    """Path of the description."""
    path: str
    pairs: bool
    """True if it reads pairs."""

    def describes(self, raw: object) -> bool:
        """Return whether a description is one of this kind of server."""
        ...

    def classifier(self, raw: Any, labels: Sequence[str] | None) -> Classifier:  # noqa: ANN401
        """Return the classifier of a description; `labels` are the names that are configured.

        `ConfigurationError` if the classes are unknown, or have another order than is configured.
        """
        ...

    def request(self, inputs: Sequence[Input]) -> dict[str, Any]:
        """Return the body of a request."""
        ...

    def read(
        self, raw: object, texts: int, classifier: Classifier
    ) -> list[Distribution | Unmeasured] | Unmeasured:
        """Return the distribution of each text in the JSON of a reply; one failure if it has none.

        An invalid single result costs only its own text the measurement.
        """
        ...

    def tokens(self, raw: object, headers: Mapping[str, str]) -> int | None:
        """Return the tokens that a request took; None if they are unknown."""
        ...


class TextEmbeddingsInference:
    """Text Embeddings Inference: pairs, and all classes by name."""

    title = "Text Embeddings Inference"
    about = "/info"
    path = "/predict"
    pairs = True

    def describes(self, raw: object) -> bool:
        """Return whether a description is one of this kind of server."""
        return isinstance(raw, dict) and "model_type" in raw and "model_id" in raw

    def classifier(self, raw: Any, labels: Sequence[str] | None) -> Classifier:  # noqa: ANN401
        """Return the classifier of a description; errors as in the protocol."""
        kinds = raw["model_type"] if isinstance(raw["model_type"], dict) else {}
        kind = kinds.get("classifier") or kinds.get("reranker")
        by_number = kind.get("id2label") if isinstance(kind, dict) else None
        if not isinstance(by_number, dict) or not by_number:
            msg = "the server has no classifier"
            raise ConfigurationError(msg, hint="Serve a model for sequence classification")
        numbers = sorted(by_number, key=int)
        names = tuple(str(by_number[number]) for number in numbers)
        meanings = _meanings(names, labels)
        most = raw.get("max_client_batch_size")
        limit = most if isinstance(most, int) and most > 0 else None
        return Classifier(str(raw["model_id"]), meanings, names, limit)

    def request(self, inputs: Sequence[Input]) -> dict[str, Any]:
        """Return the body of a request; a text that is too long is refused, not cut."""
        return {"inputs": list(inputs), "raw_scores": False, "truncate": False}

    def read(
        self, raw: object, texts: int, classifier: Classifier
    ) -> list[Distribution | Unmeasured] | Unmeasured:
        """Return the distribution of each text; results have no numbers, so none may be missing."""
        if not isinstance(raw, list) or len(raw) != texts:
            return malformed("the reply has another number of results than texts")
        return [self._one(result, classifier) for result in raw]

    def _one(self, result: object, classifier: Classifier) -> Distribution | Unmeasured:
        if not isinstance(result, list) or not all(isinstance(one, dict) for one in result):
            return malformed("a result is no list of classes")
        scores = {one.get("label"): one.get("score") for one in result}
        if len(result) != len(classifier.names) or scores.keys() != set(classifier.names):
            return malformed("a result has other classes than the model")
        return read_classes(classifier.meanings, [scores[name] for name in classifier.names])

    def tokens(self, raw: object, headers: Mapping[str, str]) -> int | None:  # noqa: ARG002
        """Return the tokens that a request took, which a header says."""
        counted = headers.get("x-compute-tokens", "")
        return int(counted) if re.fullmatch(r"\d{1,12}", counted, re.ASCII) else None


class VLLM:
    """vLLM: single texts, and the probabilities of the classes in their order."""

    title = "vLLM"
    about = "/v1/models"
    path = "/classify"
    pairs = False

    def describes(self, raw: object) -> bool:
        """Return whether a description is one of this kind of server."""
        models = raw.get("data") if isinstance(raw, dict) else None
        first = models[0] if isinstance(models, list) and models else None
        return isinstance(first, dict) and first.get("owned_by") == "vllm"

    def classifier(self, raw: Any, labels: Sequence[str] | None) -> Classifier:  # noqa: ANN401
        """Return the classifier of a description; errors as in the protocol."""
        if labels is None:
            msg = "vLLM does not tell the classes of its model"
            raise ConfigurationError(msg, hint=_HINT)
        return Classifier(str(raw["data"][0].get("id")), meanings_of(labels, hint=_HINT))

    def request(self, inputs: Sequence[Input]) -> dict[str, Any]:
        """Return the body of a request; a text that is too long is refused, not cut."""
        return {"input": [text for (text,) in inputs]}

    def read(
        self, raw: object, texts: int, classifier: Classifier
    ) -> list[Distribution | Unmeasured] | Unmeasured:
        """Return the distribution of each text by the number of its result."""
        results = raw.get("data") if isinstance(raw, dict) else None
        if not isinstance(results, list):
            return malformed("the reply has no results")
        found: dict[object, Distribution | Unmeasured] = {}
        for result in results:
            number = result.get("index") if isinstance(result, dict) else None
            twice = malformed("the reply has two results for a text")
            found[number] = twice if number in found else self._one(result, classifier)
        missing = malformed("the reply misses the text")
        return [found.get(number, missing) for number in range(texts)]

    def _one(self, result: Any, classifier: Classifier) -> Distribution | Unmeasured:  # noqa: ANN401
        probabilities = result.get("probs") if isinstance(result, dict) else None
        if not isinstance(probabilities, list):
            return malformed("a result has no probabilities")
        _ensure_number(len(probabilities), classifier.meanings)
        found = read_classes(classifier.meanings, probabilities)
        named = result.get("label")
        if isinstance(named, str) and not isinstance(found, Unmeasured):
            likeliest = max(range(len(probabilities)), key=probabilities.__getitem__)
            _ensure_meaning(named, classifier.meanings[likeliest])
        return found

    def tokens(self, raw: object, headers: Mapping[str, str]) -> int | None:  # noqa: ARG002
        """Return the tokens that a request took."""
        usage = raw.get("usage") if isinstance(raw, dict) else None
        counted = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        return counted if isinstance(counted, int) and counted >= 0 else None


FORMATS: dict[ServerName, ServerFormat] = {"tei": TextEmbeddingsInference(), "vllm": VLLM()}


def _meanings(names: Sequence[str], labels: Sequence[str] | None) -> tuple[str, ...]:
    """Return the meanings of the classes, by the configured names if there are any."""
    if labels is None:
        return meanings_of(names, hint=_HINT)
    _ensure_number(len(names), labels)
    meanings = meanings_of(labels, hint=_HINT)
    for name, meaning in zip(names, meanings, strict=True):
        _ensure_meaning(name, meaning)
    return meanings


def _ensure_number(classes: int, labels: Sequence[str]) -> None:
    """Raise `ConfigurationError` unless as many classes are configured as the model has."""
    if classes != len(labels):
        msg = f"the model has {classes} classes, {len(labels)} are configured"
        raise ConfigurationError(msg, hint=_HINT)


def _ensure_meaning(name: str, meaning: str) -> None:
    """Raise `ConfigurationError` if the server's name of a class means something else."""
    if meaning_of(name) not in {None, meaning}:
        msg = f"the class {name!r} of the server is configured as {meaning!r}"
        raise ConfigurationError(msg, hint="Put classify.labels into the order of the model")
