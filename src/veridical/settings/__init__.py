"""Settings in layers: defaults, a file, the environment, and explicit values."""

from veridical.settings.layers import Layer, Layers, Settings, load_layers

__all__ = ["Layer", "Layers", "Settings", "load_layers"]
