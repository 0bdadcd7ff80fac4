"""
Between Viterbi and posterior decoding
======================================

A six-state model of protein structure, and one sequence drawn from it. Viterbi sees few of the
structures; posterior decoding sees more but jumps where the model cannot. `HybridDecoder` moves
from one to the other.
"""

import matplotlib.pyplot as plt
import numpy as np

from octavo.data import protein_structure_hmm
from octavo.plot import plot_decoding_tradeoff, plot_path_family, plot_posterior_path
from octavo.sequence import CountHMM, HybridDecoder, HybridDecoderCV, simulate_hmm

model = protein_structure_hmm()
X, truth = simulate_hmm(model, 149, rng=7)
alphas = [0, 0.01, 0.1, 0.5, 0.9, 1]
decoder = HybridDecoder(model)
paths = decoder.decode_family(X, alphas)
plot_path_family(
    paths,
    [f"alpha = {alpha:g}" for alpha in alphas],
    truth=truth,
    states=model.states,
    blank=2,
)

# %%
# The posterior marginals explain why: much mass lies on states that no single path collects.

plot_posterior_path(
    decoder.predict_proba(X), {"alpha = 0": paths[0], "alpha = 0.5": paths[3]}, states=model.states
)

# %%
# Over many sequences, errors rise and paths become more probable along alpha.

lengths = np.full(200, 167)
X, states = simulate_hmm(model, lengths, rng=0)
alphas = np.array([0.001, 0.1, 0.5, 0.8, 0.9, 0.99, 1])
curves = {}
for method in ("hybrid-pvd", "hybrid-pmap"):
    family = HybridDecoder(model, method).decode_family(X, alphas, lengths)
    chance = [np.exp(-decoder.score_path(X, path, lengths)["Rinf_bar"]) for path in family]
    curves[method] = ((family != states).mean(axis=1), chance)
plot_decoding_tradeoff(curves, alphas=alphas)

# %%
# With labelled sequences the best alpha for any score is found by cross-validation, the model
# being estimated without the sequences it is judged on.

search = HybridDecoderCV(CountHMM(20, pseudocount=0.1), scoring="balanced_accuracy")
search.fit(X, states, lengths)
print(f"alpha = {search.alpha_:g}, balanced accuracy {search.best_score_:.3f}")
plt.show()
