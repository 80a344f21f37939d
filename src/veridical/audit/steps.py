"""Reasoning traces as values: steps, citations, and detection of invalid citations.

Pure: no text is read with a model here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from veridical.audit.values import Cited, StepCitation
from veridical.core.sources import as_sources, new_source, placed
from veridical.core.types import Source, ensure_text
from veridical.errors import InputError, SourceError
from veridical.traces import values

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from veridical.core.sources import Sources
    from veridical.core.status_table import StepLabel

StepLike: TypeAlias = str | Mapping[str, object]

SCHEMA = "veridical.steps/1"
MOST_STEPS = 10_000
SHAPE = (
    "A step is a text or an object with 'claim' and, if you have them, 'cites', 'context', "
    "'confidence' and 'id'"
)
TRACE_SHAPE = (
    "A trace is a list of steps, or an object with 'steps' and, if you have them, 'question', "
    "'answer' and 'sources'"
)
_STEP_KEYS = frozenset({"id", "claim", "cites", "context", "confidence"})
_TRACE_KEYS = frozenset({"schema", "steps", "question", "answer", "sources", "observations"})
_IDS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its claim, the ids that it cites (None: not stated), and its context.

    `confidence` (0 to 1) is its stated confidence and the target for its evidence; None if not
    stated. A `final` step is part of the answer: it is audited, but is no premise of the answer.
    """

    id: str
    claim: str = field(repr=False)
    cites: tuple[str, ...] | None = None
    context: tuple[Source, ...] = field(default=(), repr=False)
    final: bool = False
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class StepTrace:
    """Chain of reasoning: its steps, sources, question and answer.

    `observations` are the ids of contexts produced by the trace's own actions, such as results of
    tools: they are premises of the answer. `left_out` counts the parts of a log other than texts.
    """

    steps: tuple[Step, ...]
    question: str | None = field(default=None, repr=False)
    answer: str | None = field(default=None, repr=False)
    sources: tuple[Source, ...] = field(default=(), repr=False)
    observations: frozenset[str] = frozenset()
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.steps:
            msg = "there are no steps"
            raise InputError(msg, hint="Pass at least one step")
        if len(self.steps) > MOST_STEPS:
            msg = f"there are {len(self.steps)} steps; at most {MOST_STEPS} are audited"
            raise InputError(msg, hint="Audit the trace in parts")
        for text, what in ((self.question, "the question"), (self.answer, "the answer")):
            if text is not None:
                ensure_text(text, what)


# --- reading ---------------------------------------------------------------------------------


def parse_trace(trace: object) -> StepTrace:
    """Return a trace as a value: a list of steps, or an object of schema `veridical.steps/1`.

    The claims of a stored trace (`ReasoningTraces.tree`) are its steps. `InputError` if any part
    has the wrong shape.
    """
    if isinstance(trace, StepTrace):
        return trace
    if isinstance(trace, values.Trace):
        return _parse_goal(trace)
    if isinstance(trace, Mapping):
        return _parse_object(trace)
    if isinstance(trace, str | bytes) or not hasattr(trace, "__iter__"):
        msg = f"steps must be a list, not {type(trace).__name__}"
        raise InputError(msg, hint=SHAPE)
    return StepTrace(_parse_steps(trace))


def _parse_object(trace: Mapping[object, object]) -> StepTrace:
    if "steps" not in trace or not trace.keys() <= _TRACE_KEYS:
        msg = "the trace has an unknown shape"
        raise InputError(msg, hint=TRACE_SHAPE)
    if trace.get("schema", SCHEMA) != SCHEMA:
        msg = f"the trace is not of schema {SCHEMA}"
        raise InputError(msg, hint=TRACE_SHAPE)
    steps = trace["steps"]
    if not isinstance(steps, list | tuple):
        msg = f"steps must be a list, not {type(steps).__name__}"
        raise InputError(msg, hint=SHAPE)
    sources = trace.get("sources")
    given = () if sources is None else tuple(as_sources(cast("Sources", sources)).values())
    observations = trace.get("observations", ())
    if not _is_ids(observations):
        msg = "observations must be a list of ids"
        raise InputError(msg, hint=TRACE_SHAPE)
    return StepTrace(
        steps=_parse_steps(steps),
        question=cast("str | None", trace.get("question")),  # Trace refuses anything else
        answer=cast("str | None", trace.get("answer")),
        sources=given,
        observations=frozenset(cast("Sequence[str]", observations)),
    )


