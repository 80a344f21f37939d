"""`veridical models`: presets of public verifiers, their download and their check."""

from __future__ import annotations

import json as json_module
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.interfaces.cli import options
from veridical.interfaces.cli.failures import reported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from veridical.core.ports import Backend
    from veridical.interfaces.cli.model_check import GoldenResult, ModelCheck
    from veridical.pipeline.inference.model_manifest import InstalledModel
    from veridical.pipeline.inference.model_store import DownloadProgress
    from veridical.pipeline.inference.presets import Preset
    from veridical.settings import Settings

WRONG = 1
LIST_EXAMPLES = """\b
Examples:
  veridical models list
  veridical models list --json
"""
GET_EXAMPLES = """\b
Examples:
  veridical models get nli-deberta-v3
  veridical models get MoritzLaurer/mDeBERTa-v3-base-mnli-xnli@main
  veridical models get factcg-deberta-l --source file:my-export

\b
Exit codes:
  0  the files are there, each with its SHA-256
  2  wrong use or configuration, or no such model
  3  the download failed; nothing of it is kept
"""
TEST_EXAMPLES = """\b
Examples:
  veridical models test embedded
  veridical models test nli-deberta-v3
  veridical models test onnx:my-export --json

\b
Exit codes:
  0  every plain pair, and every result on record, is as expected
  1  one of them is not
  2  wrong use or configuration
  3  the model cannot be loaded or asked
"""

Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME[@REVISION]", help="A preset, or OWNER/REPOSITORY on the Hugging Face Hub."
    ),
]
Tested = Annotated[
    str,
    typer.Argument(
        metavar="NAME[@REVISION]", help="A downloaded model, or a backend as NAME or NAME:MODEL."
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--source", metavar="file:FOLDER", help="Copy an export of your own; use no network."
    ),
]
Json = options.Json
Quiet = options.Quiet
Config = options.Config

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


# --- list ------------------------------------------------------------------------------------


@app.command("list", epilog=LIST_EXAMPLES)
@reported
def show_all(*, json: Json = False, quiet: Quiet = False, config: Config = None) -> None:
    """List the presets and the downloaded models.

    Balanced accuracy is the published one on LLM-AggreFact. Nothing is sent.
    """
    from veridical.interfaces.cli.output import print_json, print_text
    from veridical.pipeline.inference.model_store import installed_models
    from veridical.pipeline.inference.presets import presets
    from veridical.settings import Settings

    there = installed_models(folder=_folder(Settings.load(config)))
    known = {name: one for name, one in presets().items() if one.kind != CARD_KIND}
    rows = [_row(name, known.get(name), there) for name in {**known, **_names(there)}]
    if json:
        print_json(_dumped({"schema": "veridical.models/1", "models": rows}))
    elif not quiet:
        print_text(_table(rows))


CARD_KIND = "card"
"""Kind of the layout of our own weights, which is no public model."""


def _names(models: Sequence[InstalledModel]) -> dict[str, None]:
    return dict.fromkeys(model.name for model in models)


def _row(name: str, known: Preset | None, there: Sequence[InstalledModel]) -> dict[str, Any]:
    """Return what is known of a model; its facts are null if it is no preset."""
    facts = ("kind", "repository", "licence", "parameters", "contradicts", "languages", "source")
    figures = ("balanced_accuracy", "balanced_accuracy_source")
    return {
        "name": name,
        **{key: getattr(known, key, None) for key in (*facts, *figures)},
        "downloaded": [model.revision for model in there if model.name == name],
    }


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    from veridical.interfaces.cli.output import columns

    head = ("name", "licence", "parameters", "balanced accuracy", "published at", "downloaded")
    lines = [
        (
            row["name"],
            row["licence"] or "-",
            row["parameters"] or "-",
            "-" if row["balanced_accuracy"] is None else f"{row['balanced_accuracy']:.1%}",
            row["balanced_accuracy_source"] or "-",
            _place(row),
        )
        for row in rows
    ]
    return "\n".join(columns([head, *lines])) + "\n"


def _place(row: Mapping[str, Any]) -> str:
    if row["kind"] == "chat":
        return "by a server"
    return ", ".join(revision[:12] for revision in row["downloaded"]) or "no"


# --- get -------------------------------------------------------------------------------------


@app.command("get", epilog=GET_EXAMPLES)
@reported
def get(
    name: Name,
    *,
    source: From = None,
    json: Json = False,
    quiet: Quiet = False,
    config: Config = None,
) -> None:
    """Download a model, and print its revision and the SHA-256 of each file.

    Later loads check the files and use no network. No code of a repository is downloaded or run.
    """
    from veridical.interfaces.cli.output import print_json, print_text
    from veridical.pipeline.inference import model_store
    from veridical.settings import Settings

    folder = _folder(Settings.load(config))
    name, _, revision = name.partition("@")
    with _download_bar(wanted=not (quiet or json)) as progress:
        path = model_store.get(
            name, revision or None, folder=folder, source=source, progress=progress
        )
    (model,) = (one for one in model_store.installed_models(folder=folder) if one.folder == path)
    if json:
        print_json(_dumped({"schema": "veridical.model/1", **_facts(model)}))
    elif not quiet:
        print_text(_got(model))


