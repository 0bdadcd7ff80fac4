# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.survival.classical.components import PLSCox as PLSCox
from octavo.survival.classical.components import PrincipalComponentCox as PrincipalComponentCox
from octavo.survival.classical.cox import CoxRegression as CoxRegression
from octavo.survival.classical.curves import kaplan_meier as kaplan_meier
from octavo.survival.classical.curves import nelson_aalen as nelson_aalen
from octavo.survival.classical.judgement import TimeDependentROC as TimeDependentROC
from octavo.survival.classical.judgement import concordance_index as concordance_index
from octavo.survival.classical.judgement import integrated_brier_score as integrated_brier_score
from octavo.survival.classical.judgement import logrank_test as logrank_test
from octavo.survival.classical.judgement import risk_groups as risk_groups
from octavo.survival.classical.judgement import time_dependent_roc as time_dependent_roc
from octavo.survival.minlip.estimators import MinlipRanker as MinlipRanker
from octavo.survival.minlip.estimators import MinlipSurvival as MinlipSurvival
from octavo.survival.minlip.kernels import ComponentwiseKernel as ComponentwiseKernel
from octavo.survival.minlip.pairs import comparable_pairs as comparable_pairs
from octavo.survival.minlip.reconstruction import SurvivalCurveEstimator as SurvivalCurveEstimator
from octavo.survival.minlip.reconstruction import TransformationFunction as TransformationFunction
