# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.data.games import make_games as make_games
from octavo.data.sparse_precision import SparsePrecision as SparsePrecision
from octavo.data.sparse_precision import make_sparse_precision as make_sparse_precision
