"""Outputs with structure: label sequences, label sets, grammars and classes with distances."""

from octavo._lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
