"""Channels are rows and times are columns: the number of sources has no default."""

from octavo.decomposition import AnechoicMixture, AnechoicNMF, ConvolutiveNMF
from tests.conformance.discovery import Case

CASES = [
    Case(make=lambda: AnechoicMixture(n_sources=1, n_init=2)),
    Case(make=lambda: AnechoicNMF(n_sources=1, n_init=2)),
    Case(make=lambda: ConvolutiveNMF(n_sources=1, filter_length=1)),
]
