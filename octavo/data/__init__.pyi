# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.data.expert_games import make_expert_game as make_expert_game
from octavo.data.fractional_brownian import fbm as fbm
from octavo.data.games import make_games as make_games
from octavo.data.proteins import ProteinHMM as ProteinHMM
from octavo.data.proteins import protein_structure_hmm as protein_structure_hmm
