# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.search.evolution.adaptation_sampling import MannWhitney as MannWhitney
from octavo.search.evolution.adaptation_sampling import weighted_mannwhitneyu as weighted_mannwhitneyu
from octavo.search.evolution.cv import NESSearchCV as NESSearchCV
from octavo.search.evolution.double_pole import DoublePole as DoublePole
from octavo.search.evolution.fitness_shaping import rank_utilities as rank_utilities
from octavo.search.evolution.minimize import minimize_nes as minimize_nes
from octavo.search.evolution.radial import GaussianRadial as GaussianRadial
from octavo.search.evolution.radial import HillClimberXNES as HillClimberXNES
from octavo.search.evolution.radial import RadialNES as RadialNES
from octavo.search.evolution.radial import StudentRadial as StudentRadial
from octavo.search.evolution.radial import radial_natural_gradient as radial_natural_gradient
from octavo.search.evolution.search_gradients import CanonicalNES as CanonicalNES
from octavo.search.evolution.search_gradients import SearchGradient as SearchGradient
from octavo.search.evolution.search_gradients import gaussian_log_derivatives as gaussian_log_derivatives
from octavo.search.evolution.snes import SNES as SNES
from octavo.search.evolution.xnes import XNES as XNES
