"""
Cutting citations into fields
=============================

A reference is a sequence of words; its fields are segments that follow each other in few orders.
`HighOrderSemiCRF` learns the words, the lengths and the orders together. Beside it stands a tagger
of BIO labels, and a test of whether the difference could be chance.
"""

import matplotlib.pyplot as plt

from octavo.data import make_citations
from octavo.plot import plot_label_marginals, plot_top_patterns
from octavo.sequence import (
    HighOrderCRF,
    HighOrderSemiCRF,
    approximate_randomization,
    bio_to_segments,
    segment_f1,
    segments_to_bio,
)

X, segments = make_citations(250, random_state=0)
train, test = slice(0, 150), slice(150, None)
cutter = HighOrderSemiCRF(2, segment_features=["length"], tol=1e-4)
found = cutter.fit(X[train], segments[train]).predict(X[test])
tagger = HighOrderCRF(1, tol=1e-4).fit(X[train], [segments_to_bio(s) for s in segments[train]])
tagged = [bio_to_segments(tags) for tags in tagger.predict(X[test])]
for name, answer in (("segments, order 2", found), ("BIO tags, order 1", tagged)):
    print(f"{name}: F1 {segment_f1(segments[test], answer):.3f}")
result = approximate_randomization("segment_f1", segments[test], found, tagged, random_state=0)
print(f"difference {result.difference:.3f}, p = {result.pvalue:.4f}")

# %%
# One reference: the probability of every field at every word, and the decoded segments.

words = [item["word"] for item in X[150]]
marginals = cutter.predict_marginals([X[150]])[0]
plot_label_marginals(marginals, cutter.classes_, path=found[0], tokens=words)

# %%
# The orders of fields that the model likes and dislikes most.

plot_top_patterns(cutter, top=16)
plt.show()
