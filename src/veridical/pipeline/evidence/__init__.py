from veridical.pipeline.evidence.binding import Binder
from veridical.pipeline.evidence.citations import resolve
from veridical.pipeline.evidence.corpus import Corpus

__all__ = ["Binder", "Corpus", "resolve"]
