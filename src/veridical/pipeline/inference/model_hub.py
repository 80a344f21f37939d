"""Hugging Face Hub as a source of models: named errors, files by commit, no code of a repository.

Imported by `veridical models get` only: nothing else uses the network.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from veridical.errors import BackendError, ConfigurationError, MissingExtraError
from veridical.pipeline.inference.model_sources import RemoteFile

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from huggingface_hub import HfApi

_LOGIN = "Accept its terms on its page, then log in with `hf auth login` or set HF_TOKEN"
_MIRROR = "Check the connection, HTTPS_PROXY and HF_ENDPOINT, or copy a folder: file:FOLDER"
_UNAUTHORISED = frozenset({401, 403})


class HubSource:
    """Repository of the hub at `HF_ENDPOINT` (default: huggingface.co)."""

    def __init__(self, repository: str) -> None:
        self.repository = repository
        self._api = _api()

    def listing(self, revision: str | None) -> tuple[str, list[RemoteFile]]:
        """Return the commit of a revision and its files, with the hashes the hub states."""
        with _named_errors(self.repository, revision):
            info = self._api.model_info(self.repository, revision=revision, files_metadata=True)
        files = [
            RemoteFile(
                one.rfilename,
                one.size or 0,
                one.lfs.sha256 if one.lfs else None,
                one.blob_id,
            )
            for one in info.siblings or ()
        ]
        return str(info.sha), files

    def copy(self, file: RemoteFile, revision: str, folder: Path) -> None:
        """Download a file of a commit below a folder."""
        with _named_errors(self.repository, revision):
            self._api.hf_hub_download(
                self.repository, file.path, revision=revision, local_dir=folder
            )


def _api() -> HfApi:
    # Both are read when the package is first imported.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        from huggingface_hub import HfApi
    except ImportError:
        msg = "huggingface_hub is not installed"
        raise MissingExtraError(msg, hint="pip install huggingface_hub") from None
    return HfApi(endpoint=os.environ.get("HF_ENDPOINT"), library_name="veridical")


@contextmanager
def _named_errors(repository: str, revision: str | None) -> Iterator[None]:
    """Turn errors of the hub into ones that say what to do."""
    from huggingface_hub import errors

    try:
        yield
    except errors.RevisionNotFoundError:
        msg = f"{repository} has no revision {revision}"
        raise ConfigurationError(
            msg, hint="Give a commit, or leave it out for the newest"
        ) from None
    except errors.GatedRepoError:
        msg = f"{repository} is for those who accepted its terms"
        raise ConfigurationError(msg, hint=_LOGIN) from None
    except errors.RepositoryNotFoundError:
        msg = f"{repository} does not exist, or is not public"
        raise ConfigurationError(msg, hint=f"Check the name. {_LOGIN}") from None
    except errors.OfflineModeIsEnabled:
        msg = f"{repository} cannot be downloaded: HF_HUB_OFFLINE is set"
        raise BackendError(msg, hint="Unset it, or copy a folder: file:FOLDER") from None
    except errors.HfHubHTTPError as error:
        raise _of_status(repository, error.response.status_code) from None
    except (errors.LocalEntryNotFoundError, ConnectionError, TimeoutError) as error:
        raise _unreachable(repository, error) from None
    except OSError:
        raise  # the disk
    except Exception as error:  # noqa: BLE001 -- the class depends on its library for HTTP
        raise _unreachable(repository, error) from None


def _of_status(repository: str, status: int) -> ConfigurationError | BackendError:
    msg = f"the hub answered {status} for {repository}"
    if status in _UNAUTHORISED:
        return ConfigurationError(msg, hint=_LOGIN)
    return BackendError(msg, hint=f"Try again later. {_MIRROR}")


def _unreachable(repository: str, error: Exception) -> BackendError:
    msg = f"{repository} cannot be downloaded ({type(error).__name__})"
    return BackendError(msg, hint=_MIRROR)
