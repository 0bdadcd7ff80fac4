# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.kernel.landmark_report import NystroemReport as NystroemReport
from octavo.kernel.landmark_report import kdpp_bound as kdpp_bound
from octavo.kernel.landmark_report import kmeanspp_bound as kmeanspp_bound
from octavo.kernel.landmark_report import nystroem_report as nystroem_report
from octavo.kernel.landmarks import Landmarks as Landmarks
from octavo.kernel.landmarks import select_landmarks as select_landmarks
from octavo.kernel.nystroem_landmarks import NystroemLandmarks as NystroemLandmarks
