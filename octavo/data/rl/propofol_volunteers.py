"""The tables that Moore et al. (2014) print of fifteen volunteers under closed-loop propofol."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["PropofolTables", "load_propofol_volunteers"]

KEPT = ("id", "order", "duration", "mdpe", "mdape", "wobble", "divergence", "rmse", "controlled")
CHANGED = ("id", "t_sp", "t_peak", "t_ss", "bis_peak")

# Table 4; sex, years, kg, cm, kg/m²
WHO = """
1 male 21 84.0 183 25.1
2 male 18 63.6 173 21.2
3 male 20 69.0 178 21.8
4 male 20 77.0 185 22.5
5 male 18 61.4 175 20.1
6 female 19 50.0 152 21.5
7 male 22 77.3 178 24.4
8 female 26 56.8 163 21.4
9 female 19 61.4 163 23.1
10 male 21 75.0 188 21.2
11 male 19 70.5 180 21.7
12 male 25 82.0 183 24.5
13 male 20 61.4 175 20.0
14 male 24 60.0 173 20.1
15 female 19 59.1 168 20.9
"""
TARGET_40 = """
1 2 39.5 -3.5 11.0 10.5 -0.0002 6.5 56.8
2 1 26.1 17.2 17.2 7.2 0.0002 9.4 27.7
3 2 25.4 -0.1 11.2 11.1 0.0002 5.9 59.5
4 1 28.2 2.0 9.8 9.9 -0.0002 5.6 60.9
5 2 30.3 5.5 15.0 15.5 0.0004 8.4 42.2
6 1 36.3 1.8 6.8 7.0 -0.0001 4.9 77.6
7 2 30.2 -4.8 7.0 6.6 0.0004 5.1 69.8
8 1 30.2 -2.0 6.5 6.0 0.0002 3.9 81.3
9 2 30.8 2.0 10.2 10.5 0.0002 6.0 59.6
10 1 35.4 5.1 10.5 10.4 -0.0006 7.6 59.2
11 2 17.2 0.5 6.5 6.2 0.0004 4.5 72.0
12 1 29.6 -1.2 5.7 5.5 0.0001 3.6 84.3
13 1 32.9 2.2 8.8 7.8 -0.0005 5.4 67.2
14 1 30.6 -0.3 8.0 8.1 -0.0003 5.0 69.8
15 2 30.5 -6.0 8.8 7.0 0.0001 5.1 67.6
"""
TARGET_60 = """
1 1 27.7 -1.0 1.4 1.5 0.0003 3.5 89.8
2 2 29.2 1.3 2.8 2.5 0.0001 3.1 90.3
3 1 24.6 0.7 3.2 3.2 0.0000 2.7 94.9
4 2 30.7 0.7 2.5 2.2 0.0000 2.2 97.8
5 1 30.6 -1.8 4.2 3.8 0.0003 4.6 77.4
6 2 32.2 0.6 4.0 3.8 0.0001 4.5 79.6
7 1 29.0 -0.7 2.8 2.7 0.0001 2.8 91.1
8 2 33.4 -0.7 4.5 4.7 0.0001 5.2 71.4
9 1 27.7 2.8 4.3 3.0 0.0000 4.0 80.8
10 2 30.0 0.2 3.5 3.5 0.0000 3.7 82.5
11 1 35.0 0.2 1.8 2.0 -0.0002 3.8 89.1
12 2 31.0 1.7 3.3 2.7 -0.0001 3.1 89.5
13 2 30.6 0.8 2.3 2.2 -0.0001 2.6 92.1
14 2 29.5 -2.3 6.7 5.7 0.0000 5.8 59.7
15 1 30.4 0.2 4.0 3.8 0.0001 4.2 79.5
"""
AGGREGATE = """
1 67.2 -2.5 7.0 6.8 0.0000 5.3 70.5
2 55.3 8.8 9.6 4.7 0.0001 6.1 60.8
3 50.0 0.3 7.3 7.2 0.0001 4.3 76.9
4 59.0 1.3 6.0 5.9 -0.0001 3.8 80.1
5 60.9 1.8 9.6 9.6 0.0004 6.5 59.9
6 68.6 1.2 5.5 5.5 -0.0000 4.8 78.5
7 59.2 -2.8 5.0 4.7 0.0003 4.0 80.2
8 63.6 -1.3 5.4 5.3 0.0002 4.6 76.1
9 58.6 2.4 7.4 6.9 0.0001 5.1 69.6
10 65.4 2.9 7.3 7.2 -0.0003 5.8 69.9
11 52.2 0.3 3.4 3.4 -0.0000 4.0 83.4
12 60.6 0.2 4.5 4.1 0.0000 3.3 87.0
13 63.5 1.6 5.7 5.1 -0.0003 4.1 79.2
14 60.1 -1.3 7.3 6.9 -0.0002 5.4 64.9
15 60.9 -2.9 6.4 5.4 0.0001 4.6 73.5
"""
DOWN = """
1 2.04 4.62 7.62 11.13
3 2.46 4.21 4.79 6.49
5 1.47 2.30 3.13 14.87
7 2.84 4.42 5.92 5.13
9 2.61 3.61 4.44 10.88
11 3.24 3.74 4.24 3.14
15 2.67 4.76 6.34 6.12
"""
UP = """
2 7.13 8.13 8.13 1.29
4 11.25 12.09 14.25 14.22
6 11.19 11.94 16.61 13.06
8 11.39 12.36 14.86 15.91
10 10.79 12.54 14.20 13.66
12 10.84 12.17 14.26 10.36
13 6.58 7.58 7.58 2.10
14 8.59 8.92 9.59 0.38
"""
FAST = (2, 13, 14)  # Table 12, who woke without help
# Table 3: median and quartiles of 1,000 simulated patients
SIMULATED = {
    "mdpe": (-0.17, -0.50, 0.25), "mdape": (3.33, 3.17, 3.50), "wobble": (3.30, 3.13, 3.50),
    "divergence": (0.001, -0.001, 0.003), "rmse": (2.79, 2.58, 3.07),
    "controlled": (82.4, 80.6, 84.0),
}  # fmt: skip


class PropofolTables(NamedTuple):
    """Printed tables as dicts of columns; simulation and published figures, not medical advice.

    `volunteers` is Table 4, `target_40`, `target_60` and `aggregate` Tables 6 to 8, `down` and `up`
    Tables 10 and 11, with the `fast` volunteers of Table 12 in `up`; `simulated`
    is Table 3 (median, lower and upper quartile).
    """

    volunteers: dict[str, np.ndarray]
    target_40: dict[str, np.ndarray]
    target_60: dict[str, np.ndarray]
    aggregate: dict[str, np.ndarray]
    down: dict[str, np.ndarray]
    up: dict[str, np.ndarray]
    simulated: dict[str, tuple[float, float, float]]


def _columns(text: str, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    rows: list[list[Any]] = [line.split() for line in text.split("\n") if line]
    out: dict[str, np.ndarray] = {}
    for j, name in enumerate(names):
        column = [row[j] for row in rows]
        if name == "sex":
            out[name] = np.array(column)
        else:
            out[name] = np.array(column, dtype=int if name in ("id", "order") else float)
    return out


def load_propofol_volunteers() -> PropofolTables:
    """Return the tables of the study of propofol in fifteen volunteers.

    Returns
    -------
    PropofolTables
        Times in minutes, errors in per cent, BIS in its units.

    References
    ----------
    .. [1] Moore et al. (2014). Reinforcement learning for closed-loop propofol anesthesia: a study
       in human volunteers. JMLR 15:655-696.

    Examples
    --------
    >>> from octavo.data import load_propofol_volunteers
    >>> tables = load_propofol_volunteers()
    >>> print(tables.down["t_sp"].mean().round(2), tables.target_60["mdape"].mean().round(2))
    2.48 3.42
    """
    up = _columns(UP, CHANGED)
    up["fast"] = np.isin(up["id"], FAST)
    return PropofolTables(
        _columns(WHO, ("id", "sex", "age", "weight", "height", "bmi")),
        _columns(TARGET_40, KEPT),
        _columns(TARGET_60, KEPT),
        _columns(AGGREGATE, tuple(name for name in KEPT if name != "order")),
        _columns(DOWN, CHANGED),
        up,
        dict(SIMULATED),
    )
