# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.decomposition.geometric_median import geometric_median as geometric_median
from octavo.decomposition.geometric_median_subspace import GeometricMedianSubspace as GeometricMedianSubspace
from octavo.decomposition.geometric_median_subspace import make_outlier_subspace as make_outlier_subspace
from octavo.decomposition.gms_solver import GMSPrecision as GMSPrecision
from octavo.decomposition.gms_solver import gms_precision as gms_precision
from octavo.decomposition.robust_precision import RobustPrecision as RobustPrecision
