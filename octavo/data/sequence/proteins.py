"""A hidden Markov model of protein secondary structure.

Reference: J. Lember and A. A. Koloydenko (2014), "Bridging Viterbi and Posterior Decoding",
Journal of Machine Learning Research 15, Appendix E.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octavo.engine.estimators.checked import checked

__all__ = ["ProteinHMM", "protein_structure_hmm"]

_START = [0.0016, 0.0041, 0.9929, 0.0014, 0.0, 0.0]
_TRANSITIONS = [
    [0.8359, 0.0034, 0.1606, 0, 0, 0],
    [0.0022, 0.8282, 0.1668, 0.0028, 0, 0],
    [0.0175, 0.0763, 0.8607, 0.0455, 0, 0],
    [0, 0, 0, 0.7500, 0.2271, 0.0229],
    [0, 0, 0, 0, 0.8450, 0.1550],
    [0, 0.0018, 0.2481, 0, 0, 0.7501],
]
_AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
_EMISSIONS = [  # one row an amino acid, one column a state
    [0.1059, 0.0636, 0.0643, 0.1036, 0.1230, 0.1230],
    [0.0107, 0.0171, 0.0135, 0.0081, 0.0111, 0.0128],
    [0.0538, 0.0319, 0.0775, 0.0634, 0.0415, 0.0345],
    [0.0973, 0.0477, 0.0620, 0.1120, 0.0852, 0.0848],
    [0.0436, 0.0576, 0.0330, 0.0371, 0.0386, 0.0399],
    [0.0303, 0.0484, 0.1133, 0.0447, 0.0321, 0.0229],
    [0.0203, 0.0227, 0.0259, 0.0188, 0.0197, 0.0221],
    [0.0564, 0.1010, 0.0372, 0.0557, 0.0694, 0.0593],
    [0.0672, 0.0443, 0.0574, 0.0560, 0.0671, 0.0810],
    [0.1227, 0.1068, 0.0674, 0.0994, 0.1279, 0.1477],
    [0.0240, 0.0219, 0.0181, 0.0214, 0.0293, 0.0304],
    [0.0299, 0.0252, 0.0561, 0.0259, 0.0338, 0.0336],
    [0.0333, 0.0208, 0.0757, 0.0472, 0.0067, 0.0031],
    [0.0443, 0.0270, 0.0330, 0.0469, 0.0497, 0.0472],
    [0.0594, 0.0464, 0.0470, 0.0522, 0.0677, 0.0697],
    [0.0496, 0.0496, 0.0744, 0.0485, 0.0422, 0.0491],
    [0.0395, 0.0641, 0.0572, 0.0465, 0.0412, 0.0375],
    [0.0591, 0.1386, 0.0473, 0.0685, 0.0677, 0.0545],
    [0.0168, 0.0172, 0.0111, 0.0135, 0.0130, 0.0124],
    [0.0359, 0.0483, 0.0286, 0.0306, 0.0332, 0.0344],
]
_STATES = (
    "short helix",
    "strand",
    "coil",
    "helix start",
    "helix middle",
    "helix end",
)


class ProteinHMM(NamedTuple):
    """Probabilities of the first state, of transitions and of emissions (states by symbols)."""

    startprob: NDArray[np.float64]
    transmat: NDArray[np.float64]
    emissionprob: NDArray[np.float64]

    @property
    def symbols(self) -> str:
        """The amino acids, in the order of the columns of emissionprob."""
        return _AMINO_ACIDS

    @property
    def states(self) -> tuple[str, ...]:
        """What the states stand for."""
        return _STATES


@checked
def protein_structure_hmm() -> ProteinHMM:
    """Return the six-state model of protein secondary structure of Appendix E.

    Its parameters were estimated from 25,713 sequences of the Protein Data Bank; the printed
    four digits are scaled to add up to one.

    Returns
    -------
    model : ProteinHMM
        Named tuple (startprob, transmat, emissionprob), with ``symbols`` and ``states``.

    Examples
    --------
    >>> from octavo.data import protein_structure_hmm
    >>> model = protein_structure_hmm()
    >>> model.emissionprob.shape
    (6, 20)
    >>> model.states[2], model.startprob[2].round(4)
    ('coil', np.float64(0.9929))
    """
    start, trans, emit = (np.array(part, float) for part in (_START, _TRANSITIONS, _EMISSIONS))
    emit = emit.T
    return ProteinHMM(
        start / start.sum(),
        trans / trans.sum(axis=1, keepdims=True),
        emit / emit.sum(axis=1, keepdims=True),
    )
