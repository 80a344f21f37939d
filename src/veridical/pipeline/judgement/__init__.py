from veridical.pipeline.judgement.aggregation import Reading, combine, decides
from veridical.pipeline.judgement.certainty import rated
from veridical.pipeline.judgement.quantities import (
    differing,
    replaced,
    underived,
    worded_as_evidence,
)
from veridical.pipeline.judgement.refinement import Look, fragments, second_look
from veridical.pipeline.judgement.totals import summarise
from veridical.pipeline.judgement.verbatim import may_stand_verbatim, stands_verbatim
from veridical.pipeline.judgement.verdict import judge, quote, scored_also

__all__ = [
    "Look",
    "Reading",
    "combine",
    "decides",
    "differing",
    "fragments",
    "judge",
    "may_stand_verbatim",
    "quote",
    "rated",
    "replaced",
    "scored_also",
    "second_look",
    "stands_verbatim",
    "summarise",
    "underived",
    "worded_as_evidence",
]
