from veridical.pipeline.evidence.binding import Binder
from veridical.pipeline.evidence.citations import resolve
from veridical.pipeline.evidence.corpus import Corpus
from veridical.pipeline.evidence.joining import joined

__all__ = ["Binder", "Corpus", "joined", "resolve"]
