"""Records of named values in many formats: configuration, tables, notes, sheets."""

# ruff: noqa: E501 -- a template is one line, a list of words one paragraph

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from programmatic import lexicon
from programmatic.base import Trio, sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from programmatic.base import World

Record = dict[str, "str | int | bool"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of setting: its keys, its values, and claims with {k} (key in words) and {v}."""

    keys: tuple[str, ...]
    values: tuple[str | int | bool, ...]
    claims: tuple[str, ...]


_COUNT = ("{k} is {v}", "{k} is set to {v}", "the value of {k} is {v}", "{s} has a {k} of {v}",
          "{v} is the {k} of {s}", "for {s}, {k} equals {v}", "{s} is configured with a {k} of {v}")  # fmt: skip
KINDS = (
    Kind(("max_connections", "pool_size", "max_retries", "worker_count", "batch_size", "replicas",
          "queue_length", "max_items", "concurrency", "page_size", "backlog", "threads"),
         (1, 2, 3, 4, 5, 8, 10, 12, 16, 20, 24, 25, 32, 50, 64, 100, 128, 200, 500, 1000),
         (*_COUNT, "at most {v} is allowed as {k}", "the configured {k} of {s} is exactly {v}")),
    Kind(("timeout_seconds", "ttl_seconds", "retry_delay_seconds", "poll_interval_seconds", "grace_seconds"),
         (1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 300, 600),
         (*_COUNT, "{s} uses {v} for {k}", "{k} of {s} was given as {v}")),
    Kind(("memory_mb", "cache_mb", "max_upload_mb", "log_size_mb"), (64, 128, 256, 512, 1024, 2048, 4096),
         (*_COUNT, "{s} gets {v} as {k}")),
    Kind(("port", "admin_port", "metrics_port", "debug_port"), (80, 443, 3000, 3306, 4000, 5000, 5432, 6379, 8000, 8080, 8443, 9000, 9090),
         ("{s} uses port {v} as its {k}", "{k} is {v}", "the {k} of {s} is {v}", "{v} is configured as {k}", "{s} has {v} as {k}")),
    Kind(("debug", "tls", "cache_enabled", "auto_restart", "read_only", "verbose", "telemetry", "compression",
          "dry_run", "signup", "rate_limiting", "autoscaling"), (True, False), ()),
    Kind(("log_level",), ("debug", "info", "warning", "error"), (*_COUNT, "{s} logs at level {v}")),
    Kind(("region", "location"), ("eu-west-1", "us-east-2", "ap-south-1", "eu-north-1", "sa-east-1", "ca-central-1"),
         (*_COUNT, "{s} runs in {v}", "{s} is deployed to {v}")),
    Kind(("backend", "database", "driver"), ("postgres", "mysql", "sqlite", "redis", "mongo", "memory"),
         (*_COUNT, "{s} uses {v} as its {k}", "{s} relies on {v} for the {k}")),
    Kind(("owner", "contact", "maintainer"), tuple(lexicon.FIRST[:60]), ("{v} is the {k} of {s}", "{s} has {v} as {k}", "the {k} is {v}", "{k}: {v}", "{v} is named as {k}")),
    Kind(("version", "image_tag"), ("1.2.0", "1.3.4", "2.0.1", "2.7.0", "3.1.2", "0.9.8", "4.0.0"), (*_COUNT, "{s} is at {v}")),
)  # fmt: skip
_ON = (
    "{k} is enabled",
    "{k} is on",
    "{s} has {k} turned on",
    "{k} is switched on for {s}",
    "{s} runs with {k}",
    "{k} is active",
)
_OFF = (
    "{k} is disabled",
    "{k} is off",
    "{s} has {k} turned off",
    "{k} is switched off for {s}",
    "{s} runs without {k}",
    "{k} is not active",
)


def settings(world: World) -> Iterator[Trio]:
    """Yield a claim on one value of a configuration in one of many formats."""
    service = world.pick(lexicon.SERVICES)
    chosen = {key: kind for kind, key in _keys(world)}
    record: Record = {key: _value(world, kind) for key, kind in chosen.items()}
    key = world.rng.choice(list(record))
    value, kind = record[key], chosen[key]
    changed = record | {key: world.rng.choice([v for v in kind.values if v != value])}
    lacking = {k: v for k, v in record.items() if k != key}
    render = _format(world, service)
    comment = _other_service(world, service, key, kind)
    texts = (render(record), render(changed), render(lacking) + world.rng.choice(("", comment)))
    yield Trio(sentence(claim_on(world, service, key, value, kind)), *texts)


def _keys(world: World) -> list[tuple[Kind, str]]:
    kinds = world.rng.sample(KINDS, world.rng.randint(2, 5))
    return [(kind, world.pick(kind.keys)) for kind in kinds]


def _value(world: World, kind: Kind) -> str | int | bool:
    return world.rng.choice(kind.values)


def claim_on(world: World, service: str, key: str, value: str | int | bool, kind: Kind) -> str:  # noqa: FBT001
    """Return a claim on a value, with the key as it is written or in words."""
    forms = (_ON if value else _OFF) if isinstance(value, bool) else kind.claims
    word, unit = key, ""
    if world.chance(0.6) and key.endswith(("_seconds", "_mb")):
        word, _, suffix = key.rpartition("_")
        unit = f" {'MB' if suffix == 'mb' else suffix}"
    word = word.replace("_", " ") if world.chance(0.7) else f"`{key}`"
    unit = unit if "`" not in word else ""
    return world.pick(forms).format(k=word, v=f"{value}{unit}", s=service)


def _other_service(world: World, service: str, key: str, kind: Kind) -> str:
    other = world.other(lexicon.SERVICES, service)
    return f"\n# {other}: {key} {_value(world, kind)}"


def _format(world: World, service: str) -> Callable[[Record], str]:
    upper = service.upper()
    indent = world.rng.choice((None, 2))
    return world.rng.choice((
        lambda r: "\n".join(f"{upper}_{k.upper()}={_plain(v)}" for k, v in r.items()),
        lambda r: f"{service}:\n" + "\n".join(f"  {k}: {_plain(v)}" for k, v in r.items()),
        lambda r: json.dumps({service: r}, indent=indent),
        lambda r: f"[{service}]\n" + "\n".join(f"{k} = {json.dumps(v)}" for k, v in r.items()),
        lambda r: f"[{service}]\n" + "\n".join(f"{k}={_plain(v)}" for k, v in r.items()),
        lambda r: "\n".join(f"{service}.{k.replace('_', '.')}={_plain(v)}" for k, v in r.items()),
        lambda r: f"| setting of {service} | value |\n|---|---|\n" + "\n".join(f"| {k} | {_plain(v)} |" for k, v in r.items()),
        lambda r: f"{service} " + " ".join(f"--{k.replace('_', '-')}={_plain(v)}" for k, v in r.items()),
        lambda r: f"{service.upper()} = {{\n" + "".join(f"    {k!r}: {v!r},\n" for k, v in r.items()) + "}",
    ))  # fmt: skip


def _plain(value: str | int | bool) -> str:  # noqa: FBT001
    return str(value).lower() if isinstance(value, bool) else str(value)


def ports(world: World) -> Iterator[Trio]:
    """Yield a compose file with two services and their published ports."""
    a, b = world.several(lexicon.SERVICES, 2)
    outer, inner, other, last = world.rng.sample(
        (80, 81, 443, 3000, 3100, 4000, 5000, 5601, 7000, 8000, 8080, 8081, 9000, 9200), 4
    )
    form = world.rng.choice((
        'services:\n  {a}:\n    ports:\n      - "{o}:{i}"\n  {b}:\n    ports: ["{x}:{y}"]',
        "docker run --name {a} -p {o}:{i} {a}\ndocker run --name {b} -p {x}:{y} {b}",
        "NAME PORTS\n{a} 0.0.0.0:{o}->{i}/tcp\n{b} 0.0.0.0:{x}->{y}/tcp",
    ))  # fmt: skip
    claim = world.pick((
        "{a} is published on host port {o}", "inside the container, {a} listens on {i}", "port {o} of the host leads to {a}",
        "the container port of {a} is {i}", "host port {o} is mapped to port {i} of {a}", "{a} can be reached on the host at {o}",
        "from outside, {a} is reached through {o}", "port {i} of the container {a} is exposed as {o}",
    )).format(a=a, o=outer, i=inner)  # fmt: skip
    yield Trio(
        sentence(claim),
        form.format(a=a, b=b, o=outer, i=inner, x=other, y=last),
        form.format(a=a, b=b, o=inner, i=outer, x=other, y=last) if world.chance(0.6)
        else form.format(a=a, b=b, o=other, i=last, x=outer, y=inner),
        form.format(a=world.other(lexicon.SERVICES, a, b), b=b, o=outer, i=last, x=other, y=inner),
    )  # fmt: skip


def tables(world: World) -> Iterator[Trio]:
    """Yield a table with a claim on a cell, a comparison, a maximum or a total."""
    columns = world.several(_COLUMNS, world.rng.randint(2, 3))
    rows = world.shuffled(_row_names(world, world.rng.randint(3, 5)))
    cells = [[world.rng.randint(2, 400) for _ in columns] for _ in rows]
    claim, other = _about(world, columns, rows, cells)
    render = _table(world, columns)
    absent = [name for name in _row_names(world, 9) if name not in rows][: len(rows)]
    names = rows if world.chance(0.4) else [*absent, *rows][: len(rows)]
    spare = [world.other(_COLUMNS, *columns) if c in claim else c for c in columns]
    lacking = render(names, cells) if names != rows else _table(world, spare)(rows, cells)
    yield Trio(sentence(claim), render(rows, cells), render(rows, other), lacking)


_COLUMNS = """units sold|visitors|errors|open tickets|employees|returns|downloads|deliveries|defects|members|
calls|commits|hours worked|patients seen|books lent|complaints|orders|goals|points|bookings|repairs|flights|
new customers|inspections|meals served""".replace("\n", "").split("|")


def _row_names(world: World, count: int) -> list[str]:
    pools = (
        lexicon.CITIES,
        lexicon.MONTHS,
        lexicon.FRUITS,
        lexicon.LAST,
        lexicon.PRODUCTS,
        lexicon.SERVICES,
    )
    return world.several(pools[world.rng.randrange(len(pools))], count)


def _about(
    world: World, columns: Sequence[str], rows: Sequence[str], cells: Sequence[Sequence[int]]
) -> tuple[str, list[list[int]]]:
    """Return a true claim, and cells of which it is false."""
    i, j = world.rng.sample(range(len(rows)), 2)
    c = world.rng.randrange(len(columns))
    high, low = (i, j) if cells[i][c] > cells[j][c] else (j, i)
    other = [list(row) for row in cells]
    other[i][c], other[j][c] = cells[j][c], cells[i][c]
    top = max(range(len(rows)), key=lambda r: cells[r][c])
    if other[i][c] == cells[i][c] or world.chance(0.3):
        return _best(world, columns[c], rows, cells, (top, c))
    slots = {"r": rows[i], "v": cells[i][c], "c": columns[c], "h": rows[high], "l": rows[low]}
    forms = (*_CELL, *_MORE) if world.chance(0.5) else _MORE
    return world.pick(forms).format(**slots), other


_CELL = ("{r} had {v} {c}", "the number of {c} of {r} was {v}", "{c} of {r}: {v}", "for {r}, the table gives {v} {c}",
         "{r} is listed with {v} {c}", "there were {v} {c} for {r}")  # fmt: skip
_MORE = ("{h} had more {c} than {l}", "{l} had fewer {c} than {h}", "{h} is ahead of {l} in {c}", "{l} is behind {h} in {c}",
         "the number of {c} is higher for {h} than for {l}", "{l} has a lower number of {c} than {h}")  # fmt: skip
_BEST = ("{r} had the most {c}", "no row has more {c} than {r}", "the highest number of {c} is that of {r}", "{r} leads in {c}",
         "{r} comes first by {c}", "the maximum of {c} belongs to {r}")  # fmt: skip


def _best(
    world: World,
    column: str,
    rows: Sequence[str],
    cells: Sequence[Sequence[int]],
    at: tuple[int, int],
) -> tuple[str, list[list[int]]]:
    top, c = at
    other = [list(row) for row in cells]
    rival = world.rng.choice([r for r in range(len(rows)) if r != top])
    other[top][c], other[rival][c] = min(cells[rival][c], cells[top][c] - 1), cells[top][c] + 1
    return world.pick(_BEST).format(r=rows[top], c=column), other


def _table(
    world: World, columns: Sequence[str]
) -> Callable[[Sequence[str], Sequence[Sequence[int]]], str]:
    head = world.rng.choice(("name", "item", "group", ""))
    form = world.rng.randrange(4)

    def render(rows: Sequence[str], cells: Sequence[Sequence[int]]) -> str:
        body = [[name, *map(str, row)] for name, row in zip(rows, cells, strict=True)]
        if form == 0:
            return "\n".join(",".join(line) for line in ([head, *columns], *body))
        if form == 1:
            records = [dict(zip((head or "name", *columns), line, strict=True)) for line in body]
            return json.dumps(records)
        if form == 2:
            return " ".join(_spoken(line, columns) for line in body)
        rule = "|" + "---|" * (len(columns) + 1)
        lines = [f"| {' | '.join(line)} |" for line in ([head, *columns], *body)]
        return "\n".join([lines[0], rule, *lines[1:]])

    return render


def _spoken(line: Sequence[str], columns: Sequence[str]) -> str:
    told = [f"{value} {column}" for value, column in zip(line[1:], columns, strict=True)]
    return sentence(f"{line[0]} had {' and '.join(told)}")
