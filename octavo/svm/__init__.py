"""Support vector and minimax probability machines that scikit-learn does not carry."""

from octavo._lazy import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, __file__)
