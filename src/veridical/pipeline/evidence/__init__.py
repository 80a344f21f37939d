from veridical.pipeline.evidence.binding import Binder
from veridical.pipeline.evidence.citations import CitationResolver, resolve_citations
from veridical.pipeline.evidence.corpus import Corpus, CorpusCache
from veridical.pipeline.evidence.passage_join import join_passages

__all__ = [
    "Binder",
    "CitationResolver",
    "Corpus",
    "CorpusCache",
    "join_passages",
    "resolve_citations",
]
