from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veridical.errors import ConfigurationError
from veridical.pipeline.inference import presets as room
from veridical.pipeline.inference.presets import parse_preset, preset, presets

FIELDS: dict[str, Any] = {
    "name": "mine",
    "kind": "joined",
    "template": "{context} # {claim}",
    "labels": ["not_supported", "supported"],
    "read": "softmax",
    "max_tokens": 512,
}


def test_each_data_file_is_a_preset_of_its_name() -> None:
    files = {path.stem for path in Path(room.__file__).parent.glob("*.json")}
    assert set(presets()) == files
    assert all(one.name == name for name, one in presets().items())


def test_each_preset_of_a_public_model_has_its_origin_and_licence() -> None:
    public = [one for one in presets().values() if one.kind != "card"]
    assert len(public) >= 12
    for one in public:
        assert one.repository
        assert "/" in one.repository
        assert one.licence
        assert one.source
        assert (one.balanced_accuracy is None) == (one.balanced_accuracy_source is None)


def test_only_models_of_three_classes_know_a_contradiction() -> None:
    assert {one.name for one in presets().values() if one.contradicts} == {
        "nli-deberta-v3",
        "veridical",
    }


def test_an_unknown_preset_is_named_and_the_known_ones_listed() -> None:
    with pytest.raises(ConfigurationError, match=r"'gpt'.*factcg-deberta-l"):
        preset("gpt")


def test_the_fields_of_a_preset_can_be_a_file_of_ones_own() -> None:
    made = parse_preset(FIELDS, "veridical.json")
    assert (made.labels, made.threshold, made.aggregation) == (
        ("not_supported", "supported"),
        0.5,
        "max",
    )


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"kind": "chatter"}, "kind must be one of"),
        ({"aggregation": "mean"}, "aggregation must be one of"),
        ({"read": "sigmoid"}, "read must be softmax for joined"),
        ({"labels": ["yes", "no"]}, "labels must be"),
        ({"labels": ["supported", "supported"]}, "labels must be"),
        ({"labels": "config"}, "labels must be names or 'id2label'"),
        ({"labels": ["supported", "contradicted", "not_in_context"]}, "contradicts must say"),
        ({"template": "{context}"}, "template must hold {claim}, {context} once"),
        ({"template": "{context} {claim} {claim}"}, "template must hold"),
        ({"template": "{context} {claim} {question}"}, "template must hold"),
        ({"question_template": "{context} {claim}"}, "question_template must hold"),
        ({"template": [{"role": "user"}]}, "template must be a list of messages for chat"),
        ({"max_tokens": 0}, "max_tokens must be"),
        ({"max_tokens": True}, "max_tokens must be"),
        ({"threshold": 1.5}, "threshold must be"),
        ({"threshold": 0}, "threshold must be between"),
        ({"languages": "en"}, "languages must be"),
        ({"answer_ids": [3, 209]}, "answer_ids go with seq2seq"),
        ({"kind": "seq2seq", "read": "softmax_of_ids"}, "answer_ids go with seq2seq"),
        ({"labelz": []}, "unknown 'labelz'"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_preset(FIELDS | change, "veridical.json")
    assert named in str(caught.value)
    assert "veridical.json" in caught.value.message


def test_a_missing_field_is_named() -> None:
    document = {key: value for key, value in FIELDS.items() if key not in {"labels", "read"}}
    with pytest.raises(ConfigurationError, match=r"veridical\.json lacks labels, read"):
        parse_preset(document, "veridical.json")


@pytest.mark.parametrize(
    ("name", "template"),
    [
        (
            "factcg-deberta-l",
            (
                "{context}\n\nChoose your answer: based on the paragraph above can we conclude that"
                ' "{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
            ),
        ),
        ("minicheck-deberta-l", "{context}[SEP]{claim}"),
        ("minicheck-roberta-l", "{context}</s>{claim}"),
        ("minicheck-flan-t5-l", "predict: {context}</s>{claim}"),
        (
            "hhem-2.1-open",
            (
                "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {context}"
                "\n\nHypothesis: {claim}"
            ),
        ),
    ],
)
def test_a_template_is_that_of_the_models_authors(name: str, template: str) -> None:
    assert preset(name).template == template


def test_a_preset_file_is_data_of_the_documented_fields(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(FIELDS), encoding="utf-8")
    assert parse_preset(json.loads(path.read_text(encoding="utf-8")), path.name).name == "mine"
