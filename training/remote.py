"""Trains on a machine that is lent for half an hour, takes little at a time, and has torch alone.

    python training/remote.py pack --base BASE --rows ROWS --out PACKED          (here)
    python training/remote.py go --work WORK --seconds 540 --from PACKED/call-1  (there, often)
    python training/remote.py collect --work WORK --name six --out OUT           (there)
    python training/remote.py join --parcels OUT --name six --base BASE --out RUN  (here)

`ROWS` is what `recipe.py` wrote: a file of rows for each stage, files `held-NAME` to measure on,
and `plan.json`. `go` takes the pieces it is given; once all are there it works through the plan
until the seconds are over, leaves a checkpoint, and goes on from it when it is called again.
README.md, "On a lent machine", has the calls, their sizes and their times.
"""

from __future__ import annotations

import argparse
import gzip
import json
import queue
import shutil
import threading
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import packing
from packed_pairs import LABELS, Pairs, batches, padded

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch
    from encoder import Verifier

MEGABYTE = 1_000_000
SAVE_SECONDS = 120
LOG_STEPS = 100


def main() -> None:
    """Do what the command line says."""
    options = parse()
    options.do(options)


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("pack", help="write the pieces that travel, by call")
    one.add_argument("--base", type=Path, required=True, help="folder of base.py")
    one.add_argument("--rows", type=Path, required=True, help="folder of recipe.py")
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--piece", type=float, default=28, help="megabytes of a piece at most")
    one.add_argument("--call", type=float, default=58, help="megabytes of a call at most")
    one.set_defaults(do=pack)
    one = commands.add_parser("go", help="take pieces, and go on with the plan")
    one.add_argument("--work", type=Path, required=True, help="folder that stays between calls")
    one.add_argument("--from", dest="given", type=Path, help="folder with pieces of this call")
    one.add_argument("--seconds", type=float, default=540, help="how long this call may take")
    one.add_argument("--tokens", type=int, help="tokens of a batch, instead of the plan's")
    one.add_argument("--compile", action="store_true", help="let torch compile the model")
    one.set_defaults(do=go)
    one = commands.add_parser("collect", help="lay out pieces of a result")
    one.add_argument("--work", type=Path, required=True)
    one.add_argument("--name", required=True, help="step of the plan whose weights are wanted")
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--piece", type=float, default=15, help="megabytes of a piece at most")
    one.add_argument("--call", type=float, default=62, help="megabytes that go back at most")
    one.add_argument("--part", type=int, default=1, help="which of the calls this is")
    one.set_defaults(do=collect)
    one = commands.add_parser("join", help="make a checkpoint of the pieces that came back")
    one.add_argument("--parcels", type=Path, required=True, help="folder with all the pieces")
    one.add_argument("--name", required=True)
    one.add_argument("--base", type=Path, required=True)
    one.add_argument("--out", type=Path, required=True, help="folder of the run: last.pt")
    one.set_defaults(do=join)
    return parser.parse_args()


# --- here: packing ---


def pack(options: argparse.Namespace) -> None:
    """Write the base and the rows as pieces, in a folder for each call."""
    pairs, stages, names = tokenised(options.base, options.rows)
    data = {**pairs.arrays(), "stages": stages, "names": as_bytes(names)}
    options.out.mkdir(parents=True, exist_ok=True)
    pieces = []
    for name, arrays in (("rows", data), ("base", base_arrays(options.base, pairs.tokens))):
        whole = packing.dump(arrays)
        pieces += packing.cut(whole, name, options.out, int(options.piece * MEGABYTE))
        print(f"{name}: {len(whole) / MEGABYTE:.1f} MB")
    print(f"{len(pairs)} pairs of {pairs.lengths(10**6).mean():.1f} tokens")
    for number, files in enumerate(packing.calls(pieces, int(options.call * MEGABYTE)), 1):
        folder = options.out / f"call-{number}"
        folder.mkdir(exist_ok=True)
        for path in files:
            path.replace(folder / path.name)
        for path in (
            options.out / "rows.json",
            options.out / "base.json",
            options.rows / "plan.json",
        ):
            shutil.copy(path, folder)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{folder.name}: {size / MEGABYTE:.1f} MB, {[path.name for path in files]}")


