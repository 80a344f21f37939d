from veridical.pipeline.judgement.aggregation import Reading, combine
from veridical.pipeline.judgement.totals import summarise
from veridical.pipeline.judgement.verdict import judge, quote, second_look

__all__ = ["Reading", "combine", "judge", "quote", "second_look", "summarise"]
