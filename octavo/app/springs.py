"""Why a soft pin did not bring its point all the way: what would, found by trying it."""

from __future__ import annotations

from typing import Any

import numpy as np

from octavo.kernel.steered.interactive_session import InteractiveSession

ARRIVED = 0.6  # of the way and more: what a soft pin is expected to do
HELPS = 0.6  # what shortens the rest to less than this share of it is a reason
STRONGEST = 1000.0  # that the page's slider has for pins


def why_short(
    session: InteractiveSession, i: int, start: tuple[float, float]
) -> dict[str, Any] | None:
    """Say why a point stopped short of its pin.

    Each thing that could hold it is taken away in turn, in a session that nobody sees; the one that
    lets the point come nearest is the reason.

    Parameters
    ----------
    session : InteractiveSession
        It is left alone.
    i : int
        A row with a soft pin.
    start : tuple of two floats
        Where the point was before it was dragged.

    Returns
    -------
    dict or None
        "share" (of the way that the point went, from 0 to 1), "reason" ("others", "anchor", "weak"
        or "shape"), "exact" (whether an exact pin can hold it there) and "text"; None where it
        arrived or has no soft pin.
    """
    placed = {p["point"]: p for p in session.constraints["placements"]}
    if i not in placed or placed[i]["hard"]:
        return None
    at = np.array(placed[i]["at"], dtype=float)  # None becomes NaN: a coordinate that is free
    way = float(np.sqrt(np.nansum((at - np.asarray(start)) ** 2)))

    def rest(other: InteractiveSession) -> float:
        return float(np.sqrt(np.nansum((other.embedding[i] - at) ** 2)))

    short = rest(session)
    if way <= 0.0 or short <= (1.0 - ARRIVED) * way:
        return None
    rests: dict[str, float] = {}
    found = session.constraints
    if len(found["placements"]) + len(found["links"]) + len(found["labels"]) > 1:
        alone = {"n_components": found["n_components"], "placements": [placed[i]]}
        rests["others"] = rest(session.fork().load(alone))
    if session.params["anchor"] > 0.0:
        rests["anchor"] = rest(session.fork().set_params(anchor=0.0))
    strength, stronger = session.params["lambda_place"], short
    while 0.0 < strength < STRONGEST and stronger >= HELPS * short:
        strength = min(10.0 * strength, STRONGEST)
        stronger = rest(session.fork().set_params(lambda_place=strength))
    reason = min(rests, key=lambda name: rests[name], default="shape")
    if rests.get(reason, short) > HELPS * short:
        reason = "weak" if stronger < HELPS * short else "shape"
    text = {
        "others": "Your other pins, links and labels pull the other way",
        "anchor": f"The anchor ({session.params['anchor']:g}) holds the map near plain kernel PCA",
        "weak": f"Pins are weak here ({session.params['lambda_place']:.3g}) beside the rest",
        "shape": "Rows that are alike stay together and the map keeps its size, so one point "
        "cannot leave the rest behind",
    }[reason]
    share = max(0.0, 1.0 - short / way)
    text = f"Row {i} went {share:.0%} of the way to its pin. {text}. "
    if stronger < HELPS * short:
        text += f"With Pins at {strength:.3g} it would go {max(0.0, 1.0 - stronger / way):.0%}. "
    exact = _holds_exactly(session, i, placed[i]["at"])
    text += (
        "An exact pin would hold it there, at the cost of the others."
        if exact
        else "Not even an exact pin can hold it there: no map of this size reaches so far."
    )
    return {"share": share, "reason": reason, "exact": exact, "text": text}


def _holds_exactly(session: InteractiveSession, i: int, at: Any) -> bool:
    try:
        session.fork().place(i, at, hard=True)
    except ValueError:
        return False
    return True
