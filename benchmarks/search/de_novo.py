"""Kernels of graphs beside grakel's, on the same graphs, to the same numbers."""

from __future__ import annotations

import networkx as nx
import numpy as np

from benchmarks.harness import Contest
from octavo.search import UnlabeledGraphSampler, random_walk_kernel, weisfeiler_lehman_kernel

N = 150


def graphs():
    rng, sampler = np.random.default_rng(0), UnlabeledGraphSampler(10)
    return [sampler(None, rng) for _ in range(N)]


def as_grakel(sample):
    from grakel import Graph

    return [
        Graph(nx.to_numpy_array(g, weight=None).astype(int), node_labels=dict.fromkeys(g, "v"))
        for g in sample
    ]


def walks_by_grakel(sample):
    from grakel import RandomWalk

    kernel = RandomWalk(lamda=0.01, kernel_type="geometric", method_type="fast")
    return kernel.fit_transform(as_grakel(sample))


def subtrees_by_grakel(sample):
    from grakel import VertexHistogram, WeisfeilerLehman

    kernel = WeisfeilerLehman(n_iter=3, base_graph_kernel=VertexHistogram)
    return kernel.fit_transform(as_grakel(sample))


def largest_difference(_, answers):
    ours = answers["octavo"]
    found = [
        f"{name} {np.abs(K / ours - 1.0).max():.1e}"
        for name, K in answers.items()
        if name != "octavo"
    ]
    return f"Largest relative difference: {', '.join(found) or 'none to compare'}."


CONTESTS = [
    Contest(
        name="common random walks",
        problem=f"all pairs of {N} graphs of ten vertices, decay 0.01",
        setup=graphs,
        solvers={"octavo": random_walk_kernel, "grakel": walks_by_grakel},
        agree=largest_difference,
        limit="products of matrices of pairs of graphs",
    ),
    Contest(
        name="common subtree patterns",
        problem=f"all pairs of {N} graphs of ten vertices, heights 0 to 3",
        setup=graphs,
        solvers={"octavo": weisfeiler_lehman_kernel, "grakel": subtrees_by_grakel},
        agree=largest_difference,
        limit="products of matrices of pairs of graphs",
    ),
]