def _facts(model: InstalledModel) -> dict[str, Any]:
    names = ("name", "repository", "revision", "bytes")
    facts = {key: getattr(model, key) for key in names}
    return facts | {"folder": str(model.folder), "sha256": dict(model.sha256)}


def _got(model: InstalledModel) -> str:
    from veridical.interfaces.cli.output import columns

    facts = [
        ("model", model.name),
        ("repository", model.repository),
        ("revision", model.revision),
        ("folder", str(model.folder)),
        ("size", f"{model.bytes / 1e6:,.1f} MB"),
        *((file, f"sha256 {digest}") for file, digest in model.sha256.items()),
        ("use", f"--backend hub:{model.name}"),
    ]
    return "\n".join(columns(facts)) + "\n"


@contextmanager
def _download_bar(*, wanted: bool) -> Iterator[DownloadProgress | None]:
    """Yield a callback that moves a bar of bytes on stderr; None where nobody would see it."""
    from veridical.interfaces.cli.output import progress_bar

    with progress_bar(wanted=wanted, doing="downloading", in_bytes=True) as move:
        yield None if move is None else lambda _, done, total: move(done, total)


# --- test ------------------------------------------------------------------------------------


@app.command("test", epilog=TEST_EXAMPLES)
@reported
def check(name: Tested, *, json: Json = False, quiet: Quiet = False, config: Config = None) -> None:
    """Load a model, ask it plain pairs, and take the time of a pair here.

    Pairs of about 128 and 512 tokens are timed, one after the other. If the model comes with
    results on record, they are compared. None of your texts is used.
    """
    import anyio

    from veridical.interfaces.cli.model_check import check_model, read_golden
    from veridical.interfaces.cli.output import print_json, print_text
    from veridical.settings import Settings

    settings = Settings.load(config)
    backend = _backend(settings, name)
    folder = _model_folder(settings, name)
    golden = None if folder is None else read_golden(folder)
    found = anyio.run(check_model, backend, golden)
    if json:
        print_json(_dumped(_check_document(backend, found)))
    elif not quiet:
        print_text(_check_page(backend, found))
    raise typer.Exit(0 if found.right else WRONG)


def _backend(settings: Settings, name: str) -> Backend:
    """Return the backend of a name, as it is: a cache would answer for it."""
    from veridical.wiring.build import build_backend

    backend = build_backend(settings, _named(name))
    while hasattr(backend, "wrapped"):
        backend = backend.wrapped
    return backend


def _named(name: str) -> str:
    """Return the backend of a downloaded model, or the backend named."""
    from veridical.settings.installed import installed

    return name if ":" in name or name in installed() else f"hub:{name}"


def _model_folder(settings: Settings, name: str) -> Path | None:
    """Return the folder of a local model, in which its results on record are."""
    from pathlib import Path

    from veridical.pipeline.inference.model_store import folder_of

    kind, _, model = _named(name).partition(":")
    if kind == "hub":
        model, _, revision = model.partition("@")
        return folder_of(model, revision or None, folder=_folder(settings))
    return Path(model).expanduser() if kind == "onnx" else None


def _check_document(backend: Backend, found: ModelCheck) -> dict[str, Any]:
    from dataclasses import asdict

    info = backend.info
    names = {"backend": info.name, "model": info.model, "fingerprint": info.fingerprint}
    more = {"labels": _labels(backend), "right": found.right}
    return {"schema": "veridical.model-test/1", **names, **more, **asdict(found)}


def _check_page(backend: Backend, found: ModelCheck) -> str:
    from veridical.interfaces.cli.output import columns

    info = backend.info
    facts = [
        ("backend", info.name),
        ("model", info.model),
        ("labels", ", ".join(_labels(backend) or ["-"])),
        ("threshold", f"{info.support_threshold:g}"),
        *((f"{time.tokens} tokens", f"{time.ms:,.0f} ms a pair") for time in found.times),
        ("on record", _on_record(found.golden)),
    ]
    head = ("pair", "expected", "P(supported)", "P(contradicted)", "")
    rows = [
        (
            str(number),
            "supported" if pair.expected_supported else "not supported",
            f"{pair.supported:.3f}",
            "-" if pair.contradicted is None else f"{pair.contradicted:.3f}",
            "right" if pair.right else "WRONG",
        )
        for number, pair in enumerate(found.pairs, start=1)
    ]
    return "\n".join([*columns(facts), "", *columns([head, *rows])]) + "\n"


def _on_record(golden: GoldenResult | None) -> str:
    if golden is None:
        return "no results"
    reading = "right" if golden.right else "WRONG"
    by = f"P(supported) differs by {golden.largest_difference:.3f} at most"
    return f"{reading}: {golden.pairs} pairs, {by}, {golden.tolerance:g} allowed"


def _labels(backend: Backend) -> list[str]:
    """Return the labels of a model in the order of its logits; none if it has other output."""
    return list(getattr(backend, "labels", ()))


# --- parts -----------------------------------------------------------------------------------


def _folder(settings: Settings) -> Path | None:
    from pathlib import Path

    return None if settings.models.folder is None else Path(settings.models.folder)


def _dumped(document: Mapping[str, Any]) -> str:
    return json_module.dumps(document, indent=2, ensure_ascii=False)
