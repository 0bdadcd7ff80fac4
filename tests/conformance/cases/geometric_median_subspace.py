"""GeometricMedianSubspace in each of its variants."""

from octavo.decomposition import GeometricMedianSubspace
from tests.conformance.discovery import Case

CASES = [
    Case(make=GeometricMedianSubspace),
    Case(make=lambda: GeometricMedianSubspace(variant="gms2", random_state=0)),
    Case(make=lambda: GeometricMedianSubspace(1, variant="egms")),
    Case(make=lambda: GeometricMedianSubspace(1, variant="reaper", spherize=True)),
    Case(make=lambda: GeometricMedianSubspace(center="geometric_median")),
]
