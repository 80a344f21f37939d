from veridical.pipeline.judgement.aggregation import Reading, combine
from veridical.pipeline.judgement.refinement import Look, second_look
from veridical.pipeline.judgement.totals import summarise
from veridical.pipeline.judgement.verdict import judge, quote, scored

__all__ = ["Look", "Reading", "combine", "judge", "quote", "scored", "second_look", "summarise"]
