"""Results on record: what a preset makes of a pair, against the model's own code.

A file `golden/NAME.json` is recorded once, with the authors' code: the token ids and the logits of
each pair, and P(supported). It is compared wherever the model is: this package's own weights here,
a downloaded model where `VERIDICAL_MODELS__FOLDER` names a store that has it. `sha256` says which
files were recorded, `description` what stands in `veridical.json` (default: the preset NAME).
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.core.measurements import Query
from veridical.errors import ConfigurationError
from veridical.pipeline.inference import card
from veridical.pipeline.inference.cross_encoder import EncoderReading, engine, read_query
from veridical.pipeline.inference.embedded import CHECK_TOLERANCE
from veridical.pipeline.inference.model_folder import ModelFolder, read_folder
from veridical.pipeline.inference.model_store import folder_of
from veridical.pipeline.inference.presets import presets

RECORDS = {path.stem: path for path in sorted((Path(__file__).parent / "golden").glob("*.json"))}


def record(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(RECORDS[name].read_text(encoding="utf-8"))
    return document


def ours(folder: Path, document: dict[str, Any]) -> ModelFolder:
    """Return this package's own weights in a folder as exports of other models have it."""
    weights = card.load_card(document["model"])
    (folder / "model.onnx").symlink_to(weights.weights)
    (folder / "tokenizer.json").symlink_to(weights.tokenizer)
    names = {"supported": "entailment", "not_in_context": "neutral"}
    labels = {str(i): names.get(one, "contradiction") for i, one in enumerate(weights.labels)}
    (folder / "config.json").write_text(json.dumps({"id2label": labels}), encoding="utf-8")
    description = json.dumps(document["description"])
    (folder / "veridical.json").write_text(description, encoding="utf-8")
    return read_folder(folder)


def model_of(name: str, folder: Path) -> ModelFolder:
    if name == "veridical":
        return ours(folder, record(name))
    store = os.environ.get("VERIDICAL_MODELS__FOLDER")
    try:
        found = folder_of(name, folder=Path(store) if store else None)
    except ConfigurationError:
        pytest.skip(f"{name} is not downloaded here")
    return read_folder(found, presets()[name])


@pytest.mark.parametrize("name", RECORDS)
def test_ids_logits_and_probabilities_are_those_on_record(name: str, tmp_path: Path) -> None:
    document, model = record(name), model_of(name, tmp_path)
    for file, sha256 in document["sha256"].items():
        assert hashlib.sha256((model.path / file).read_bytes()).hexdigest() == sha256
    loaded = engine(model)
    for pair in document["pairs"]:
        query = Query(pair["claim"], pair["context"], pair.get("question"))
        ((encoding,),) = loaded.encodings(query)
        assert encoding.ids == pair["ids"]
        found = np.asarray(loaded.run(encoding))[0]
        assert np.allclose(found, pair["logits"], rtol=0, atol=CHECK_TOLERANCE)
        read = read_query(loaded, query)
        assert isinstance(read, EncoderReading)
        assert read.supported == pytest.approx(pair["supported"], abs=document["tolerance"])


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_is_of_a_preset_and_tells_labels_apart(name: str) -> None:
    pairs = record(name)["pairs"]
    assert name in presets()
    assert len(pairs) >= 5
    assert {pair["supported"] > 0.5 for pair in pairs} == {True, False}
