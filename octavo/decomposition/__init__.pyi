# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.decomposition.anchor_factorization import ScaledRows as ScaledRows
from octavo.decomposition.anchor_factorization import noise_bound as noise_bound
from octavo.decomposition.anchor_factorization import nonnegative_weights as nonnegative_weights
from octavo.decomposition.anchor_factorization import scale_rows as scale_rows
from octavo.decomposition.anchor_topics import AnchorTopics as AnchorTopics
from octavo.decomposition.ellipsoidal_rounding import EllipsoidalRoundingNMF as EllipsoidalRoundingNMF
from octavo.decomposition.ellipsoidal_rounding import Rounding as Rounding
from octavo.decomposition.ellipsoidal_rounding import ellipsoidal_candidates as ellipsoidal_candidates
from octavo.decomposition.enclosing_ellipsoid import EllipsoidResult as EllipsoidResult
from octavo.decomposition.enclosing_ellipsoid import min_volume_ellipsoid as min_volume_ellipsoid
from octavo.decomposition.separable_nmf import SuccessiveProjection as SuccessiveProjection
from octavo.decomposition.separable_nmf import XRay as XRay
from octavo.decomposition.separable_nmf import successive_projection as successive_projection
from octavo.decomposition.separable_nmf import xray_anchors as xray_anchors
