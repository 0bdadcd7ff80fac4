"""
A linear model over shards
==========================

Simulated clicks are hashed with all pairs of their categories, dealt into four shards on disk and
fitted without ever being in memory together: one online pass, an average by confidence, then
L-BFGS to the optimum.
"""

import tempfile

import matplotlib.pyplot as plt
from sklearn.metrics import average_precision_score

from octavo.data import make_clicks, make_splice_sites
from octavo.linear import (
    ClusterModel,
    ConjunctionHasher,
    HybridLinearClassifier,
    WeightedDegreeFeatures,
    write_shards,
)
from octavo.plot import plot_suboptimality, plot_time_split

X, y, X_later, y_later = make_clicks(10_000, 5_000, random_state=0)
hasher = ConjunctionHasher(n_bits=16).fit(X)
print(f"{hasher.n_distinct_} features, load factor {hasher.load_factor_:.2f}")

curves = {}
with tempfile.TemporaryDirectory() as folder:
    shards = write_shards(folder, hasher.transform(X), y, n_shards=4, random_state=0)
    for name, passes in (("L-BFGS", 0), ("hybrid", 1)):
        model = HybridLinearClassifier(alpha=10.0, n_online_passes=passes, max_iter=200)
        model.fit(shards)
        path = model.objectives_
        curves[name] = ([passes + 1 + k for k in range(len(path))], path)
scores = model.decision_function(hasher.transform(X_later))
print(f"auPRC on a later day: {average_precision_score(y_later, scores):.3f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
plot_suboptimality(curves, min(path.min() for _, path in curves.values()), ax=left)
plot_time_split(model.timing_, ax=right)
fig.tight_layout()

# %%
# Where the time went, on DNA sequences with 654 features each; and what the paper's splice data
# (165 billion nonzeros, 11.7 million weights, 15 passes) would take on machines with cores like
# this one, joined by a network of 1 Gb/s. The paper's own times are 3,677 s on 100 machines and
# 813 s on 1,000.

sequences, sites = make_splice_sites(4_000, random_state=0)
features = WeightedDegreeFeatures(degree=12, n_bits=6).fit_transform(sequences)
model = HybridLinearClassifier(alpha=10.0, n_shards=2, max_iter=300).fit(features, sites)
for phase, row in model.timing_.summary().items():
    speed = row["nonzeros_per_second"] / 1e6
    print(f"{phase:10s} {row['calls']:4d} calls {row['wall']:8.3f} s {speed:6.0f} M nonzeros/s")
machine = ClusterModel.from_timing(model.timing_)._replace(seconds_per_byte=8e-9)
for n in (10, 100, 1000):
    time = machine.predict(1.65e11, 11_725_480, n, pipelined=True)
    print(
        f"{n:5d} machines: {time.total:6.0f} s; a pass computes {time.median:.2f} s, waits "
        f"{time.slowest - time.median:.2f} s, communicates {time.communication:.2f} s"
    )
plt.show()