def tokenised(base: Path, folder: Path) -> tuple[Pairs, np.ndarray, list[str]]:
    """Return all pairs once, for each the stages it belongs to as bits, and the stages' names."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    paths = sorted(folder.glob("*.jsonl.gz"))
    names = [path.name.removesuffix(".jsonl.gz") for path in paths]
    texts: dict[str, int] = {}
    sources: dict[str, int] = {}
    rows: dict[tuple[int, int], list[int]] = {}
    for bit, path in enumerate(paths):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for row in map(json.loads, file):
                key = tuple(
                    texts.setdefault(row[part], len(texts)) for part in ("evidence", "claim")
                )
                source = sources.setdefault(row["source"], len(sources))
                entry = rows.setdefault(key, [LABELS.index(row["label"]), source, 0])
                entry[2] |= 1 << bit
    found = [
        encoding.ids for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False)
    ]
    sizes = np.asarray([0, *map(len, found)])
    keys, entries = np.asarray(list(rows)), np.asarray(list(rows.values()))
    pairs = Pairs(
        np.concatenate([np.asarray(ids, np.uint16) for ids in found]),
        np.cumsum(sizes),
        keys[:, 0],
        keys[:, 1],
        entries[:, 0],
        entries[:, 1],
    )
    return pairs, entries[:, 2].astype(np.uint16), names


def base_arrays(base: Path, tokens: np.ndarray) -> dict[str, np.ndarray]:
    """Return the base's weights; of its words those that occur, in 8 bits, as they are to ship."""
    from encoder import named

    weights = {named(k): v for k, v in packing.read_safetensors(base / "model.safetensors").items()}
    weights = {k: v for k, v in weights.items() if ".pooler." not in k and "lm_head" not in k}
    words = weights.pop("mpnet.embeddings.word_embeddings.weight")
    met = np.union1d(np.unique(tokens), np.arange(8)).astype(np.uint16)
    scale = np.maximum(np.abs(words[met]).max(axis=1, keepdims=True), 1e-6) / 127
    small = np.round(words[met] / scale).astype(np.int8)
    size = np.asarray([len(words)])
    return {"met": met, "words": small, "scale": scale.astype(np.float32), "size": size, **weights}


def as_bytes(value: object) -> np.ndarray:
    """Return a value as JSON in an array."""
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


# --- there: training ---


@dataclass
class Workplace:
    """Everything that a step needs."""

    folder: Path
    pairs: Pairs
    stages: np.ndarray
    names: list[str]
    plan: dict[str, Any]
    base: dict[str, np.ndarray]
    device: str
    until: float
    compiled: bool

    def rows(self, *names: str) -> np.ndarray:
        """Return the rows that belong to any of some stages."""
        bits = sum(1 << self.names.index(name) for name in names)
        return np.nonzero(self.stages & bits)[0]

    def log(self, **entry: object) -> None:
        """Print an entry and keep it."""
        text = json.dumps(entry)
        print(text, flush=True)
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def go(options: argparse.Namespace) -> None:
    """Take the pieces of this call; if all are there, go on with the plan until the time is up."""
    until = time.monotonic() + options.seconds
    options.work.mkdir(parents=True, exist_ok=True)
    if options.given:
        for path in options.given.iterdir():
            shutil.copy(path, options.work)
    try:
        bundles = [packing.load(packing.joined(name, options.work)) for name in ("rows", "base")]
    except (packing.DamagedPieceError, FileNotFoundError) as lacking:
        print(f"waiting: {lacking}")
        return
    place = prepared(options, *bundles, until)
    for step in place.plan["steps"]:
        done = (options.work / f"{step['name']}.pt").exists() or carry_out(place, step)
        if not done or not measured(place, step["name"]):
            print(f"time is up in step {step['name']}: call again")
            return
    print("done")


def prepared(
    options: argparse.Namespace,
    data: dict[str, np.ndarray],
    base: dict[str, np.ndarray],
    until: float,
) -> Workplace:
    """Return the workplace."""
    import torch

    names = json.loads(bytes(data["names"]))
    plan = json.loads((options.work / "plan.json").read_text())
    plan |= {"tokens": options.tokens} if options.tokens else {}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pairs = Pairs.of(data)
    return Workplace(
        options.work, pairs, data["stages"], names, plan, base, device, until, options.compile
    )


