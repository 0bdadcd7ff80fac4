# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.graphical.clime import CLIME as CLIME
from octavo.graphical.clime import ClimePath as ClimePath
from octavo.graphical.clime import clime_path as clime_path
from octavo.graphical.clime import make_sparse_precision as make_sparse_precision
from octavo.graphical.clime_cv import CLIMECV as CLIMECV
from octavo.graphical.dantzig import DantzigSelector as DantzigSelector
from octavo.graphical.linear_programs import LPPath as LPPath
from octavo.graphical.linear_programs import LPSolution as LPSolution
from octavo.graphical.linear_programs import parametric_simplex as parametric_simplex
from octavo.graphical.linear_programs import solve_lp as solve_lp
