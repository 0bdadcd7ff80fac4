# Written by tools/sync.py from the __all__ of this package's modules.
