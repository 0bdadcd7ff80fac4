# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.bayes.gaussian_mixtures.reduction import GMMReduction as GMMReduction
