"""
Where phrases jump in translation
=================================

In the target language, some words swap what follows them. Counting how often each phrase jumped
cannot see these words; a margin classifier on the words around a phrase can.
"""

import matplotlib.pyplot as plt

from octavo.data import make_reordering_corpus
from octavo.plot import (
    plot_jump_distances,
    plot_phrase_alignment,
    plot_priced_confusion,
    plot_score_by_size,
)
from octavo.structured import (
    LexicalizedReordering,
    PhrasePair,
    PhraseReorderingModel,
    beam_decode,
    class_distance_from_tree,
    orientation,
    phrase_examples,
    phrase_table,
)

corpus = make_reordering_corpus(400, block_length=4, noise=0.05, random_state=0)
train, test = [part[:300] for part in corpus], [part[300:] for part in corpus]
source, target, links = (part[1] for part in corpus)
words = [PhrasePair((i, i + 1), (j, j + 1)) for i, j in sorted(links, key=lambda link: link[1])]
plot_phrase_alignment(source, target, links, words)

# %%
# Most phrases follow the one before. Five classes tell long jumps from short ones, and taking a
# jump for one of the same direction costs half as much as any other mistake.

phrases, jumps = phrase_examples(*train, max_phrase_len=4)
new, new_jumps = phrase_examples(*test, max_phrase_len=4)
model = PhraseReorderingModel(n_classes=5, max_phrase_len=4, cluster_by_source=False).fit(*train)
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
plot_jump_distances(jumps, ax=left)
plot_priced_confusion(
    orientation(new_jumps, 5),
    model.predict(new),
    class_distance_from_tree([[0, 1], 2, [3, 4]]),
    names=["far ahead", "ahead", "next", "back", "far back"],
    ax=right,
)
fig.tight_layout()

# %%
# Shares of right classes by the size of the corpus.

sizes, scores = (25, 50, 100, 200), {"margins": [], "lexicalised counts": []}
for n in sizes:
    part = [sentences[:n] for sentences in train]
    margins = PhraseReorderingModel(max_phrase_len=4, cluster_by_source=False).fit(*part)
    scores["margins"].append(margins.score(*test))
    seen, seen_jumps = phrase_examples(*part, max_phrase_len=4)
    counts = LexicalizedReordering().fit([p.phrases for p in seen], orientation(seen_jumps))
    found = counts.predict([p.phrases for p in new]) == orientation(new_jumps)
    scores["lexicalised counts"].append(found.mean())
plot_score_by_size(sizes, scores, ylabel="share of right classes")

# %%
# A small decoder puts the words of a new sentence in the right order with the model's help, where
# the distance alone would leave them as they are.

short = make_reordering_corpus(300, random_state=1)
table = phrase_table(*short, max_phrase_len=1)
jumper = PhraseReorderingModel(max_phrase_len=1, cluster_by_source=False).fit(*short)
sentence = ["swap1", "a3", "b4", "keep2", "a1", "b1"]
print(" ".join(beam_decode(sentence, table).words))
print(" ".join(beam_decode(sentence, table, reordering=jumper).words))
plt.show()
