"""
Groups and topics of counts
===========================

Documents with five topics: a mixture gives each document one, PLSA lets it mix. EM climbs from
several starts, and ends where it ends.
"""

import matplotlib.pyplot as plt

from octavo.bayes import PLSA, MultinomialMixture
from octavo.data import make_labelled_topics
from octavo.plot import plot_latent_words, plot_likelihood_climb

X, y = make_labelled_topics(300, n_topics=5, n_words=150, random_state=0)
starts = {f"start {seed}": PLSA(5, random_state=seed).fit(X) for seed in range(4)}
for name, model in starts.items():
    print(name, round(model.log_likelihood_, 1), "after", model.n_iter_, "iterations")
best = max(starts.values(), key=lambda model: model.log_likelihood_)

# %%
# One topic per document explains the same words less well.

mixture = MultinomialMixture(5, random_state=0).fit(X)
print("weights", mixture.weights_.round(2))
print("log-likelihood of a word, PLSA", round(best.score(X), 3))

fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
plot_likelihood_climb(starts, ax=axes[0])
plot_latent_words(best, 0, ax=axes[1])
plot_latent_words(mixture, 0, ax=axes[2])
plt.show()
