# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.survival.minlip.estimators import MinlipRanker as MinlipRanker
from octavo.survival.minlip.estimators import MinlipSurvival as MinlipSurvival
from octavo.survival.minlip.kernels import ComponentwiseKernel as ComponentwiseKernel
from octavo.survival.minlip.pairs import comparable_pairs as comparable_pairs
from octavo.survival.minlip.reconstruction import SurvivalCurveEstimator as SurvivalCurveEstimator
from octavo.survival.minlip.reconstruction import TransformationFunction as TransformationFunction
