# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.data.games import make_games as make_games
from octavo.data.proteins import ProteinHMM as ProteinHMM
from octavo.data.proteins import protein_structure_hmm as protein_structure_hmm
