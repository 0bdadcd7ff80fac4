# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.rl.transitions import Transitions as Transitions
from octavo.rl.transitions import importance_ratios as importance_ratios
