"""
Topics by their anchor words
============================

A simulated corpus of six topics: which words give each topic away, and which document belongs to
which topic? Nothing is random, and the answer comes from one decomposition.
"""

import matplotlib.pyplot as plt
from sklearn.metrics import normalized_mutual_info_score

from octavo.data import make_anchor_corpus
from octavo.decomposition import AnchorTopics
from octavo.plot import plot_anchor_words

corpus = make_anchor_corpus(1_000, 1_000, n_topics=6, random_state=0)
model = AnchorTopics(6).fit(corpus.counts)
score = normalized_mutual_info_score(corpus.labels, model.labels_)
print(f"normalised mutual information with the main topics: {score:.2f}")
plot_anchor_words(model)
plt.show()
