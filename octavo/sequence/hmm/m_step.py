"""The M-step that all mixtures of HMMs share: from additive statistics to new models.

Whether the statistics come from sequences (EM) or from other HMMs (variational hierarchical EM),
the update is Eq. (25)-(27) of Coviello, Chan and Lanckriet (2014). Statistics of parts of the data
add up, so that data of any size are worked through in parts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.arrays import Floats
from octavo.engine.probability.gaussians import (
    Moments,
    SingularCovarianceError,
    is_singular,
    moments_to_gaussians,
)
from octavo.sequence.hmm.bank import HMMBank

_EMPTY = 1e-12  # share of the whole below which a Gaussian keeps its parameters


class BankStatistics(NamedTuple):
    """Expected counts of K models: first states, transitions, and emissions.

    ``start`` (K, S), ``trans`` (K, S, S), and ``emission``: the moments of the K·S·M Gaussians
    about their present means, or for symbols the counts (K, S, V).
    """

    start: Floats
    trans: Floats
    emission: Moments | Floats

    def plus(self, other: BankStatistics) -> BankStatistics:
        """Return the statistics of both parts of the data together."""
        both: Any
        if isinstance(self.emission, Moments) and isinstance(other.emission, Moments):
            both = self.emission.plus(other.emission)
        else:
            both = self.emission + other.emission
        return BankStatistics(self.start + other.start, self.trans + other.trans, both)


def _rescaled(counts: Floats, before: Floats) -> Floats:
    """Return counts as distributions over the last axis; where there are none, those before."""
    total = counts.sum(axis=-1, keepdims=True)
    # nothing counted: the bound does not depend on it
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), before)


def updated_bank(bank: HMMBank, statistics: BankStatistics, *, noise: float = 0.0) -> HMMBank:
    """Return the models that maximise the bound whose statistics are given.

    Parameters
    ----------
    bank : HMMBank
        The models before: kept where a state or a Gaussian was never used.
    statistics : BankStatistics
        Of all the data.
    noise : float, default=0
        A variance that the data have on top of what the moments tell.

    Returns
    -------
    bank : HMMBank
        The models after.
    """
    start = _rescaled(statistics.start, bank.start)  # Eq. (25)
    trans = _rescaled(statistics.trans, bank.trans)
    moments = statistics.emission
    if not isinstance(moments, Moments):
        weights = _rescaled(moments, bank.weights)
        return bank._replace(start=start, trans=trans, weights=weights)
    assert bank.means is not None
    assert bank.covars is not None
    weights = _rescaled(moments.mass.reshape(bank.weights.shape), bank.weights)  # Eq. (26)
    means, covars = moments_to_gaussians(moments, bank.gaussians()[0])  # Eq. (26), (27)
    means, covars = means.reshape(bank.means.shape), covars.reshape(bank.covars.shape)
    if bank.kind == "spherical":
        # one variance for all axes: their mean maximises
        covars = np.broadcast_to(covars.mean(axis=3, keepdims=True), covars.shape)
    new = bank._replace(covars=covars).widened(noise)
    assert new.covars is not None
    used = (moments.mass > _EMPTY * moments.mass.sum()).reshape(bank.weights.shape)
    means = np.where(used[..., None], means, bank.means)
    spread = used.reshape(*used.shape, *[1] * (bank.covars.ndim - 3))
    covars = np.where(spread, new.covars, bank.covars)
    _require_spread(covars, bank)
    return bank._replace(start=start, trans=trans, weights=weights, means=means, covars=covars)


def _require_spread(covars: Floats, bank: HMMBank) -> None:
    """Raise where an updated Gaussian has no density."""
    for k, s, m in np.argwhere(is_singular(covars, full=bank.kind == "full"))[:1]:
        raise SingularCovarianceError(
            f"The covariance of component {k}, state {s}, Gaussian {m} became singular: it "
            "explains too few points; raise reg_covar, or lower n_states or n_mix."
        )
