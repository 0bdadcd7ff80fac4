"""Time to event: transformation models, Cox's model and curves."""

from octavo._lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