def _parse_goal(goal: values.Trace) -> StepTrace:
    """Return the claims under a goal as steps, with observations as their context, by time."""
    names = {node.id: node.cited_as for node in goal.nodes if node.kind in values.EVIDENCE}
    steps: list[Step] = []
    waiting: list[Source] = []
    for node in sorted(goal.nodes, key=lambda node: node.created):
        if node.id in names:
            waiting.append(Source(node.cited_as, node.text))
        elif node.kind is values.NodeKind.CLAIM:
            cited = map(str, node.data.get("evidence_ids") or ())
            cites = tuple(names.get(one, one) for one in cited) or None
            stated = node.data.get("confidence")
            steps.append(Step(node.id, node.text, cites, tuple(waiting), confidence=stated))
            waiting.clear()
    if not steps:
        msg = "the trace has no claim"
        raise InputError(msg, hint="The claims of a trace are what is audited")
    question = goal.by_id[goal.goal].text
    return StepTrace(tuple(steps), question, observations=frozenset(names.values()))


def _parse_steps(steps: Iterable[object]) -> tuple[Step, ...]:
    return tuple(parse_step(step, number) for number, step in enumerate(steps, start=1))


def parse_step(step: object, number: int) -> Step:
    """Return a step as a value; `InputError` if it has the wrong shape."""
    if isinstance(step, Step):
        return step
    if isinstance(step, str):
        ensure_text(step, f"step {number}")
        return Step(f"step{number}", step)
    if not isinstance(step, Mapping) or "claim" not in step or not step.keys() <= _STEP_KEYS:
        msg = f"step {number} has an unknown shape"
        raise InputError(msg, hint=SHAPE)
    ensure_text(step["claim"], f"the claim of step {number}")
    step_id = step.get("id", f"step{number}")
    ensure_text(step_id, f"the id of step {number}")
    cites = step.get("cites")
    if cites is not None and not _is_ids(cites):
        msg = f"the cites of step {number} must be a list of ids"
        raise InputError(msg, hint=SHAPE)
    with placed(f"step {number}"):
        context = _context(step.get("context"), str(step_id))
    return Step(
        str(step_id),
        step["claim"],
        None if cites is None else tuple(cites),
        context,
        confidence=_confidence(step.get("confidence"), number),
    )


def _confidence(stated: object, number: int) -> float | None:
    if stated is None:
        return None
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 <= stated <= 1:
        msg = f"the confidence of step {number} must be a number from 0 to 1"
        raise InputError(msg, hint="Leave it out if nobody stated one")
    return float(stated)


