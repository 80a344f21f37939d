"""Training data: deterministic, licensed, and no label predictable from the claim alone."""

from __future__ import annotations

import gzip
import importlib
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "training"
DATA = FOLDER.parents[1] / "shared" / "data" / "train"


Load = Callable[[str], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FOLDER))

    def module(name: str) -> ModuleType:
        return importlib.import_module(name)

    yield module
    # The folder's modules have short names: they must not be found by other tests.
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", None)):
            del sys.modules[name]


def file(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"{name}.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    return path


def row(
    claim: str, label3: str | None, evidence: object = "A fox ran.", **extra: object
) -> dict[str, Any]:
    label = "supported" if label3 == "supported" else "not_supported"
    return {"evidence": evidence, "claim": claim, "label": label, "label3": label3, "extra": extra}


def test_the_same_seed_makes_the_same_pairs(load: Load, tmp_path: Path) -> None:
    file(tmp_path, "a", [row(f"A fox ran {i}.", "supported", f"Fox {i} ran.") for i in range(30)])
    prepare = load("prepare").prepare
    assert prepare(tmp_path, 3, 0.02) == prepare(tmp_path, 3, 0.02)
    assert prepare(tmp_path, 3, 0.02) != prepare(tmp_path, 4, 0.02)


def test_every_label_is_known_and_no_text_is_empty(load: Load) -> None:
    pairs = load("programmatic.registry").programmatic_pairs(0, scale=0.05)
    labels = set(load("programmatic.base").LABELS)
    assert all(pair.label in labels for pair in pairs)
    assert all(pair.evidence.strip() and pair.claim.strip() for pair in pairs)


def test_no_template_slot_is_left_open(load: Load) -> None:
    pairs = load("programmatic.registry").programmatic_pairs(0, scale=0.05)
    assert not [pair for pair in pairs if any(f"{{{slot}}}" in pair.claim for slot in "abopqstvx")]


def test_files_without_a_licence_are_left_out(load: Load, tmp_path: Path) -> None:
    for name in ("good", "nolic__a", "nc__b", "p0__c", "traces_d"):
        file(tmp_path, name, [row("A fox ran.", "supported")])
    labelled = load("labelled")
    assert [labelled.name_of(path) for path in labelled.files(tmp_path)] == ["good"]


def test_a_two_way_label_stays_two_way(load: Load) -> None:
    assert load("labelled").label_of(row("x", None)) == "not_supported"
    assert load("labelled").label_of(row("x", "contradicted")) == "contradicted"


def test_only_cited_evidence_counts(load: Load) -> None:
    parts = [{"id": "S1", "text": "One."}, {"id": "S2", "text": "Two."}]
    evidence_of = load("labelled").evidence_of
    assert evidence_of(row("x", None, parts, cites=["S2"]), random.Random(0)) == "Two."  # noqa: S311 -- no secret
    assert evidence_of(row("x", None, parts), random.Random(0)).split() == ["One.", "Two."]  # noqa: S311 -- no secret


def test_ambiguous_rows_are_left_out(load: Load, tmp_path: Path) -> None:
    path = file(tmp_path, "a", [row("x", "supported", ambiguous=True), row("y", "supported")])
    assert [found["claim"] for found in load("labelled").read(path)] == ["y"]


def test_long_evidence_is_cut_to_a_passage_that_keeps_the_support(load: Load) -> None:
    filler = " ".join(f"The committee met again in room {i} and said little." for i in range(60))
    text = f"{filler} The turbine failed because of a cracked blade. {filler}"
    claim = "The turbine failed because of a cracked blade."
    kept = load("cutting").cut(text, claim, random.Random(0), supported=True)  # noqa: S311 -- no secret
    assert kept is not None
    assert "cracked blade" in kept
    assert len(kept) < len(text) / 4


def test_the_claim_alone_does_not_tell_the_label(load: Load) -> None:
    registry, prepare = load("programmatic.registry"), load("prepare")
    pairs = registry.programmatic_pairs(1, scale=0.1)
    for name in registry.SHARES:
        found = [pair for pair in pairs if pair.source == name]
        counts = [
            sum(pair.label == label for pair in found) for label in ("supported", "contradicted")
        ]
        assert prepare.several_labels(found) > 0.9, name
        assert max(counts) <= 0.45 * len(found), name


def test_a_changed_sentence_is_met_as_a_supported_claim_too(load: Load) -> None:
    base = load("programmatic.base")
    text = "The bridge was opened in 1932 by the mayor. It has four lanes and two towers."
    rows = [base.Pair(f"{text} Route {i} is near.", "x", "supported", "cg2c") for i in range(40)]
    pairs = load("programmatic.sentences").sentence_pairs(rows, 60, random.Random(0))  # noqa: S311 -- no secret
    changed = {pair.claim for pair in pairs if pair.label == "contradicted"}
    assert changed & {pair.claim for pair in pairs if pair.label == "supported"}


def test_a_pair_with_two_labels_is_dropped(load: Load) -> None:
    pair, prepare = load("programmatic.base").Pair, load("prepare")
    pairs = [pair("e", "c", "supported", "a"), pair("e", "c", "contradicted", "b")]
    kept = pair("e", "d", "supported", "a")
    assert list(prepare.unambiguous([*pairs, kept, kept])) == [kept]


def test_probes_share_no_pair_with_training(load: Load) -> None:
    registry = load("programmatic.registry")
    train = {(pair.evidence, pair.claim) for pair in registry.programmatic_pairs(0, scale=0.1)}
    probes = registry.probe_pairs(0, 24)
    assert {kind for kind, _ in probes} == set(registry.PROBES)
    assert not train & {(pair.evidence, pair.claim) for _, pair in probes}


def test_no_file_of_the_dev_pool_is_read(load: Load) -> None:
    modules = [path.read_text(encoding="utf-8") for path in FOLDER.rglob("pre*.py")]
    assert load("prepare").DATA.name == "train"
    assert not any('"dev"' in text or "/dev" in text for text in modules)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared labelled data is not on this machine")
def test_the_labelled_files_are_all_licensed(load: Load) -> None:
    names = [path.name for path in load("labelled").files(DATA)]
    assert names
    assert not [name for name in names if name.startswith(("nolic__", "nc__"))]
