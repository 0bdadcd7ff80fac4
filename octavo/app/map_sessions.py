"""Sessions for the page: ready to answer at once, one a tab, on one decomposition."""

from __future__ import annotations

from typing import Any

from octavo.app.map_tables import MapTable
from octavo.kernel.steered.interactive_session import InteractiveSession
from octavo.kernel.steered.knowledge_kernel_pca import KnowledgeKernelPCA

RANK = 300  # of the kernel's factor: an action then hardly depends on the number of rows


def start_session(
    table: MapTable, *, kernel: str = "rbf", gamma: Any = "scale", low_rank: int | None = None
) -> InteractiveSession:
    """Return a session on a table that answers at once from the first action on.

    Parameters
    ----------
    table : MapTable
        The rows.
    kernel : str, default="rbf"
        As in `KnowledgeKernelPCA`.
    gamma : float or str, default="scale"
        Scale of the kernel.
    low_rank : int or None, default=None
        Rank of the kernel's factor; 0 takes the whole kernel, None 300 where that is less.

    Returns
    -------
    InteractiveSession
        With no constraints.
    """
    if low_rank is None:
        low_rank = RANK if len(table) > RANK else 0
    model = KnowledgeKernelPCA(
        kernel=kernel,
        gamma=gamma,
        low_rank=low_rank or None,
        average=False,
        anchor=1.0,
        lambda_place=10.0,
        random_state=0,
    )
    session = InteractiveSession(model, table.X)
    # The first label looks for every row's neighbours and the first pin compiles: not on the page.
    session.place(0, (0.0, 0.0)).undo()
    session.label(0, 1).undo()
    return session
