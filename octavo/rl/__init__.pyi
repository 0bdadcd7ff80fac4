# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.rl.mdp import FiniteMDP as FiniteMDP
from octavo.rl.mdp import Trajectory as Trajectory
