# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.svm.box_svm import DualResult as DualResult
from octavo.svm.box_svm import iteration_bound as iteration_bound
from octavo.svm.box_svm import solve_box_svm as solve_box_svm
from octavo.svm.no_offset_grid import NoOffsetSVCCV as NoOffsetSVCCV
from octavo.svm.no_offset_grid import steinwart_grid as steinwart_grid
from octavo.svm.no_offset_svc import NoOffsetSVC as NoOffsetSVC
