"""The plain machine that a style makes of a factored or a gated one."""

from __future__ import annotations

from typing import Any

from octavo.sequence.conditional_rbm.crbm import CRBM


def as_crbm(machine: Any, params: dict[str, Any]) -> CRBM:
    """Return a fitted `CRBM` with given matrices, and the scaling of another machine.

    Parameters
    ----------
    machine : fitted machine
        Whose options and scaling are taken over.
    params : dict of arrays
        W, A, B, a and b.

    Returns
    -------
    crbm : CRBM
        Without styles.
    """
    names = CRBM().get_params()
    given = {name: value for name, value in machine.get_params().items() if name in names}
    return CRBM(**given).with_arrays(machine, params)
