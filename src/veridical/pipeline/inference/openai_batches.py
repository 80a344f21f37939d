"""OpenAI's endpoints for batches of requests, and Azure's; replies in place of a connection."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, runtime_checkable

from veridical.core.request_batches import ProviderBatch
from veridical.errors import BackendError, ConfigurationError
from veridical.pipeline.inference.clients import tls
from veridical.pipeline.inference.failures import unmeasured_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openai import AsyncOpenAI, OpenAI
    from openai.types import Batch as OpenAIBatch

    from veridical.core.ports import Backend
    from veridical.core.request_batches import BatchEndpoint

MARK = "veridical"
"""Key of a batch's metadata, by which it is found again."""

ATTEMPTS = 10
"""Attempts at a request that changes nothing; the waits between them sum to about a minute."""

UPLOAD_TIMEOUT_S = 600.0


@runtime_checkable
class TakesBatches(Protocol):
    """Protocol of backends whose requests can be sent in batches."""

    def replayed(self, reply: Callable[[bytes], tuple[int, bytes]]) -> BatchEndpoint:
        """Take status and body of replies from `reply`; return the endpoints for batches."""
        ...


def batch_backend(backend: Backend) -> TakesBatches:
    """Return the backend inside its wrappers; `ConfigurationError` if it takes no batches."""
    found: object = backend
    while not isinstance(found, TakesBatches) and hasattr(found, "wrapped"):
        found = found.wrapped
    if not isinstance(found, TakesBatches):
        msg = f"the backend {backend.info.name} has no batches at a provider"
        raise ConfigurationError(msg, hint="openai:MODEL has, at OpenAI and Azure")
    return found


def replaying(reply: Callable[[bytes], tuple[int, bytes]]) -> Any:  # noqa: ANN401 -- of the library that the SDK brings with it
    """Return a client of OpenAI's HTTP library whose replies are those of `reply`."""
    import httpx2

    class Transport(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            status, body = reply(await request.aread())
            headers = {"content-type": "application/json"}
            return httpx2.Response(status, headers=headers, content=body, request=request)

    return httpx2.AsyncClient(transport=Transport())


class OpenAIBatches:
    """Endpoints for batches beside the chat endpoint of a client.

    Azure has the same ones: under `/openai/v1`, and with an `api-version` under `/openai`.
    """

    def __init__(self, chat: AsyncOpenAI) -> None:
        import openai

        address = str(chat.base_url).partition("/deployments/")[0].rstrip("/")
        version = "/v1" if address.endswith("/v1") else ""
        self.url = f"{version}/chat/completions"
        self._client: OpenAI = openai.OpenAI(
            base_url=address,
            api_key=chat.api_key,
            organization=chat.organization,
            project=chat.project,
            default_headers=chat._custom_headers,  # noqa: SLF001 -- without those of the SDK
            default_query=chat._custom_query,  # noqa: SLF001 -- no other name for it
            max_retries=ATTEMPTS - 1,
            http_client=openai.DefaultHttpxClient(verify=tls("httpx2")),
        )
        # A request that creates something is repeated only after a look for what it created.
        self._once = self._client.with_options(max_retries=0, timeout=UPLOAD_TIMEOUT_S)

    def find_file(self, name: str) -> str | None:
        """Return the id of the file of this name, if it was uploaded."""
        with _failing("list the files"):
            files = self._client.files.list(purpose="batch")
            return next((file.id for file in files if file.filename == name), None)

    def upload(self, name: str, content: BinaryIO) -> str:
        """Upload a file of requests, and return its id."""
        with _failing("upload the requests"):
            return self._once.files.create(file=(name, content), purpose="batch").id

    def find_batch(self, mark: str) -> str | None:
        """Return the id of the batch that was created with a mark, if there is one."""
        with _failing("list the batches"):
            batches = self._client.batches.list(limit=100)
            return next((one.id for one in batches if (one.metadata or {}).get(MARK) == mark), None)

    def create(self, file: str, mark: str) -> str:
        """Create the batch of an uploaded file with a mark, and return its id."""
        endpoint: Any = self.url  # the SDK's type knows only those of OpenAI
        with _failing("create the batch"):
            batch = self._once.batches.create(
                input_file_id=file,
                endpoint=endpoint,
                completion_window="24h",
                metadata={MARK: mark},
            )
        return batch.id

    def state(self, batch: str) -> ProviderBatch:
        """Return the state of a batch."""
        with _failing("read the state of the batch"):
            return _state(self._client.batches.retrieve(batch))

    def lines(self, file: str) -> Iterator[bytes]:
        """Yield the lines of a file of replies."""
        with tempfile.TemporaryFile() as content:
            with (
                _failing("download the replies"),
                self._client.files.with_streaming_response.content(file) as response,
            ):
                for data in response.iter_bytes():
                    content.write(data)
            content.seek(0)
            yield from content


def _state(found: OpenAIBatch) -> ProviderBatch:
    counts, errors = found.request_counts, found.errors
    files = (found.output_file_id, found.error_file_id)
    listed = (errors.data if errors else None) or ()
    return ProviderBatch(
        found.status,
        total=counts.total if counts else 0,
        answered=counts.completed if counts else 0,
        failed=counts.failed if counts else 0,
        files=tuple(file for file in files if file),
        codes=tuple(sorted({error.code for error in listed if error.code})),
    )


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """Turn an error of the SDK or of the connection into one that quotes no text of theirs."""
    import httpx2
    import openai

    try:
        yield
    except (openai.OpenAIError, httpx2.HTTPError) as error:
        msg = f"the provider did not {what}: {unmeasured_error(error).detail}"
        hint = "Check address, key and quota; the same command again goes on, nothing is sent twice"
        raise BackendError(msg, hint=hint) from None
