"""
Find many planar graphs among all graphs
========================================

Of all graphs with ten vertices one in eleven is connected and planar. Searches that learn from
their questions find several times as many. Those that go for the most likely find the most; how
soon the targets of each cover the space of all targets is another matter.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import is_connected_planar
from octavo.plot import plot_construction, plot_dispersion, plot_found_graphs
from octavo.search import (
    ArgmaxSearch,
    DeNovoSearch,
    KNNActiveSearch,
    MonteCarloSearch,
    UnlabeledGraphSampler,
    construction_curve,
    dispersion_curve,
    random_walk_kernel,
)

sampler = UnlabeledGraphSampler(10)


def oracle(graphs):
    return [int(is_connected_planar(g)) for g in graphs]


rng = np.random.default_rng(0)
sample = [sampler(None, rng) for _ in range(3000)]
labels = oracle(sample)
targets = [g for g, y in zip(sample, labels) if y]
others = [g for g, y in zip(sample, labels) if not y]
print("targets among proposals:", len(targets) / len(sample))

# %%
# All searches know five targets and five others, and ask 150 questions.

start = (targets[:5] + others[:5], [1] * 5 + [0] * 5)
searches = {
    "DeNovoSearch": DeNovoSearch(oracle, sampler, random_walk_kernel, random_state=0),
    "ArgmaxSearch": ArgmaxSearch(
        oracle, sampler, random_walk_kernel, batch=10, pool_size=300, random_state=0
    ),
    "KNNActiveSearch": KNNActiveSearch(
        oracle, sampler, random_walk_kernel, pool_size=1500, random_state=0
    ),
    "MonteCarloSearch": MonteCarloSearch(oracle, sampler, random_state=0),
}
built, spread = {}, {}
for name, search in searches.items():
    search.run(150, start=start)
    built[name] = construction_curve(search.states_, search.labels_)
    spread[name] = dispersion_curve(
        search.states_, search.labels_, targets[5:], random_walk_kernel, random_state=0
    )
    print(f"{name}: {built[name][-1]} different targets, mean spread {spread[name].mean():.2f}")

fig, axes = plt.subplots(1, 2, figsize=(11, 4))
plot_construction(built, rate=len(targets) / len(sample), ax=axes[0])
plot_dispersion(spread, ax=axes[1])

# %%
# What was found.

plot_found_graphs(searches["DeNovoSearch"].found_[:24])
plt.show()