def carry_out(place: Workplace, step: dict[str, Any]) -> bool:
    """Train what a step says; return whether it came to its end."""
    import torch

    started = time.monotonic()
    torch.manual_seed(place.plan["seed"])
    model = begun(place, step).to(place.device)
    taught = said_by(place, step["taught_by"]) if "taught_by" in step else None
    if "taught_by" in step and taught is None:
        return False
    optimiser = optimiser_of(model, step, place.device)
    state = {"rows": 0, "batch": 0, "seconds": 0.0}
    last = place.folder / "current.pt"
    if last.exists():
        kept = torch.load(last, map_location=place.device, weights_only=True)
        if kept["name"] == step["name"]:
            model.load_state_dict(kept["model"])
            optimiser.load_state_dict(kept["optimiser"])
            state = kept["state"]
    place.log(
        step=step["name"], begins_at=dict(state), loaded_in=round(time.monotonic() - started, 1)
    )
    ended = loop(place, step, model, optimiser, state, taught)
    if ended:
        torch.save(
            {"model": trained(model), "layers": model.shape.layers}, place.folder / "done.tmp"
        )
        (place.folder / "done.tmp").replace(place.folder / f"{step['name']}.pt")
    return ended


def begun(place: Workplace, step: dict[str, Any]) -> Verifier:
    """Return a step's model as it begins: the base, or another step's with some of its layers."""
    import torch
    from encoder import Shape, Verifier, learns

    origin = place.folder / f"{step['from']}.pt"
    weights = {k: torch.from_numpy(v) for k, v in full_base(place.base).items()}
    if origin.exists():
        weights |= torch.load(origin, map_location="cpu", weights_only=True)["model"]
    layers = 1 + max(int(k.split(".")[3]) for k in weights if k.startswith("mpnet.encoder.layer."))
    if origin.exists():
        layers = torch.load(origin, map_location="cpu", weights_only=True)["layers"]
    kept = step.get("keep", list(range(layers)))
    model = Verifier(
        Shape(len(kept), len(weights["mpnet.embeddings.word_embeddings.weight"])),
        dropout=step.get("dropout", place.plan.get("dropout", 0.0)),
    )
    missing, unexpected = model.load_state_dict(chosen(weights, kept), strict=False)
    if unexpected or not all(name.startswith("classifier.") for name in missing):
        msg = f"not the weights of such a model: {missing[:3]} missing, {unexpected[:3]} too many"
        raise SystemExit(msg)
    for name, parameter in model.named_parameters():
        parameter.requires_grad = learns(name)
    return model


