"""Perturbed leaders take games, matrices of losses."""

from octavo.online import PROT, FollowPerturbedLeader
from tests.conformance.cases.adahedge import game_case

CASES = [
    game_case(lambda: PROT(v0=100.0), ("a", 0.0)),
    game_case(lambda: PROT(v0=100.0, derandomize=False, random_state=0), ("perturbation", "twice")),
    game_case(lambda: FollowPerturbedLeader(0.5), ("epsilon", "fast")),
]
