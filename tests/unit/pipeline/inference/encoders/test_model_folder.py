from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Query
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.cross_encoder import create
from veridical.pipeline.inference.model_folder import read_folder
from veridical.pipeline.inference.presets import preset

NLI = ("contradiction", "entailment", "neutral")


def refused(folder: Path, match: str) -> str:
    with pytest.raises(ConfigurationError, match=match) as caught:
        create(str(folder))
    return caught.value.hint


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert "onnx:FOLDER" in refused(tmp_path / "nowhere", "no model folder")


def test_an_empty_folder_is_refused_with_the_way_to_make_one(tmp_path: Path) -> None:
    assert "optimum-cli export onnx" in refused(tmp_path, r"no config\.json")


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.onnx"])
def test_a_missing_file_is_named(make_model: Callable[..., Any], file: str) -> None:
    model = make_model(document={"preset": "groundcheck"})
    (model.folder / file).unlink()
    refused(model.folder, f"no {file}")


def test_both_graphs_of_a_seq2seq_model_are_needed(make_model: Callable[..., Any]) -> None:
    model = make_model("seq2seq", {"preset": "minicheck-flan-t5-l"})
    (model.folder / "decoder_model.onnx").unlink()
    refused(model.folder, r"no encoder_model\.onnx or decoder_model\.onnx")


@pytest.mark.parametrize("file", ["model.onnx", "onnx/model.onnx", "model_quantized.onnx"])
def test_the_graph_is_found_where_exports_and_repositories_have_it(
    make_model: Callable[..., Any], file: str
) -> None:
    model = make_model(id2label=NLI, classes=3, file=file)
    assert read_folder(model.folder).graphs == (model.folder / file,)


def test_one_of_several_graphs_has_to_be_named(make_model: Callable[..., Any]) -> None:
    model = make_model(id2label=NLI, classes=3, file="model_a.onnx")
    (model.folder / "model_b.onnx").write_bytes((model.folder / "model_a.onnx").read_bytes())
    assert '"files"' in refused(model.folder, r"2 graphs: model_a\.onnx, model_b\.onnx")
    document = {"preset": "nli-deberta-v3", "files": ["model_b.onnx"]}
    (model.folder / "veridical.json").write_text(json.dumps(document), encoding="utf-8")
    assert read_folder(model.folder).graphs == (model.folder / "model_b.onnx",)


def test_a_folder_that_states_no_convention_is_refused(make_model: Callable[..., Any]) -> None:
    model = make_model()
    assert "factcg-deberta-l" in refused(model.folder, "does not say how it is asked")


def test_a_folder_is_recognised_by_the_name_of_a_preset(make_model: Callable[..., Any]) -> None:
    model = make_model(name="groundcheck")
    assert read_folder(model.folder).preset.max_tokens == preset("groundcheck").max_tokens


def test_a_preset_can_be_changed_in_part(make_model: Callable[..., Any]) -> None:
    model = make_model(document={"preset": "groundcheck", "threshold": 0.7, "max_tokens": 99})
    found = read_folder(model.folder).preset
    assert (found.threshold, found.max_tokens, found.kind) == (0.7, 99, "pair")


def test_the_fields_of_a_model_of_ones_own_are_read(make_model: Callable[..., Any]) -> None:
    document = {
        "kind": "joined",
        "template": "{context} # {claim}",
        "labels": ["supported", "not_supported"],
        "read": "softmax",
    }
    model = make_model(document=document)
    found = read_folder(model.folder)
    assert (found.preset.name, found.labels) == ("tiny", ("supported", "not_supported"))


@pytest.mark.parametrize(
    ("file", "text", "match"),
    [
        ("config.json", "{", "cannot be read"),
        ("config.json", "[]", "no JSON object"),
        ("veridical.json", "{", "cannot be read"),
        ("veridical.json", '{"preset": "gpt"}', "no preset named 'gpt'"),
        ("veridical.json", '{"preset": "groundcheck", "kinds": 1}', "unknown 'kinds'"),
        ("veridical.json", '{"preset": "veridical"}', "no use for"),
    ],
)
def test_a_malformed_description_is_named(
    make_model: Callable[..., Any], file: str, text: str, match: str
) -> None:
    model = make_model(document={"preset": "groundcheck"})
    (model.folder / file).write_text(text, encoding="utf-8")
    refused(model.folder, match)


def test_no_code_of_a_folder_is_run(make_model: Callable[..., Any]) -> None:
    model = make_model(document={"preset": "groundcheck"})
    mark = model.folder / "ran"
    code = f"open({str(mark)!r}, 'w')\n"
    for file in ("__init__.py", "modeling_tiny.py", "tokenization_tiny.py", "sitecustomize.py"):
        (model.folder / file).write_text(code, encoding="utf-8")
    config = {"auto_map": {"AutoModel": "modeling_tiny.Tiny"}, "trust_remote_code": True}
    (model.folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    anyio.run(create(str(model.folder)).estimate, [Query("It opened.", "The bridge opened.")])
    assert not mark.exists()


def test_a_malformed_card_of_our_own_layout_is_a_named_error(tmp_path: Path) -> None:
    text = '{"calibration": {}, "weights": "w", "tokenizer": "t"}'
    (tmp_path / "verifier-v9.json").write_text(text, encoding="utf-8")
    with pytest.raises(BackendError, match="malformed"):
        create(str(tmp_path))
