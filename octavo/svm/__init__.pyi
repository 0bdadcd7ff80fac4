# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.svm.ae_one_class import AEOneClassSVM as AEOneClassSVM
from octavo.svm.aesvc import AESVC as AESVC
from octavo.svm.aesvc_grid import AESVCGrid as AESVCGrid
from octavo.svm.aesvc_grid import GridRun as GridRun
from octavo.svm.aesvc_grid import SpeedupReport as SpeedupReport
from octavo.svm.aesvc_grid import compare_runs as compare_runs
from octavo.svm.aesvc_grid import run_grid as run_grid
from octavo.svm.aesvc_grid import speedup_report as speedup_report
from octavo.svm.enclosing_ball import MinimumEnclosingBall as MinimumEnclosingBall
from octavo.svm.extreme_points import ApproximateExtremePoints as ApproximateExtremePoints
from octavo.svm.extreme_points import RepresentativeSet as RepresentativeSet
from octavo.svm.hull_selection import ExtremePoints as ExtremePoints
from octavo.svm.hull_selection import approximate_extreme_points as approximate_extreme_points
from octavo.svm.hull_selection import distance_to_hull as distance_to_hull
from octavo.svm.representative_error import ErrorCertificate as ErrorCertificate
from octavo.svm.representative_error import error_certificate as error_certificate