def _is_ids(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _context(context: object, step_id: str) -> tuple[Source, ...]:
    if context is None:
        return ()
    if isinstance(context, str):
        return (new_source(1, f"{step_id}.context", context),)
    if isinstance(context, list | tuple):  # by number, texts of different steps would be the same
        named = (
            {"id": f"{step_id}.context{number}", "text": text} if isinstance(text, str) else text
            for number, text in enumerate(context, start=1)
        )
        return tuple(as_sources(named).values())
    return tuple(as_sources(cast("Sources", context)).values())  # which refuses anything else


def refuse_duplicates(steps: Sequence[Step], sources: Iterable[str]) -> None:
    """Raise `SourceError` if two of the steps, contexts and sources have one id."""
    contexts = (source.id for step in steps for source in step.context)
    counts = Counter([*sources, *contexts, *(step.id for step in steps)])
    twice = sorted(one for one, count in counts.items() if count > 1)
    if twice:
        more = f" and {len(twice) - _IDS_SHOWN} more" if len(twice) > _IDS_SHOWN else ""
        shown = ", ".join(map(repr, twice[:_IDS_SHOWN])) + more
        msg = f"these ids of steps and sources come twice: {shown}"
        error = SourceError(msg, hint="Give every step and every source an id of its own")
        numbers = [str(number) for number, step in enumerate(steps, start=1) if counts[step.id] > 1]
        places = f": see the steps numbered {', '.join(numbers[:_IDS_SHOWN])}" if numbers else ""
        error.unquoted = f"ids of steps and sources come twice ({len(twice)} in all){places}"
        raise error


# --- citations -------------------------------------------------------------------------------


def circular(cites: Mapping[str, Sequence[str]]) -> frozenset[tuple[str, str]]:
    """Return the citations, as (citing, cited), that are part of a circle.

    A citation is circular if both ends are in one strongly connected component (Tarjan 1972), or
    are the same. Linear in the number of citations, and without recursion: a trace may be long.

        >>> sorted(circular({"a": ["b"], "b": ["a"], "c": ["a", "c"]}))
        [('a', 'b'), ('b', 'a'), ('c', 'c')]
    """
    component = _components(cites)
    return frozenset(
        (citing, cited)
        for citing, all_cited in cites.items()
        for cited in all_cited
        if cited in component and component[citing] == component[cited]
    )


@dataclass(slots=True)
class _Search:
    """State of Tarjan's search."""

    order: dict[str, int] = field(default_factory=dict)
    low: dict[str, int] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    component: dict[str, int] = field(default_factory=dict)

    def enter(self, node: str) -> None:
        self.order[node] = self.low[node] = len(self.order)
        self.open.append(node)

    def leave(self, node: str) -> None:
        if self.low[node] != self.order[node]:
            return
        while True:
            member = self.open.pop()
            self.component[member] = self.order[node]
            if member == node:
                return


def _components(graph: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the number of each node's strongly connected component."""
    search = _Search()
    for root in graph:
        if root in search.order:
            continue
        search.enter(root)
        path = [(root, iter(graph[root]))]
        while path:
            node, ahead = path[-1]
            for cited in ahead:
                if cited not in graph:
                    continue
                if cited not in search.order:
                    search.enter(cited)
                    path.append((cited, iter(graph[cited])))
                    break
                if cited not in search.component:
                    search.low[node] = min(search.low[node], search.order[cited])
            else:
                path.pop()
                search.leave(node)
                if path:
                    above = path[-1][0]
                    search.low[above] = min(search.low[above], search.low[node])
    return search.component


@dataclass(frozen=True, slots=True)
class CitationRules:
    """Resolution of citations over a whole trace: known ids, and circular citations."""

    known: frozenset[str]
    circles: frozenset[tuple[str, str]]

    @classmethod
    def of(
        cls, trace: Sequence[Step], sources: Iterable[str], cites: Mapping[str, Sequence[str]]
    ) -> CitationRules:
        """Return the rules of a trace; `cites` are the citations of each step, by the step's id."""
        contexts = (source.id for step in trace for source in step.context)
        every = frozenset([*sources, *contexts, *(step.id for step in trace)])
        return cls(every, circular(cites))

    def cited(
        self,
        citing: str,
        cited: str,
        labels: Mapping[str, StepLabel | None],
        sources: Container[str],
    ) -> StepCitation:
        """Return a citation with its kind, given the labels and sources so far.

        `labels` are those of earlier steps, `sources` the ids of readable texts.
        """
        if (citing, cited) in self.circles:
            kind = Cited.CYCLIC
        elif cited in labels:
            kind = _STEPS.get(labels[cited], Cited.FAILED_STEP)
        elif cited in sources:
            kind = Cited.SOURCE
        else:
            kind = Cited.FORWARD if cited in self.known else Cited.PHANTOM
        return StepCitation(cited, kind)


_STEPS: Mapping[StepLabel | None, Cited] = {
    "ENTAILED": Cited.ENTAILED_STEP,
    None: Cited.UNMEASURED_STEP,
}
