"""
One pass, no step to tune, and a certificate
============================================

A stream of labelled rows is learnt in one pass. The mean of the iterates comes as near to the
optimum as the number of rows allows, for a wide range of step lengths, and a certificate says how
near.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import make_logistic_stream
from octavo.linear import AveragedSGDClassifier, asgd_bounds, local_conditioning
from octavo.plot import plot_certificate, plot_excess_risk, plot_iterate_path, plot_step_sensitivity

fresh, _, theta = make_logistic_stream(20_000, 5, random_state=100)


def risk(coef):
    """Return how far a model is above the best one, on fresh rows."""
    u, best = fresh @ coef, fresh @ theta
    p = 1 / (1 + np.exp(-best))
    return np.mean(np.logaddexp(0, u) - np.logaddexp(0, best) - p * (u - best))


def learnt(seed, n, **options):
    X, y, _ = make_logistic_stream(n, 5, random_state=seed)
    return AveragedSGDClassifier(fit_intercept=False, shuffle=False, **options).fit(X, y)


sizes = [100, 1000, 10_000]
curves = {
    name: [[risk(learnt(seed, n, **options).coef_[0]) for seed in range(10)] for n in sizes]
    for name, options in {
        "proved step": {"schedule": "constant", "c": 0.5},
        "default": {},
    }.items()
}
bound = [asgd_bounds(n, R=1.0, dist=np.linalg.norm(theta))["corollary_2"] for n in sizes]
plot_excess_risk(sizes, curves, lines={"Corollary 2": bound}, dimension=5)

# %%
# Steps that are too long cost the mean far less than they cost the newest iterate.

lengths = [0.125, 0.5, 2.0, 8.0, 32.0]
models = {c: [learnt(seed, 5000, c=c) for seed in range(8)] for c in lengths}
plot_step_sensitivity(
    lengths,
    {c: [risk(m.coef_[0]) for m in found] for c, found in models.items()},
    {c: [risk(m.last_coef_[0]) for m in found] for c, found in models.items()},
)

# %%
# Along the stream the certificate becomes finite, and then bounds what is still missing.

X, y, _ = make_logistic_stream(30_000, 5, random_state=3)
model = AveragedSGDClassifier(fit_intercept=False, shuffle=False)
rows, bounds, gaps = [], [], []
for start in range(0, 30_000, 2000):
    part = slice(start, start + 2000)
    model.partial_fit(X[part], y[part], classes=[0, 1])
    found = local_conditioning(model, X, y)
    rows.append(model.n_seen_)
    bounds.append(found.excess_bound)
    gaps.append(found.predicted_excess * (1 / found.efficiency - 1))
print(f"{found.regime} regime, mu = {found.mu:.3f}, efficiency {found.efficiency:.2f}")
print(f"rows for an excess risk of 1e-5: {found.samples_for(1e-5):.0f}")
plot_certificate(rows, bounds, gaps)

# %%
# Two weights: the iterates wander, their mean settles.

X, y, theta = make_logistic_stream(2000, 2, coef=[2.0, -1.0], random_state=1)
model = AveragedSGDClassifier(c=8.0, fit_intercept=False, shuffle=False)
iterates, means = [], []
for k in range(0, 2000, 5):
    model.partial_fit(X[k : k + 5], y[k : k + 5], classes=[0, 1])
    iterates.append(model.last_coef_[0])
    means.append(model.coef_[0])
plot_iterate_path(iterates, means, optimum=theta)
plt.show()