def full_base(base: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the base's weights with the words that do not occur as zeros."""
    words = np.zeros((int(base["size"][0]), base["words"].shape[1]), np.float32)
    words[base["met"]] = base["words"] * base.get("scale", np.float32(1))
    rest = {k: v for k, v in base.items() if k.startswith("mpnet.")}
    return {"mpnet.embeddings.word_embeddings.weight": words, **rest}


def chosen(weights: dict[str, Any], kept: list[int]) -> dict[str, Any]:
    """Return weights with some of the layers, numbered anew."""
    found = {}
    for name, value in weights.items():
        parts = name.split(".")
        if name.startswith("mpnet.encoder.layer."):
            if int(parts[3]) not in kept:
                continue
            parts[3] = str(kept.index(int(parts[3])))
        found[".".join(parts)] = value
    return found


def trained(model: Verifier) -> dict[str, torch.Tensor]:
    """Return the weights that were trained, on the processor."""
    from encoder import learns

    return {k: v.detach().cpu() for k, v in model.state_dict().items() if learns(k)}


def optimiser_of(model: Verifier, step: dict[str, Any], device: str) -> torch.optim.Optimizer:
    """Return AdamW; a head that is new learns ten times as fast as what is pre-trained."""
    import torch

    parts = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    head = [p for name, p in parts if name.startswith("classifier.")]
    body = [p for name, p in parts if not name.startswith("classifier.")]
    times = 10 if step["from"] == "base" else 1
    groups = [
        {"params": body, "peak": step["rate"]},
        {"params": head, "peak": times * step["rate"]},
    ]
    return torch.optim.AdamW(groups, weight_decay=0.01, fused=device == "cuda")


def loop(  # noqa: PLR0913, PLR0917
    place: Workplace,
    step: dict[str, Any],
    model: Verifier,
    optimiser: torch.optim.Optimizer,
    state: dict[str, Any],
    taught: np.ndarray | None,
) -> bool:
    """Train until the rows are done (or the step's time is up); return False if the call's is."""
    import torch

    rows = place.rows(*step["rows"])
    total = len(rows) * step["epochs"]
    run = torch.compile(model, dynamic=True) if place.compiled else model
    model.train()
    began = saved = time.monotonic()
    before, smoothed = state["seconds"], None
    for ids, mask, label, soft in fed(place, step, rows, state["batch"], taught):
        now = time.monotonic()
        state["seconds"] = before + now - began
        share = max(state["rows"] / total, state["seconds"] / step["seconds"])
        if share >= 1:
            break
        if now > place.until:
            save(place, step, model, optimiser, state)
            return False
        for group in optimiser.param_groups:
            group["lr"] = group["peak"] * min(1.0, (state["batch"] + 1) / 100) * (1.0 - share)
        with torch.autocast(place.device, torch.bfloat16, enabled=place.device == "cuda"):
            found = run(ids, mask)
        value = losses(found, label, soft, step.get("taught", 0.7)).mean()
        optimiser.zero_grad(set_to_none=True)
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        state["batch"] += 1
        state["rows"] += len(ids)
        if state["batch"] % LOG_STEPS == 0:
            smoothed = float(value) if smoothed is None else 0.7 * smoothed + 0.3 * float(value)
            place.log(step=step["name"], loss=round(smoothed, 4), share=round(share, 3), **state)
        if now - saved > SAVE_SECONDS:
            save(place, step, model, optimiser, state)
            saved = time.monotonic()
    place.log(step=step["name"], ended=True, of=total, **state)
    return True


def fed(
    place: Workplace, step: dict[str, Any], rows: np.ndarray, skip: int, taught: np.ndarray | None
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Yield batches on the device, laid out by another thread while the last one is computed."""
    import torch

    most = step.get("max_tokens", place.plan["max_tokens"])
    waiting: queue.Queue = queue.Queue(maxsize=16)
    left = threading.Event()

    def lay_out() -> None:
        lengths = place.pairs.lengths(most)
        for plan in islice(endless(place, step, rows, lengths), skip, None):
            if left.is_set():
                return
            ids, mask = padded(place.pairs, plan, most)
            soft = None if taught is None else torch.from_numpy(taught[plan])
            label = torch.from_numpy(admitted(place.pairs.label[plan]))
            waiting.put((torch.from_numpy(ids), torch.from_numpy(mask), label, soft))

    threading.Thread(target=lay_out, daemon=True).start()
    try:
        while True:
            batch = waiting.get()
            yield tuple(
                part if part is None else part.to(place.device, non_blocking=True) for part in batch
            )
    finally:
        left.set()
        while not waiting.empty():
            waiting.get_nowait()


def endless(
    place: Workplace, step: dict[str, Any], rows: np.ndarray, lengths: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield batches of row numbers, each row once an epoch; the same for the same step."""
    epoch = 0
    while True:
        seed = [place.plan["seed"], epoch, *step["name"].encode()]
        yield from batches(rows, lengths, place.plan["tokens"], np.random.default_rng(seed))
        epoch += 1


def admitted(labels: np.ndarray) -> np.ndarray:
    """Return 1 for each logit that a label admits [rows, 3], else 0."""
    table = np.asarray([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]], np.float32)
    return table[labels]


def losses(
    logits: torch.Tensor, label: torch.Tensor, soft: torch.Tensor | None, weight: float
) -> torch.Tensor:
    """Return each row's loss by its label, and by the teacher's probabilities for `weight`."""
    import torch

    logs = torch.log_softmax(logits, dim=-1)
    own = -torch.logsumexp(logs.masked_fill(label == 0, float("-inf")), dim=-1)
    if soft is None:
        return own
    return (1 - weight) * own - weight * (soft * logs).sum(-1)


def save(
    place: Workplace,
    step: dict[str, Any],
    model: Verifier,
    optimiser: torch.optim.Optimizer,
    state: dict[str, Any],
) -> None:
    """Write the checkpoint, whole or not at all."""
    import torch

    kept = {"name": step["name"], "model": model.state_dict(), "optimiser": optimiser.state_dict()}
    torch.save(kept | {"state": state}, place.folder / "current.tmp")
    (place.folder / "current.tmp").replace(place.folder / "current.pt")


def said_by(place: Workplace, name: str) -> np.ndarray | None:
    """Return what a step's weights say of every row [rows, 3]; `None` if the call's time is up."""
    path = place.folder / f"{name}.said.npy"
    if path.exists():
        return np.load(path).astype(np.float32)
    model = begun(place, {"from": name, "dropout": 0.0}).to(place.device).eval()
    found = scored(place, model, np.arange(len(place.pairs)))
    if found is not None:
        np.save(path, found.astype(np.float16))
    return found


def scored(place: Workplace, model: Verifier, rows: np.ndarray) -> np.ndarray | None:
    """Return the probabilities of rows [rows, 3] in their order, or `None` if the time is up."""
    import torch

    most = place.plan["max_tokens"]
    lengths = place.pairs.lengths(most)
    order = np.argsort(lengths[rows])
    found, start = np.zeros((len(rows), 3), np.float32), 0
    model.eval()
    with torch.inference_mode():
        while start < len(order):
            if time.monotonic() > place.until:
                return None
            # Rows grow wider: as many as would fit at the width of the last of them.
            size = max(1, 2 * place.plan["tokens"] // int(lengths[rows[order[start]]] + 8))
            widest = int(lengths[rows[order[min(start + size, len(order)) - 1]]])
            chosen_now = order[start : start + max(1, 2 * place.plan["tokens"] // (widest + 8))]
            ids, mask = padded(place.pairs, rows[chosen_now], most)
            with torch.autocast(place.device, torch.bfloat16, enabled=place.device == "cuda"):
                logits = model(*(torch.from_numpy(part).to(place.device) for part in (ids, mask)))
            found[chosen_now] = torch.softmax(logits, -1).cpu().numpy()
            start += len(chosen_now)
    return found


def measured(place: Workplace, name: str) -> bool:
    """Log once how weights do on each held set; return `False` if the call's time is up."""
    path = place.folder / f"{name}.figures.json"
    if path.exists():
        return True
    model = begun(place, {"from": name, "dropout": 0.0}).to(place.device)
    said = {}
    for held in (stage for stage in place.names if stage.startswith("held-")):
        rows = place.rows(held)
        found = scored(place, model, rows)
        if found is None:
            return False
        said[held] = figures(found, place.pairs.label[rows])
    place.log(step=name, **said)
    path.write_text(json.dumps(said), encoding="utf-8")
    return True


def figures(found: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return how many rows there are, the share labelled right, and the AUROC of P(supported)."""
    right = admitted(labels)[np.arange(len(labels)), found.argmax(1)]
    truly = labels == 0
    ranks = np.argsort(np.argsort(found[:, 0])) + 1
    pairs = int(truly.sum()) * int((~truly).sum())
    above = ranks[truly].sum() - truly.sum() * (truly.sum() + 1) / 2
    area = float(above / pairs) if pairs else 0.5
    return {"rows": len(labels), "right": round(float(right.mean()), 4), "auroc": round(area, 4)}


# --- back ---


def collect(options: argparse.Namespace) -> None:
    """Lay out the pieces of a step's weights, or of what they say, that fit into this call."""
    import torch

    folder = options.work / "parcels"
    if not (folder / f"{options.name}.json").exists():
        kept = torch.load(
            options.work / f"{options.name}.pt", map_location="cpu", weights_only=True
        )
        arrays = {k: v.float().numpy() for k, v in kept["model"].items()}
        said = options.work / f"{options.name}.said.npy"
        if said.exists():
            arrays["said"] = np.round(np.load(said).astype(np.float32) * 65535).astype(np.uint16)
        whole = packing.dump(arrays | {"layers": np.asarray([kept["layers"]])})
        packing.cut(whole, options.name, folder, int(options.piece * MEGABYTE))
    listed = json.loads((folder / f"{options.name}.json").read_text())
    paths = [folder / entry["file"] for entry in listed["pieces"]]
    parts = packing.calls(paths, int(options.call * MEGABYTE))
    parts = [part[first : first + 6] for part in parts for first in range(0, len(part), 6)]
    options.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(folder / f"{options.name}.json", options.out)
    shutil.copy(options.work / "log.jsonl", options.out)
    for path in parts[options.part - 1]:
        shutil.copy(path, options.out)
    print(f"part {options.part} of {len(parts)}: {[path.name for path in parts[options.part - 1]]}")


def join(options: argparse.Namespace) -> None:
    """Write a checkpoint that export.py and train.py read, with the base's own embeddings."""
    import torch
    from encoder import learns, named

    arrays = packing.load(packing.joined(options.name, options.parcels))
    said, layers = arrays.pop("said", None), int(arrays.pop("layers")[0])
    base = packing.read_safetensors(options.base / "model.safetensors")
    fixed = {named(k): np.array(v) for k, v in base.items() if not learns(named(k))}
    weights = {k: torch.from_numpy(v) for k, v in (fixed | arrays).items()}
    options.out.mkdir(parents=True, exist_ok=True)
    torch.save({"model": weights}, options.out / "last.pt")
    if said is not None:
        np.save(options.out / "said.npy", said)
    print(f"{options.out / 'last.pt'}: {layers} layers, {len(weights)} weights")


if __name__ == "__main__":
    main()
