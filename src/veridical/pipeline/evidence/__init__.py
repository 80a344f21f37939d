from veridical.pipeline.evidence.binding import Binder
from veridical.pipeline.evidence.citations import resolve
from veridical.pipeline.evidence.corpus import Corpus, LastCorpus
from veridical.pipeline.evidence.passage_join import joined

__all__ = ["Binder", "Corpus", "LastCorpus", "joined", "resolve"]
