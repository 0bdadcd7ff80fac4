# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.data.games import make_games as make_games
