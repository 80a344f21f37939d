"""Settings in layers: defaults, a file, the environment, and explicit values."""

from veridical.settings.layers import Layer, Layers, Settings, load_layers
from veridical.settings.types import SettingsBlock

__all__ = ["Layer", "Layers", "Settings", "SettingsBlock", "load_layers"]
