"""Alliances and enmities of sixteen tribes of the Eastern Central Highlands of New Guinea."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

__all__ = ["SignedTribes", "load_tribes"]

# Read (1954) as tabulated by Hage and Harary (1983), pp. 56-60: for each tribe the later ones with
# which it is allied ("rova") and those with which it fights ("hina").
TRIBES = {
    "Gavev": ("Kotun Nagad Gama", "Ove Alika Nagam Gahuk Asaro"),
    "Kotun": ("Nagad Gama", "Ove Nagam Gahuk Notoh Kohik"),
    "Ove": ("Alika Gahuk Masil Ukudz", ""),
    "Alika": ("Ukudz", ""),
    "Nagam": ("Masil Notoh Seuve", "Nagad Gama"),
    "Gahuk": ("Masil Ukudz Geham Asaro", "Notoh Uheto Gama"),
    "Masil": ("Ukudz Geham Asaro Uheto", ""),
    "Ukudz": ("Geham Asaro", "Seuve"),
    "Notoh": ("Kohik Uheto", "Geham Nagad"),
    "Kohik": ("Uheto", "Geham Nagad"),
    "Geham": ("Asaro", "Uheto Nagad Gama"),
    "Asaro": ("", "Seuve Nagad Gama"),
    "Uheto": ("Seuve", "Nagad Gama"),
    "Seuve": ("", "Gama"),
    "Nagad": ("Gama", ""),
    "Gama": ("", ""),
}
GROUPS = ("Gavev Kotun Nagad Gama", "Ove Alika Gahuk Masil Ukudz Geham Asaro")  # all others: third


class SignedTribes(NamedTuple):
    """The signed network (CSR, symmetric), the names of the tribes, and a group for each."""

    A: Any
    names: list[str]
    groups: np.ndarray


def load_tribes() -> SignedTribes:
    """Return the Gahuku-Gama tribes: 16 nodes, 29 alliances and 29 enmities.

    The enemy of an enemy may be a friend or an enemy: three groups, not two, fight each other. The
    groups are those with the fewest links that do not fit: two, alliances of Masil (Masilakidzuha)
    with tribes of the third group.

    Returns
    -------
    tribes : SignedTribes
        `A` has 1 for an alliance and -1 for an enmity, both ways; `groups` are 0, 1 and 2.

    References
    ----------
    K. E. Read (1954). Cultures of the Central Highlands, New Guinea. Southwestern Journal of
    Anthropology 10, 1-43.

    P. Hage and F. Harary (1983). Structural Models in Anthropology. Cambridge University Press,
    pp. 56-60.

    Examples
    --------
    >>> from octavo.data import load_tribes
    >>> from octavo.network import correlation_clustering_cost
    >>> tribes = load_tribes()
    >>> tribes.A.shape, int((tribes.A > 0).sum() / 2), int((tribes.A < 0).sum() / 2)
    ((16, 16), 29, 29)
    >>> correlation_clustering_cost(tribes.A, tribes.groups)
    2
    """
    names = list(TRIBES)
    A = np.zeros((16, 16))
    for tribe, links in TRIBES.items():
        for sign, others in zip((1.0, -1.0), links):
            for other in others.split():
                i, j = names.index(tribe), names.index(other)
                A[i, j] = A[j, i] = sign
    home = {tribe: group for group, members in enumerate(GROUPS) for tribe in members.split()}
    groups = np.array([home.get(tribe, 2) for tribe in names])
    return SignedTribes(sp.csr_array(A), names, groups)
