from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Query, Unmeasured, UnmeasuredReason
from veridical.core.projects import within_project
from veridical.core.recalibration import Recalibration, to_document
from veridical.errors import ConfigurationError
from veridical.pipeline.inference.wrappers.calibrated import Calibrated
from veridical.settings import Settings
from veridical.testing import FAKE, FakeBackend, check_backend, fake_estimate
from veridical.wiring.build import build_backend, build_verifier
from veridical.wiring.calibrations import read_calibrations

QUERY = Query("The tower is 330 m tall.", "The tower is 330 metres tall.")
COOL = Recalibration("fake", "fake", "fake", 0.4, 2.0)
CLINIC = {"project": "clinic"}
FOUND = {"default": COOL}.get


def test_it_keeps_the_promises_of_the_port() -> None:
    anyio.run(check_backend, Calibrated(FakeBackend(lambda _: fake_estimate(0.9)), FOUND))


def test_estimates_are_read_at_its_temperature_and_the_info_has_its_threshold() -> None:
    backend = Calibrated(FakeBackend(lambda _: fake_estimate(0.9)), FOUND)
    (found,) = anyio.run(backend.estimate, [QUERY])
    assert not isinstance(found, Unmeasured)
    assert found.supported == pytest.approx(0.75)
    assert found.fingerprint == backend.info.fingerprint != FAKE.fingerprint
    assert backend.info.support_threshold == 0.4


def test_what_was_not_measured_stays_so() -> None:
    lost = Unmeasured(UnmeasuredReason.TIMEOUT)
    backend = Calibrated(FakeBackend(lambda _: lost), FOUND)
    assert list(anyio.run(backend.estimate, [QUERY])) == [lost]


# --- the setting `calibration` ---------------------------------------------------------------


@pytest.fixture
def embedded() -> Any:  # noqa: ANN401 -- the embedded verifier's info
    return build_backend(Settings(), "embedded").info


def written(folder: Path, recalibration: Recalibration) -> Settings:
    path = folder / "calibration.json"
    path.write_text(json.dumps(to_document(recalibration, {})))
    return Settings(calibration=str(path))


def test_the_backend_it_is_for_is_read_with_it(
    tmp_path: Path,
    embedded: Any,  # noqa: ANN401 -- see the fixture
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = Recalibration(embedded.fingerprint, "embedded", embedded.model, 0.25)
    settings = written(tmp_path, made)
    assert build_backend(settings, "embedded").info == replace(embedded, support_threshold=0.25)
    assert caplog.records == []


def test_a_report_shows_the_threshold_in_force(tmp_path: Path, embedded: Any) -> None:  # noqa: ANN401
    made = Recalibration(embedded.fingerprint, "embedded", embedded.model, 0.25)
    verifier = build_verifier(written(tmp_path, made))
    report = anyio.run(verifier.check, "The tower is 330 m tall.", {"S1": QUERY.context})
    assert report.to_dict()["policy"]["support_threshold"] == 0.25


def test_a_threshold_of_the_policy_wins(tmp_path: Path, embedded: Any) -> None:  # noqa: ANN401
    made = Recalibration(embedded.fingerprint, "embedded", embedded.model, 0.25)
    settings = written(tmp_path, made).model_copy(
        update={"policy": Settings().policy.model_copy(update={"support_threshold": 0.9})}
    )
    resolved = settings.to_policy().resolved(build_backend(settings, "embedded").info)
    assert resolved.support_threshold == 0.9


def test_one_for_another_backend_is_left_out_with_a_warning(
    tmp_path: Path,
    embedded: Any,  # noqa: ANN401 -- see the fixture
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = written(tmp_path, COOL)
    with caplog.at_level(logging.WARNING):
        assert build_backend(settings, "embedded").info == embedded
    (record,) = caplog.records
    assert "calibration is not in force" in record.getMessage()
    assert embedded.fingerprint in record.getMessage()


def test_one_part_of_a_cascade_may_be_calibrated(
    tmp_path: Path,
    embedded: Any,  # noqa: ANN401 -- see the fixture
) -> None:
    made = Recalibration(embedded.fingerprint, "embedded", embedded.model, 0.25)
    cascade = Settings.model_validate(
        {"cascade": {"second": "embedded"}, "calibration": written(tmp_path, made).calibration}
    )
    assert build_backend(cascade, "cascade").info.support_threshold == 0.25


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff", b"[]", b"[" * 100_000])
def test_a_file_that_cannot_be_read_is_a_named_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "calibration.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match="calibration") as caught:
        read_calibrations(str(path))
    assert "veridical calibrate" in caught.value.hint


def test_each_project_has_the_calibration_of_its_own_file(tmp_path: Path) -> None:
    embedded = build_backend(Settings(), "embedded").info
    made = Recalibration(embedded.fingerprint, "embedded", embedded.model, 0.25)
    (tmp_path / "clinic.json").write_text(json.dumps(to_document(made, {})))
    settings = Settings(calibration=str(tmp_path / "{project}.json"))
    backend = build_backend(settings, "embedded")
    thresholds = []
    for project in ("clinic", "bank", None):
        with within_project(project):
            thresholds.append(backend.info.support_threshold)
    assert thresholds == [0.25, embedded.support_threshold, embedded.support_threshold]
    own = settings.model_copy(update={"store": settings.store.model_copy(update=CLINIC)})
    assert build_backend(own, "embedded").info.support_threshold == 0.25


def test_a_file_for_one_project_is_not_in_force_for_another(tmp_path: Path) -> None:
    embedded = build_backend(Settings(), "embedded").info
    made = Recalibration(embedded.fingerprint, "embedded", embedded.model, 0.25)
    backend = build_backend(written(tmp_path, made), "embedded")
    assert backend.info.support_threshold == 0.25
    with within_project("bank"):
        assert backend.info.support_threshold == embedded.support_threshold


def test_a_calibration_holds_for_its_project_only() -> None:
    backend = Calibrated(FakeBackend(lambda _: fake_estimate(0.9)), {"a": COOL}.get, "a")
    own = backend.info
    with within_project("b"):
        assert backend.info == backend.wrapped.info != own
        (measured,) = anyio.run(backend.estimate, [QUERY])
    assert not isinstance(measured, Unmeasured)
    assert measured.supported == 0.9
