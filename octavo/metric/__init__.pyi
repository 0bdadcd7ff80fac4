# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.metric.fixed_rank.manifolds import GrassmannQF as GrassmannQF
from octavo.metric.fixed_rank.manifolds import PSDFlat as PSDFlat
from octavo.metric.fixed_rank.manifolds import PSDPolar as PSDPolar
from octavo.metric.fixed_rank.regression import FixedRankPSDRegressor as FixedRankPSDRegressor
