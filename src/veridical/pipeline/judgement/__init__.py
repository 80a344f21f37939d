from veridical.pipeline.judgement.aggregation import (
    PooledEstimate,
    decides,
    pool_passages,
    supports,
)
from veridical.pipeline.judgement.certainty import rated
from veridical.pipeline.judgement.mentions import (
    PROPOSITION,
    Mentions,
    asserted,
    mentions,
    supported_elsewhere,
)
from veridical.pipeline.judgement.quantities import (
    differing,
    replaced,
    underived,
    unread_parts,
    worded_as_evidence,
)
from veridical.pipeline.judgement.refinement import (
    SubclaimScore,
    part_verdicts,
    rescore_subclaims,
    subclaims,
)
from veridical.pipeline.judgement.totals import summarise
from veridical.pipeline.judgement.verbatim import may_stand_verbatim, stands_verbatim
from veridical.pipeline.judgement.verdict import attach_evidence, judge_claim, merge_scored

__all__ = [
    "PROPOSITION",
    "Mentions",
    "PooledEstimate",
    "SubclaimScore",
    "asserted",
    "attach_evidence",
    "decides",
    "differing",
    "judge_claim",
    "may_stand_verbatim",
    "mentions",
    "merge_scored",
    "part_verdicts",
    "pool_passages",
    "rated",
    "replaced",
    "rescore_subclaims",
    "stands_verbatim",
    "subclaims",
    "summarise",
    "supported_elsewhere",
    "supports",
    "underived",
    "unread_parts",
    "worded_as_evidence",
]
