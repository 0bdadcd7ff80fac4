# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.search.adaptation_sampling import MannWhitney as MannWhitney
from octavo.search.adaptation_sampling import weighted_mannwhitneyu as weighted_mannwhitneyu
from octavo.search.double_pole import DoublePole as DoublePole
from octavo.search.fitness_shaping import rank_utilities as rank_utilities
from octavo.search.natural_evolution import minimize_nes as minimize_nes
from octavo.search.nes_search_cv import NESSearchCV as NESSearchCV
from octavo.search.radial_nes import GaussianRadial as GaussianRadial
from octavo.search.radial_nes import HillClimberXNES as HillClimberXNES
from octavo.search.radial_nes import RadialNES as RadialNES
from octavo.search.radial_nes import StudentRadial as StudentRadial
from octavo.search.radial_nes import radial_natural_gradient as radial_natural_gradient
from octavo.search.search_gradients import CanonicalNES as CanonicalNES
from octavo.search.search_gradients import SearchGradient as SearchGradient
from octavo.search.search_gradients import gaussian_log_derivatives as gaussian_log_derivatives
from octavo.search.snes import SNES as SNES
from octavo.search.xnes import XNES as XNES
