# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.rl.garnet import make_garnet as make_garnet
from octavo.rl.limits import ApproximationBound as ApproximationBound
from octavo.rl.limits import Contraction as Contraction
from octavo.rl.limits import TraceLimit as TraceLimit
from octavo.rl.limits import best_approximation_bound as best_approximation_bound
from octavo.rl.limits import brm_limit as brm_limit
from octavo.rl.limits import contraction as contraction
from octavo.rl.limits import lstd_limit as lstd_limit
from octavo.rl.mdp import FiniteMDP as FiniteMDP
from octavo.rl.mdp import Trajectory as Trajectory
from octavo.rl.objectives import SquaredTD as SquaredTD
from octavo.rl.objectives import ValueObjectives as ValueObjectives
from octavo.rl.objectives import value_objectives as value_objectives
from octavo.rl.transitions import Transitions as Transitions
from octavo.rl.transitions import importance_ratios as importance_ratios
