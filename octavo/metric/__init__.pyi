# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.metric.fixed_rank.comparators import lego as lego
from octavo.metric.fixed_rank.comparators import logdet_kernel as logdet_kernel
from octavo.metric.fixed_rank.comparators import logdet_metric as logdet_metric
from octavo.metric.fixed_rank.comparators import pola as pola
from octavo.metric.fixed_rank.kernel_learner import LowRankKernelLearner as LowRankKernelLearner
from octavo.metric.fixed_rank.mahalanobis import LowRankMahalanobis as LowRankMahalanobis
from octavo.metric.fixed_rank.manifolds import GrassmannQF as GrassmannQF
from octavo.metric.fixed_rank.manifolds import PSDFlat as PSDFlat
from octavo.metric.fixed_rank.manifolds import PSDPolar as PSDPolar
from octavo.metric.fixed_rank.oja import OjaSubspace as OjaSubspace
from octavo.metric.fixed_rank.online import OnlineFixedRankPSD as OnlineFixedRankPSD
from octavo.metric.fixed_rank.online_mds import OnlineMDS as OnlineMDS
from octavo.metric.fixed_rank.regression import FixedRankPSDRegressor as FixedRankPSDRegressor
