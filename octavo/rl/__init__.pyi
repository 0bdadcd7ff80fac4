# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.rl.mdp import FiniteMDP as FiniteMDP
from octavo.rl.mdp import Trajectory as Trajectory
from octavo.rl.transitions import Transitions as Transitions
from octavo.rl.transitions import importance_ratios as importance_ratios
