# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.data.games import make_games as make_games
from octavo.data.streams import ArffChunks as ArffChunks
from octavo.data.streams import ArrayChunks as ArrayChunks
from octavo.data.streams import LibsvmChunks as LibsvmChunks
