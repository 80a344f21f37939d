"""Specs of backends and text models: the values of their entry points.

A plain function `create` as an entry point is a spec with the defaults below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from veridical.core.ports import Backend, TextModel


@dataclass(frozen=True, slots=True)
class BackendSpec:
    """Construction, settings and limits of a backend, whose `info.name` is its entry point's.

    `create(model, *, threads, **options)` returns it; `options` are its settings that are not null.
    `settings` is a subclass of `veridical.settings.SettingsBlock`, whose keys are those of the
    block `backends.NAME`, or the name of a block that the settings have already.

    An `in_process` backend costs nothing. An `instant` one answers within milliseconds once it is
    loaded: it is cached, but neither limited nor retried, and a service loads it before the first
    request. A `priced` one takes the option `price`, the cost in USD of a `Usage`. A `sampled` one
    takes the option `threshold`, the support threshold of the policy.
    """

    create: Callable[..., Backend]
    settings: type | str | None = None
    in_process: bool = False
    instant: bool = False
    priced: bool = False
    sampled: bool = False


@dataclass(frozen=True, slots=True)
class TextModelSpec:
    """Construction, settings and limits of a text model; fields as those of a backend.

    `create` takes `timeout_s`, too. A backend of the same name has the same settings; `options` are
    the keys of them that the text model takes (None: all).
    """

    create: Callable[..., TextModel]
    settings: type | str | None = None
    options: frozenset[str] | None = None
    in_process: bool = False
    priced: bool = False
