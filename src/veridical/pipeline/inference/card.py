"""Card of an embedded verifier: identity of its weights and calibration of their output."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.certainty import CertaintyModel, from_document
from veridical.errors import BackendError

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_MODEL = "verifier-v5"

WEIGHTS = Path(__file__).parent / "weights"

_REINSTALL = "Reinstall veridical: the package is damaged"
_COPY_AGAIN = "Copy the folder again: a file of it is damaged or missing"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of logits to probabilities, and the reliability of these.

    Probabilities are softmax(logits / temperature + bias). `reliability` bounds, for each of its
    equally wide bins of P(supported), the share of claims that were truly supported (95 % Wilson
    interval on held-in calibration data).
    """

    temperature: float
    bias: tuple[float, float, float]
    support_threshold: float
    contradiction_threshold: float
    reliability: tuple[tuple[float, float], ...]

    def interval(self, p: float) -> tuple[float, float]:
        """Return bounds on P(supported): the reliability of its bin, widened to hold `p`."""
        if not self.reliability:
            return p, p
        edges = [i / len(self.reliability) for i in range(1, len(self.reliability))]
        low, high = self.reliability[bisect_right(edges, p)]
        return min(low, p), max(high, p)


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """Pair, as token ids, and its reference logits from the machine that made the weights.

    On some processors 8-bit products overflow without any error; a wrong answer to this shows it.
    """

    input_ids: tuple[int, ...]
    logits: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class WeightsCard:
    """Names, labels, limits and checksums of one set of weights.

    `certainty` tells sure verdicts (`training/certainty.py` writes it); None if nothing was fitted.
    """

    name: str
    weights: Path
    tokenizer: Path
    labels: tuple[str, str, str]
    max_tokens: int
    pad_id: int
    sha256: Mapping[str, str]
    calibration: Calibration
    check: SelfCheck
    certainty: CertaintyModel | None = None

    @property
    def fingerprint(self) -> str:
        """Joint fingerprint of weights, tokenizer and calibration: 12 hex digits."""
        parts = [*sorted(self.sha256.values()), repr(self.calibration)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    def verify(self) -> None:
        """Raise `BackendError` unless both files have the checksum the card states."""
        for path in (self.weights, self.tokenizer):
            if _sha256(path) != self.sha256[path.name]:
                msg = f"{path.name} does not have the checksum its card states"
                raise BackendError(msg, hint=_remedy(path.parent))


def load_card(name: str, folder: Path | None = None) -> WeightsCard:
    """Read the card `name` in a folder (default: the package's).

    `BackendError` if there is none or it is malformed.
    """
    folder = folder or WEIGHTS
    try:
        raw = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        return _parse(raw, folder)
    except OSError:
        known = ", ".join(sorted(card.stem for card in folder.glob("verifier-*.json")))
        msg = f"there is no embedded verifier named {name!r}"
        raise BackendError(msg, hint=f"Known here: {known}") from None
    except (ValueError, KeyError, TypeError) as error:
        msg = f"the card of {name!r} is malformed ({type(error).__name__})"
        raise BackendError(msg, hint=_remedy(folder)) from None


def _remedy(folder: Path) -> str:
    return _REINSTALL if folder == WEIGHTS else _COPY_AGAIN


def _parse(raw: dict[str, Any], folder: Path) -> WeightsCard:
    calibration = raw["calibration"]
    first, second, third = raw["labels"]
    bias = calibration["bias"]
    check = raw["check"]
    one, two, three = map(float, check["logits"])
    return WeightsCard(
        name=raw["name"],
        weights=folder / raw["weights"],
        tokenizer=folder / raw["tokenizer"],
        labels=(first, second, third),
        max_tokens=int(raw["max_tokens"]),
        pad_id=int(raw["pad_id"]),
        sha256=dict(raw["sha256"]),
        calibration=Calibration(
            temperature=float(calibration["temperature"]),
            bias=(float(bias[first]), float(bias[second]), float(bias[third])),
            support_threshold=float(calibration["support_threshold"]),
            contradiction_threshold=float(calibration["contradiction_threshold"]),
            reliability=tuple((float(a), float(b)) for a, b in calibration["reliability"]),
        ),
        check=SelfCheck(tuple(map(int, check["input_ids"])), (one, two, three)),
        certainty=from_document(raw["certainty"]) if "certainty" in raw else None,
    )


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        msg = f"{path.name} cannot be read"
        raise BackendError(msg, hint=_remedy(path.parent)) from None
