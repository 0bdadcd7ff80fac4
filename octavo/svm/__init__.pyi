# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.svm.ensemble_svc import EnsembleSVC as EnsembleSVC
from octavo.svm.ensemble_svc import merge_ensembles as merge_ensembles
from octavo.svm.pu_bagging import PUBaggingSVC as PUBaggingSVC
