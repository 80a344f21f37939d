"""Trains the verifier on prepared pairs; survives interruption.

    python training/train.py --base BASE --data DIR/train.jsonl.gz --out RUN --minutes 60

Length-bucketed batches of a fixed number of tokens, AdamW, warm-up and linear decay over the time
given. `RUN/last.pt` is written every few minutes and on SIGTERM, whole or not at all; the same
command goes on from it, also with other data or another number of threads.
`--init RUN/last.pt` starts a new run from the weights of another, which may have fewer layers.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import signal
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from model import Batch, collate, load_model, load_tokenizer, logits, loss

if TYPE_CHECKING:
    from collections.abc import Iterator

SAVE_SECONDS = 300
LOG_STEPS = 20


@dataclass
class Progress:
    """Where a run stands."""

    step: int = 0
    rows: int = 0
    seconds: float = 0.0
    smoothed_loss: float = 0.0


def main() -> None:
    """Read the options and train."""
    options = parse()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    options.out.mkdir(parents=True, exist_ok=True)
    model = load_model(options.base, layers=options.layers, frozen=options.frozen)
    optimiser = torch.optim.AdamW(groups(model, options.rate), weight_decay=0.01, fused=True)
    progress = restore(options, model, optimiser)
    train(options, model, optimiser, progress)


def parse() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True, help="folder of the base model")
    parser.add_argument("--data", type=Path, required=True, help="train.jsonl.gz of prepare.py")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--init", type=Path, help="start from these weights")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--frozen", type=int, default=4, help="lowest layers that stay fixed")
    parser.add_argument("--minutes", type=float, default=60, help="length of the whole run")
    parser.add_argument("--tokens", type=int, default=2560, help="tokens of a batch")
    parser.add_argument("--max-tokens", type=int, default=176, help="tokens of a pair")
    parser.add_argument("--rate", type=float, default=4e-5, help="peak learning rate")
    parser.add_argument("--warm-up", type=int, default=40, help="steps up to the peak rate")
    parser.add_argument("--skip", type=int, default=0, help="rows of the data to pass over")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--bf16",
        action="store_true",
        help="half the bits in products: twice the rows on AVX512_BF16",
    )
    return parser.parse_args()


def groups(model: torch.nn.Module, rate: float) -> list[dict]:
    """Return parameter groups: the new head learns ten times as fast as what is pre-trained."""
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    head = [p for name, p in trained if name.startswith("classifier")]
    body = [p for name, p in trained if not name.startswith("classifier")]
    return [{"params": body, "peak": rate}, {"params": head, "peak": 10 * rate}]


def restore(
    options: argparse.Namespace, model: torch.nn.Module, optimiser: torch.optim.Optimizer
) -> Progress:
    """Go on from the run's last checkpoint, else from `--init`, else from the base."""
    last = options.out / "last.pt"
    if last.exists():
        state = torch.load(last, weights_only=True)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        return Progress(**state["progress"])
    if options.init:
        begin_with(model, torch.load(options.init, weights_only=True)["model"])
    return Progress(rows=options.skip)


def begin_with(model: torch.nn.Module, weights: dict[str, torch.Tensor]) -> None:
    """Load weights; of a model of fewer layers they are the lowest, and the base's own go on."""
    missing, unexpected = model.load_state_dict(weights, strict=False)
    if unexpected or not all(name.startswith("mpnet.encoder.layer.") for name in missing):
        msg = f"not the weights of such a model: {len(missing)} missing, {len(unexpected)} too many"
        raise SystemExit(msg)


def train(
    options: argparse.Namespace,
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    progress: Progress,
) -> None:
    """Train until the time is up."""
    model.train()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    saved = started = time.monotonic() - progress.seconds
    for batch in batches(options, progress):
        progress.seconds = time.monotonic() - started
        done = progress.seconds / (60 * options.minutes)
        if done >= 1 or ended.is_set():
            break
        value = update(
            model, optimiser, batch, rate_at(options, progress.step, done), bf16=options.bf16
        )
        progress.step += 1
        progress.rows += len(batch.ids)
        progress.smoothed_loss += (value - progress.smoothed_loss) / min(progress.step, 50)
        if progress.step % LOG_STEPS == 0:
            print(json.dumps({k: round(v, 4) for k, v in asdict(progress).items()}), flush=True)
        if time.monotonic() - saved > SAVE_SECONDS:
            save(options.out, model, optimiser, progress)
            saved = time.monotonic()
    save(options.out, model, optimiser, progress)


def rate_at(options: argparse.Namespace, step: int, done: float) -> float:
    """Return the share of the peak learning rate: linear warm-up by steps, linear decay by time."""
    return min(1.0, (step + 1) / options.warm_up) * max(0.0, 1.0 - done)


def update(
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    batch: Batch,
    share: float,
    *,
    bf16: bool,
) -> float:
    """Take one step; return the loss in nats."""
    for group in optimiser.param_groups:
        group["lr"] = group["peak"] * share
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        found = logits(model, batch.ids, batch.mask)
    value = loss(found.float(), batch)
    optimiser.zero_grad(set_to_none=True)
    value.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return float(value.detach())


def batches(options: argparse.Namespace, progress: Progress) -> Iterator[Batch]:
    """Yield batches from the row at which the run stands, endlessly, in the order of the file."""
    tokenizer = load_tokenizer(options.base, max_tokens=options.max_tokens)
    pad_id = tokenizer.token_to_id("<pad>")
    order = random.Random(options.seed + progress.step)
    for rows in chunks(options.data, progress.rows, size=1024):
        encoded = [
            item.ids for item in tokenizer.encode_batch([(r["evidence"], r["claim"]) for r in rows])
        ]
        plans = bucket([len(ids) for ids in encoded], options.tokens)
        order.shuffle(plans)
        for plan in plans:
            labels = [rows[i].get("teacher", rows[i]["label"]) for i in plan]
            yield collate([encoded[i] for i in plan], labels, pad_id)


def chunks(path: Path, skip: int, size: int) -> Iterator[list[dict]]:
    """Yield the rows of the file in chunks, endlessly, beginning after `skip` of them."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    start = skip % len(rows)
    while True:
        for first in range(start, len(rows), size):
            yield rows[first : first + size]
        start = 0


def bucket(lengths: list[int], tokens: int) -> list[list[int]]:
    """Return batches of row numbers of like length, each of at most `tokens` when padded."""
    plans: list[list[int]] = [[]]
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if plans[-1] and (len(plans[-1]) + 1) * lengths[i] > tokens:
            plans.append([])
        plans[-1].append(i)
    return plans


def save(
    out: Path,
    model: torch.nn.Module,
    optimiser: torch.optim.Optimizer,
    progress: Progress,
) -> None:
    """Write the checkpoint, whole or not at all."""
    state = {
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "progress": asdict(progress),
    }
    torch.save(state, out / "last.tmp")
    (out / "last.tmp").replace(out / "last.pt")


if __name__ == "__main__":
    main()
