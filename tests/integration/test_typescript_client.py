"""The TypeScript client: its types against the service's OpenAPI, its calls against the service."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from _upstream import serving
from veridical.core.measurements import Measurement, Query
from veridical.interfaces.http.app import create_app
from veridical.interfaces.http.auth import new_key, write_keys
from veridical.settings import Settings
from veridical.testing import FakeBackend, fake_estimate

if TYPE_CHECKING:
    from fastapi import FastAPI

pytestmark = pytest.mark.slow

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
INSTALL_S = 180


def judged(query: Query) -> Measurement:
    return fake_estimate(0.02, 0.95) if "six" in query.claim else fake_estimate(0.95)


@pytest.fixture(scope="module")
def token_and_app(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, FastAPI]:
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    token, key = new_key("client")
    write_keys(file, [key])
    settings = Settings.load(server={"keys": str(file)})
    return token, create_app(settings, backend=FakeBackend(judged))


@pytest.fixture(scope="module")
def client(
    node: dict[str, str],
    token_and_app: tuple[str, FastAPI],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return a built copy of the client, its types made anew out of the service."""
    folder = tmp_path_factory.mktemp("client") / "typescript"
    ignored = shutil.ignore_patterns("node_modules", "dist", "openapi.json")
    shutil.copytree(CLIENT, folder, ignore=ignored)
    run(node, folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    described = json.dumps(token_and_app[1].openapi())
    (folder / "openapi.json").write_text(described, encoding="utf-8")
    run(node, folder, "npm", "run", "generate")
    run(node, folder, "npm", "run", "build")
    return folder


def run(environment: dict[str, str], folder: Path, *command: str) -> None:
    path = shutil.which(command[0], path=environment["PATH"])
    done = subprocess.run(
        [str(path), *command[1:]],
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_types_are_those_of_the_service(client: Path) -> None:
    made = (client / "src/schema.ts").read_text(encoding="utf-8")
    kept = (CLIENT / "src/schema.ts").read_text(encoding="utf-8")
    assert made == kept, "run: make client"


def test_the_client_works_against_the_running_service(
    node: dict[str, str], client: Path, token_and_app: tuple[str, FastAPI]
) -> None:
    token, app = token_and_app
    with serving(app) as address:
        ours = node | {"VERIDICAL_URL": address, "VERIDICAL_KEY": token}
        run(ours, client, "npm", "test")
