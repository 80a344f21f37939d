"""The store of models: from a folder, and from a server on loopback that speaks the hub's API."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest

from veridical.core.measurements import Estimate, Query
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference import model_store
from veridical.pipeline.inference.cross_encoder import create_hub
from veridical.pipeline.inference.model_manifest import MANIFEST
from veridical.pipeline.inference.model_store import (
    default_folder,
    folder_of,
    get,
    installed_models,
    verify,
)
from veridical.testing import check_backend

pytestmark = pytest.mark.slow

NAME, REPOSITORY = "groundcheck", "Pranshurs/groundcheck-modernbert"
COMMIT, OTHER = "a" * 40, "b" * 40
MakeModel = Callable[..., Any]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def export(make_model: MakeModel) -> Path:
    """Return the folder of a model as an export leaves it."""
    folder: Path = make_model(name="export", document={"preset": NAME}).folder
    return folder


def remains(store: Path) -> list[Path]:
    """Return all that a failed attempt left behind."""
    return [path for path in store.rglob("*") if path.is_file()]


# --- from a folder ---------------------------------------------------------------------------


def test_a_folder_becomes_an_installed_model(export: Path, store: Path) -> None:
    path = get(NAME, source=f"file:{export}", folder=store)
    assert folder_of(NAME, folder=store) == path
    (model,) = installed_models(folder=store)
    assert (model.name, model.repository, model.folder) == (NAME, "file:export", path)
    files = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in export.iterdir()}
    assert model.sha256 == files
    assert model.bytes == sum(one.stat().st_size for one in export.iterdir())


def test_a_downloaded_model_is_a_backend(export: Path, store: Path) -> None:
    get(NAME, source=f"file:{export}", folder=store)
    backend = create_hub(NAME, folder=str(store))
    assert (backend.info.name, backend.info.model) == ("hub", NAME)
    anyio.run(check_backend, backend)


def test_the_progress_counts_all_bytes(export: Path, store: Path) -> None:
    told: list[tuple[str, int, int]] = []
    get(NAME, source=f"file:{export}", folder=store, progress=lambda *one: told.append(one))
    size = sum(path.stat().st_size for path in export.iterdir())
    assert {one[0] for one in told} == {path.name for path in export.iterdir()}
    assert [one[2] for one in told] == [size] * len(told)
    assert told[0][1] == 0
    assert sorted(one[1] for one in told) == [one[1] for one in told]


def test_only_the_files_that_are_needed_are_copied(export: Path, store: Path) -> None:
    for file in ("modeling_tiny.py", "pytorch_model.bin", "README.md", "model_O4.onnx"):
        (export / file).write_text("import os", encoding="utf-8")
    (export / "model.onnx_data").write_bytes(b"weights")
    path = get(NAME, source=f"file:{export}", folder=store)
    assert {one.name for one in path.iterdir()} == {
        "config.json",
        "tokenizer.json",
        "veridical.json",
        "model.onnx",
        "model.onnx_data",
        MANIFEST,
    }


def test_a_model_that_is_not_there_names_the_command(store: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"veridical models get groundcheck") as caught:
        create_hub(NAME, folder=str(store))
    assert "not downloaded" in caught.value.message
    with pytest.raises(ConfigurationError, match="veridical models get groundcheck@abc"):
        create_hub(f"{NAME}@abc", folder=str(store))


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_file_that_changed_since_is_refused(export: Path, store: Path, file: str) -> None:
    path = get(NAME, source=f"file:{export}", folder=store)
    backend = create_hub(NAME, folder=str(store))
    content = (path / file).read_bytes()
    (path / file).write_bytes(content.replace(b"tiny", b"tinY") + b" ")
    with pytest.raises(BackendError, match=f"{file} of groundcheck does not have the SHA-256"):
        anyio.run(partial(backend.estimate, [Query("It opened.", "The bridge opened.")]))
    (path / file).unlink()
    with pytest.raises(BackendError, match="SHA-256"):
        verify(path)


def test_a_damaged_manifest_is_no_model(export: Path, store: Path) -> None:
    path = get(NAME, source=f"file:{export}", folder=store)
    (path / MANIFEST).write_text("{", encoding="utf-8")
    assert installed_models(folder=store) == []
    with pytest.raises(BackendError, match="manifest"):
        verify(path)


def test_the_store_of_another_machine_is_a_source(
    export: Path, store: Path, tmp_path: Path
) -> None:
    first = get(NAME, OTHER, source=f"file:{export}", folder=store)
    second = get(NAME, source=f"file:{first}", folder=tmp_path / "other")
    assert second.name == OTHER
    assert folder_of(NAME, OTHER[:7], folder=tmp_path / "other") == second


def test_a_source_with_another_hash_than_its_manifest_is_refused(
    export: Path, store: Path, tmp_path: Path
) -> None:
    first = get(NAME, source=f"file:{export}", folder=store)
    content = (first / "model.onnx").read_bytes()
    (first / "model.onnx").write_bytes(content[:-1] + b"!")
    other = tmp_path / "other"
    with pytest.raises(BackendError, match="checksum its source states"):
        get(NAME, source=f"file:{first}", folder=other)
    assert remains(other) == []


def test_a_source_of_another_revision_is_refused(export: Path, store: Path, tmp_path: Path) -> None:
    first = get(NAME, COMMIT, source=f"file:{export}", folder=store)
    with pytest.raises(ConfigurationError, match=f"holds the revision {COMMIT[:12]}, not {OTHER}"):
        get(NAME, OTHER, source=f"file:{first}", folder=tmp_path / "other")


def test_one_of_several_revisions_has_to_be_named(export: Path, store: Path) -> None:
    for revision in (COMMIT, OTHER):
        get(NAME, revision, source=f"file:{export}", folder=store)
    with pytest.raises(ConfigurationError, match=r"2 revisions.*groundcheck@aaaaaaaaaaaa"):
        folder_of(NAME, folder=store)
    assert folder_of(NAME, "bbbb", folder=store).name == OTHER


@pytest.mark.parametrize(
    ("name", "revision"),
    [
        ("../etc", None),
        ("a/b/c", None),
        (".hidden", None),
        (NAME, "../x"),
        ("", None),
        ("gpt", None),
    ],
)
def test_a_name_that_is_none_is_refused(store: Path, name: str, revision: str | None) -> None:
    for ask in (get, folder_of):
        with pytest.raises(ConfigurationError, match="factcg-deberta-l"):
            ask(name, revision, folder=store)


@pytest.mark.parametrize(
    ("source", "match"), [("/folder", "file:FOLDER"), ("file:/nowhere/at/all", "no model folder")]
)
def test_a_source_that_is_no_folder_is_refused(store: Path, source: str, match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        get(NAME, source=source, folder=store)


def test_a_repository_without_a_graph_names_the_export(export: Path, store: Path) -> None:
    (export / "model.onnx").unlink()
    with pytest.raises(ConfigurationError, match="optimum-cli export onnx"):
        get(NAME, source=f"file:{export}", folder=store)
    assert remains(store) == []


def test_a_full_disk_is_named_and_nothing_is_left(
    export: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(BackendError, match="is full") as caught:
        get(NAME, source=f"file:{export}", folder=store)
    assert "models.folder" in caught.value.hint
    assert remains(store) == []


def test_a_store_that_cannot_be_made_is_named(export: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(BackendError, match="cannot be written"):
        get(NAME, source=f"file:{export}", folder=tmp_path / "file" / "store")


def test_an_attempt_that_was_killed_is_no_model(export: Path, store: Path) -> None:
    path = get(NAME, source=f"file:{export}", folder=store)
    killed = path.parent / f"{model_store._INCOMING}x"
    path.rename(killed)
    assert installed_models(folder=store) == []
    assert get(NAME, source=f"file:{export}", folder=store) == path


def test_models_are_in_the_folder_for_caches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "veridical" / "models"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_folder() == Path.home() / ".cache" / "veridical" / "models"


# --- from a hub ------------------------------------------------------------------------------


class Hub:
    """Server of one repository, with the files of a folder; `faults` change its answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults: dict[str, Any] = {}
        self.asked: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self, body=True)

            def do_HEAD(self) -> None:
                hub.answer(self, body=False)

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, request: BaseHTTPRequestHandler, *, body: bool) -> None:
        path = request.path.partition("?")[0]
        self.asked.append(path)
        status, code = self.faults.get("status", (200, ""))
        if status != 200:
            self._send(request, status, b"{}", {"X-Error-Code": code}, body=body)
        elif path.startswith(f"/api/models/{REPOSITORY}"):
            self._send(request, 200, json.dumps(self._listing()).encode(), {}, body=body)
        else:
            self._file(request, path.removeprefix(f"/{REPOSITORY}/resolve/{COMMIT}/"), body=body)

    def _file(self, request: BaseHTTPRequestHandler, file: str, *, body: bool) -> None:
        content = (self.folder / file).read_bytes()
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": COMMIT}
        served = self.faults.get(file, content)
        self._send(request, 200, served, headers, body=body)

    def _listing(self) -> dict[str, Any]:
        return {
            "id": REPOSITORY,
            "sha": COMMIT,
            "siblings": [self._sibling(path) for path in sorted(self.folder.iterdir())],
        }

    def _sibling(self, path: Path) -> dict[str, Any]:
        content = path.read_bytes()
        size = self.faults.get("size", len(content))
        blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324 -- Git's
        sibling = {"rfilename": path.name, "size": size, "blobId": blob}
        if path.suffix == ".onnx":
            sha256 = hashlib.sha256(content).hexdigest()
            sibling["lfs"] = {"sha256": sha256, "size": size, "pointerSize": 130}
        return sibling

    def _send(
        self,
        request: BaseHTTPRequestHandler,
        status: int,
        content: bytes,
        headers: dict[str, str],
        *,
        body: bool,
    ) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        if body and "broken" in self.faults and "resolve" in request.path:
            request.wfile.write(content[: len(content) // 2])
        elif body:
            request.wfile.write(content)


@pytest.fixture
def hub(export: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    server = Hub(export)
    threading.Thread(target=partial(server.http.serve_forever, 0.01), daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    yield server
    server.http.shutdown()
    server.http.server_close()


def test_a_model_of_the_hub_is_downloaded_by_commit(hub: Hub, export: Path, store: Path) -> None:
    path = get(NAME, folder=store)
    (model,) = installed_models(folder=store)
    assert f"/{REPOSITORY}/resolve/{COMMIT}/model.onnx" in hub.asked
    assert (model.repository, model.revision, path.name) == (REPOSITORY, COMMIT, COMMIT)
    assert {one.name for one in path.iterdir()} == {MANIFEST, *(o.name for o in export.iterdir())}
    (found,) = anyio.run(
        partial(
            create_hub(f"{NAME}@{COMMIT[:8]}", folder=str(store)).estimate,
            [Query("It opened.", "The bridge opened.")],
        )
    )
    assert isinstance(found, Estimate)


def test_a_commit_that_is_there_is_not_asked_for_again(hub: Hub, store: Path) -> None:
    get(NAME, folder=store)
    asked = len(hub.asked)
    assert get(NAME, COMMIT, folder=store).name == COMMIT
    assert len(hub.asked) == asked
    get(NAME, folder=store)
    assert not any("resolve" in path for path in hub.asked[asked:])


@pytest.mark.parametrize(
    ("status", "code", "kind", "match", "hint"),
    [
        (401, "GatedRepo", ConfigurationError, "accepted its terms", "hf auth login"),
        (401, "RepoNotFound", ConfigurationError, "does not exist", "HF_TOKEN"),
        (403, "", ConfigurationError, "403", "HF_TOKEN"),
        (404, "RevisionNotFound", ConfigurationError, "no revision main2", "commit"),
        (404, "RepoNotFound", ConfigurationError, "does not exist", "Check the name"),
        (500, "", BackendError, "500", "Try again later"),
    ],
)
def test_a_refusal_of_the_hub_says_what_to_do(  # noqa: PLR0913, PLR0917 -- a row of the table each
    hub: Hub, store: Path, status: int, code: str, kind: type[Exception], match: str, hint: str
) -> None:
    hub.faults["status"] = (status, code)
    with pytest.raises(kind, match=match) as caught:
        get(NAME, "main2", folder=store)
    assert hint in str(caught.value)
    assert remains(store) == []


def test_no_network_is_a_named_error(
    hub: Hub, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.http.server_close()
    hub.http.shutdown()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(BackendError, match="cannot be downloaded") as caught:
        get(NAME, folder=store)
    assert "file:FOLDER" in caught.value.hint
    assert remains(store) == []


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (lambda content: content[:-1] + b"!", "does not have the checksum"),
        (lambda content: content[: len(content) // 2], r"has [\d,]+ of [\d,]+ bytes"),
    ],
)
def test_half_a_file_or_another_one_is_refused_and_nothing_is_left(  # noqa: PLR0913, PLR0917 -- a row each
    hub: Hub,
    export: Path,
    store: Path,
    file: str,
    damage: Callable[[bytes], bytes],
    match: str,
) -> None:
    hub.faults[file] = damage((export / file).read_bytes())
    with pytest.raises(BackendError, match=f"{file} {match}"):
        get(NAME, folder=store)
    assert remains(store) == []
    with pytest.raises(ConfigurationError, match="not downloaded"):
        folder_of(NAME, folder=store)


def test_a_connection_that_breaks_is_named_and_nothing_is_left(hub: Hub, store: Path) -> None:
    hub.faults["broken"] = True
    with pytest.raises(BackendError, match="cannot be downloaded"):
        get(NAME, folder=store)
    assert remains(store) == []


def test_a_model_larger_than_the_disk_is_not_begun(hub: Hub, store: Path) -> None:
    hub.faults["size"] = 10**17
    with pytest.raises(BackendError, match="left") as caught:
        get(NAME, folder=store)
    assert "models.folder" in caught.value.hint
    assert not any("resolve" in path for path in hub.asked)
