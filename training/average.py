"""Writes the mean of the weights of two runs that began alike (Wortsman et al. 2022, WiSE-FT).

    python training/average.py --first RUN --second RUN2 --share .6 --out MEAN

`--share` is how much of the second counts. `MEAN/last.pt` can be exported or trained on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch


def main() -> None:
    """Read the options and write the mean."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=Path, required=True)
    parser.add_argument("--second", type=Path, required=True)
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    first, second = (
        torch.load(run / "last.pt", weights_only=True)["model"]
        for run in (options.first, options.second)
    )
    mean = {name: torch.lerp(first[name], second[name], options.share) for name in first}
    options.out.mkdir(parents=True, exist_ok=True)
    torch.save({"model": mean}, options.out / "last.pt")


if __name__ == "__main__":
    main()
