# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.data.expert_games import make_expert_game as make_expert_game
from octavo.data.fractional_brownian import fbm as fbm
from octavo.data.games import make_games as make_games
