"""The manifolds behind the learners, for whoever builds on them.

Reference: Meyer, Bonnabel and Sepulchre (2011), Sections 4 to 6.
"""

from octavo.engine.manifolds.fixed_rank import PSDFlat, PSDPolar
from octavo.engine.manifolds.grassmann import GrassmannQF

__all__ = ["GrassmannQF", "PSDFlat", "PSDPolar"]
