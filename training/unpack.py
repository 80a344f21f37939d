"""Makes a checkpoint of shipped weights, so that training can go on from them.

    python training/unpack.py --base BASE --weights verifier-v0.int8.onnx --out RUN

Writes `RUN/last.pt` for `train.py --init`. Each matrix is found by the bias that is added to its
product; 8-bit numbers become fp32 again, with the error that rounding left in them.
"""

from __future__ import annotations

import argparse
from collections import deque
from pathlib import Path

import numpy as np
import onnx
import torch
from model import load_model
from onnx import numpy_helper

LINEAR = "MatMulInteger", "MatMulNBits"
EMBEDDINGS = (
    "word_embeddings.weight",
    "position_embeddings.weight",
    "relative_attention_bias.weight",
)


def main() -> None:
    """Read the options, unpack, and check that every parameter was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    model = load_model(options.base, layers=options.layers, frozen=0)
    found = state(onnx.load(options.weights).graph)
    model.load_state_dict({name: torch.tensor(value) for name, value in found.items()})
    options.out.mkdir(parents=True, exist_ok=True)
    torch.save({"model": model.state_dict()}, options.out / "last.pt")


def state(graph: onnx.GraphProto) -> dict[str, np.ndarray]:
    """Return the parameters of a graph under the names that `model.py` gives them, in fp32."""
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    makers = {output: node for node in graph.node for output in node.output}
    found = {
        known(name): value
        for name, value in tensors.items()
        if name.endswith(("LayerNorm.weight", ".bias"))
    }
    for node in graph.node:
        biases = [name for name in node.input if node.op_type == "Add" and name in tensors]
        for name in biases:
            if name.endswith(".bias"):
                product = source(node, makers)
                weights = matrix(product, tensors) * inverse(product, makers, tensors)
                found[known(name).removesuffix("bias") + "weight"] = weights
    for name in tensors:
        stem = name.removesuffix("_quantized")
        if stem != name and stem.endswith(EMBEDDINGS):
            found[known(stem)] = scaled(stem, tensors)
    return found


def known(name: str) -> str:
    """Return a parameter's name in `model.py`; the first weights were exported under others."""
    for old, new in (
        ("model.", ""),
        ("n.enc.", "mpnet."),
        ("n.d.", "classifier.dense."),
        ("n.o.", "classifier.out_proj."),
    ):
        if name.startswith(old):
            name = new + name.removeprefix(old)
            break
    return name.replace(".linear.", ".")


def source(node: onnx.NodeProto, makers: dict[str, onnx.NodeProto]) -> onnx.NodeProto:
    """Return the product that a node's inputs are made from."""
    open_nodes = deque([node])
    while open_nodes:
        found = open_nodes.popleft()  # breadth first: the nearest product is its own
        if found.op_type in LINEAR:
            return found
        open_nodes.extend(makers[name] for name in found.input if name in makers)
    msg = "a bias is added to no product"
    raise ValueError(msg)


def matrix(product: onnx.NodeProto, tensors: dict[str, np.ndarray]) -> np.ndarray:
    """Return a product's weights [out, in]."""
    if product.op_type == "MatMulInteger":
        return np.ascontiguousarray(scaled(product.input[1].removesuffix("_quantized"), tensors).T)
    packed, scales = (tensors[name] for name in product.input[1:3])
    rows, blocks, size = packed.shape
    values = packed.astype(np.float32) - 128
    return (values * scales.reshape(rows, blocks, 1)).reshape(rows, blocks * size)


def inverse(
    product: onnx.NodeProto, makers: dict[str, onnx.NodeProto], tensors: dict[str, np.ndarray]
) -> np.ndarray | float:
    """Return what smoothing (`smooth.py`) multiplies each channel of the input with."""
    quantised = makers.get(product.input[0])
    multiplied = makers.get(quantised.input[0]) if quantised else None
    if multiplied and multiplied.op_type == "Mul":
        for name in multiplied.input:
            if name.endswith(".inverse"):
                return tensors[makers[name].input[0] if name in makers else name]  # may be shared
    return 1.0


def scaled(stem: str, tensors: dict[str, np.ndarray]) -> np.ndarray:
    """Return 8-bit numbers as what they stand for; scales are one for all or one a column."""
    numbers, zero = tensors[f"{stem}_quantized"], tensors[f"{stem}_zero_point"]
    return (numbers.astype(np.float32) - zero.astype(np.float32)) * tensors[f"{stem}_scale"]


if __name__ == "__main__":
    main()
