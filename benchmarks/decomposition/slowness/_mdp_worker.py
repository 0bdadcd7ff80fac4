"""Run by an interpreter that has MDP: for each line read (task, series, answer), do the task.

A series is read once and kept. What is printed when a task is done is the processor time so far.

MDP 3.6 needs NumPy below 1.24 and therefore an environment of its own; nothing here imports octavo.
"""

import sys
import time
from functools import lru_cache

import mdp
import numpy as np


def polynomials(degree):
    return (mdp.nodes.PolynomialExpansionNode, (degree,), {})


load = lru_cache(maxsize=2)(np.load)


def work(task, source, target):
    X = load(source)
    if task == "xsfa":
        flow = mdp.Flow(
            [mdp.nodes.XSFANode(polynomials(3), polynomials(4), svd=True, output_dim=6)]
        )
        flow.train(X)
        answer = flow(X)
    else:
        node = mdp.nodes.SFA2Node() if task == "poly2" else mdp.nodes.SFANode()
        node.train(X)
        node.stop_training()
        answer = node.d
    np.save(target, answer)


for line in sys.stdin:
    work(*line.split())
    print(time.process_time(), flush=True)
