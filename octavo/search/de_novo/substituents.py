"""`SubstituentSampler`: fragments attached to the sites of a parent (Algorithm 5.5)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from octavo.search.active_pairs.asking import is_real
from octavo.search.de_novo.proposals import IndependentProposal, check_generator

__all__ = ["SubstituentSampler"]


class SubstituentSampler(IndependentProposal):
    """Propose ways to attach fragments to the sites of a parent, within limits of weight.

    Sites are drawn one after another, each with a fragment among those that still fit. After each
    the proposal ends with a probability that is the weight attached so far over the weight that may
    be attached, so that light ones are more frequent.

    Parameters
    ----------
    fragments : dict of fragment to float
        Weight of each fragment, positive.
    sites : sequence
        Places of the parent at which a fragment may stand.
    max_weight : float
        Largest weight of parent and fragments together.
    parent_weight : float, default=0.0
        Weight of the parent.
    donors : dict of fragment to int, default=None
        How many hydrogen-bond donors (or anything else that is limited) a fragment has; 0 where it
        is not named.
    max_donors : int or None, default=None
        Most donors in all; None does not limit them.
    parent_donors : int, default=0
        Donors of the parent.
    neighbors : sequence of (site, site), default=None
        Pairs of sites of which only one may carry a donor; neighbours in the order of `sites`, as
        on a ring that is cut, are not assumed.
    build : callable, default=None
        Makes the state out of a dict of site to fragment, for instance a molecule of rdkit; by
        default a state is a tuple with a fragment, or None, for each site.

    Attributes
    ----------
    independent : bool
        True: a proposal does not depend on the state of a chain.

    Notes
    -----
    The test that the text writes after "until" is the one under which the loop goes on. A site at
    which nothing fits is passed over.

    References
    ----------
    D. Oglic (2018). Constructive Approximation and Learning by Greedy Algorithms. PhD thesis,
    University of Bonn, Section 5.5.2.

    Examples
    --------
    >>> from octavo.search import SubstituentSampler
    >>> sampler = SubstituentSampler(
    ...     {"F": 19.0, "OH": 17.0, "CH3": 15.0}, [2, 3, 4], 60.0, donors={"OH": 1},
    ...     neighbors=[(2, 3), (3, 4)],
    ... )
    >>> print(sampler.sample(3, random_state=1))
    [('CH3', 'CH3', None), ('F', 'CH3', None), ('F', None, None)]
    """

    def __init__(
        self,
        fragments: Mapping[Any, float],
        sites: Sequence[Hashable],
        max_weight: float,
        *,
        parent_weight: float = 0.0,
        donors: Mapping[Any, int] | None = None,
        max_donors: int | None = None,
        parent_donors: int = 0,
        neighbors: Sequence[tuple[Any, Any]] | None = None,
        build: Callable[[dict[Any, Any]], Any] | None = None,
    ) -> None:
        self.fragments = fragments
        self.sites = sites
        self.max_weight = max_weight
        self.parent_weight = parent_weight
        self.donors = donors
        self.max_donors = max_donors
        self.parent_donors = parent_donors
        self.neighbors = neighbors
        self.build = build

    def _check(self) -> tuple[float, dict[Any, int], dict[Any, set[Any]]]:
        """Return the weight that may be attached, donors of fragments and neighbours of sites."""
        if not isinstance(self.fragments, Mapping) or not self.fragments:
            raise ValueError("The fragments must be a dict of at least one fragment to its weight.")
        for name, weight in self.fragments.items():
            if not is_real(weight) or not 0 < weight < np.inf:
                raise ValueError(f"Fragment {name!r} needs a positive weight; got {weight!r}.")
        for name, weight in (
            ("max_weight", self.max_weight),
            ("parent_weight", self.parent_weight),
        ):
            if not is_real(weight) or not 0 <= weight < np.inf:
                raise ValueError(f"A finite weight is needed for {name}; got {weight!r}.")
        sites = self.sites
        if isinstance(sites, (str, bytes)) or not hasattr(sites, "__len__") or not len(sites):
            raise ValueError(f"At least one site is needed; got {sites!r}.")
        if len(set(sites)) < len(sites):
            raise ValueError("Every site must be named once.")
        room = float(self.max_weight) - float(self.parent_weight)
        if min(self.fragments.values()) > room:
            raise ValueError(
                f"No fragment fits: the parent leaves a weight of {room:g}, the lightest fragment "
                f"weighs {min(self.fragments.values()):g}."
            )
        near: dict[Any, set[Any]] = {site: set() for site in sites}
        for u, v in self.neighbors or ():
            if u not in near or v not in near:
                raise ValueError(f"Neighbours must be sites; got {(u, v)!r}.")
            near[u].add(v)
            near[v].add(u)
        donors = {name: int((self.donors or {}).get(name, 0)) for name in self.fragments}
        return room, donors, near

    def __call__(self, state: Any, rng: np.random.Generator) -> Any:
        """Return a state, whatever the state before.

        Parameters
        ----------
        state : object or None
            Not looked at.
        rng : Generator
            Source of the draw.

        Returns
        -------
        state : tuple or object
            A fragment or None for each site, or what `build` makes of it.
        """
        check_generator(rng)
        room, donors, near = self._check()
        most = np.inf if self.max_donors is None else self.max_donors
        attached, used, open_sites = 0.0, self.parent_donors, list(self.sites)
        placed: dict[Any, Any] = {}
        while open_sites:
            # Line 9: what is still light enough and keeps the number of donors.
            fits = [
                f
                for f, weight in self.fragments.items()
                # line 9 counts sites with donors, |H|; here every donor counts
                if attached + weight <= room and used + donors[f] <= most
            ]
            if not fits:
                break
            site = open_sites.pop(int(rng.integers(len(open_sites))))  # lines 3 and 10
            if any(donors[placed[other]] for other in near[site] if other in placed):
                fits = [f for f in fits if donors[f] == 0]  # line 4
            if not fits:
                continue
            fragment = fits[int(rng.integers(len(fits)))]  # line 5
            placed[site] = fragment
            attached += self.fragments[fragment]  # line 8
            used += donors[fragment]
            if not rng.random() > attached / room:  # line 12
                break
        if self.build is not None:
            return self.build(placed)
        return tuple(placed.get(site) for site in self.sites)
