"""Container image, compose file and Helm chart, as far as they go without a container engine.

`.ci/exercise-service` starts the image's command from a clean environment.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kubernetes_validate
import pytest
import yaml

from veridical.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm/veridical"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose/compose.yaml").read_text("utf-8"))
KEYS = "keysSecret=veridical-keys"
EVERYTHING = (
    KEYS,
    "autoscaling.enabled=true",
    "serviceMonitor.enabled=true",
    "serviceMonitor.keySecret=metrics",
    "envSecrets[0]=postgres",
    "dataClaim=facts",
    "networkPolicy.from[0].namespaceSelector.matchLabels.team=apps",
    "networkPolicy.egress[0].to[0].podSelector.matchLabels.app=postgres",
)


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the development environment."""
    path = shutil.which(program, path=str(Path(sys.executable).parent))
    assert path is not None, f"{program} is missing: pip install -r requirements/dev.txt"
    return subprocess.run([path, *arguments], check=False, capture_output=True, text=True)


def rendered(*values: str) -> dict[str, dict[str, Any]]:
    """Return what the chart renders, by kind."""
    done = run("helm", "template", "team", str(CHART), *(f"--set={one}" for one in values))
    assert done.returncode == 0, done.stderr
    return {each["kind"]: each for each in yaml.safe_load_all(done.stdout) if each}


def settings_of(environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Load the settings of an environment; a wrong name or value raises."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return Settings.load()


def image_environment() -> dict[str, str]:
    """Return the variables of the image's last stage."""
    text = (DEPLOY / "Containerfile").read_text("utf-8").replace("\\\n", " ")
    line = re.search(r"^ENV (.*)$", text, re.MULTILINE)
    assert line
    return dict(pair.split("=", 1) for pair in line[1].split())


def test_the_containerfile_has_no_finding() -> None:
    found = run("hadolint", str(DEPLOY / "Containerfile"))
    assert (found.returncode, found.stdout) == (0, "")


def test_the_image_is_not_root_and_knows_its_own_health() -> None:
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE)[-1] == "10001:10001"
    assert "/healthz" in text


def test_the_images_environment_is_valid_and_refuses_to_run_without_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = {k: v for k, v in image_environment().items() if k.startswith("VERIDICAL_")}
    settings = settings_of(ours, monkeypatch)
    assert settings.server.host == "0.0.0.0"  # noqa: S104 -- the image's
    assert settings.store.url == "sqlite:////data/veridical.db"
    done = run("veridical", "serve")
    assert done.returncode == 2
    assert "there is no key" in done.stderr


def test_what_the_containerfile_copies_reaches_its_build() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    kept = {line[1:] for line in ignored if line.startswith("!")}
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    copied = [
        line.split()[1:-1] for line in text.splitlines() if re.match(r"COPY (?!--from)", line)
    ]
    for path in (one for line in copied for one in line):
        assert (ROOT / path).exists()
        assert path.split("/")[0] in kept


def test_the_compose_file_sets_settings_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    given = COMPOSE["services"]["veridical"]["environment"]
    ours = {k: v for k, v in given.items() if k.startswith("VERIDICAL_")}
    settings = settings_of(ours, monkeypatch)
    assert (settings.store.url or "").startswith("postgresql://")


def test_the_compose_service_is_closed_and_ends_after_its_shutdown() -> None:
    service = COMPOSE["services"]["veridical"]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert int(service["stop_grace_period"].rstrip("s")) > Settings().server.shutdown_s


def test_the_compose_file_mounts_files_that_exist() -> None:
    mounts = [each for one in COMPOSE["services"].values() for each in one.get("volumes", ())]
    files = [each.split(":")[0] for each in mounts if each.startswith(".")]
    assert len(files) > 4
    assert [each for each in files if not (DEPLOY / "compose" / each).is_file()] == []


def test_prometheus_scrapes_the_service_with_a_key() -> None:
    found = yaml.safe_load((DEPLOY / "compose/prometheus.yml").read_text("utf-8"))
    job = found["scrape_configs"][0]
    assert job["authorization"]["credentials_file"] == "/run/secrets/metrics_key"
    assert job["static_configs"][0]["targets"] == [f"veridical:{Settings().server.port}"]


def test_the_chart_passes_its_lint() -> None:
    done = run("helm", "lint", "--strict", str(CHART), f"--set={KEYS}")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("values", [(KEYS,), EVERYTHING], ids=["defaults", "everything"])
def test_the_chart_renders_valid_objects(values: Sequence[str]) -> None:
    for kind, document in rendered(*values).items():
        if kind != "ServiceMonitor":  # of the Prometheus operator, not of Kubernetes
            kubernetes_validate.validate(document, "1.34", strict=True)


def test_the_chart_wants_a_key() -> None:
    assert run("helm", "template", "team", str(CHART)).returncode != 0


def test_the_chart_refuses_a_grace_period_below_the_shutdown() -> None:
    wrong = ("--set", KEYS, "--set", "settings.server.shutdown_s=60")
    done = run("helm", "template", "team", str(CHART), *wrong)
    assert "must be above settings.server.shutdown_s" in done.stderr


def test_the_chart_writes_settings_that_the_service_reads(tmp_path: Path) -> None:
    file = tmp_path / "veridical.yaml"
    file.write_text(rendered(KEYS)["ConfigMap"]["data"]["veridical.yaml"], "utf-8")
    assert Settings.load(str(file)).server.host == "0.0.0.0"  # noqa: S104 -- the pod's


def test_the_pod_is_closed_and_probed() -> None:
    pod = rendered(KEYS)["Deployment"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_the_network_policy_lets_nothing_out_but_names_unless_asked() -> None:
    policy = rendered(KEYS)["NetworkPolicy"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert [port["port"] for rule in policy["egress"] for port in rule["ports"]] == [53, 53]
    assert len(rendered(*EVERYTHING)["NetworkPolicy"]["spec"]["egress"]) == 2


def test_the_chart_has_the_version_of_the_package() -> None:
    from veridical import __version__

    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__
