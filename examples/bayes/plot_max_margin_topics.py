"""
Topics that know the label
==========================

Documents in which one small topic tells the class, and many large ones do not. Five topics that are
learned from words alone describe what is large; five that are learned with the label keep room
for what tells.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import LinearSVC

from octavo.bayes import BayesianLinearSVM, GibbsLDA, GibbsMedLDAClassifier, topic_report
from octavo.data import make_labelled_topics
from octavo.plot import (
    plot_class_topics,
    plot_document_topics,
    plot_topic_sweeps,
    plot_topic_weights,
    plot_topic_words,
)

X, y = make_labelled_topics(900, random_state=0)
names = np.array([f"w{i}" for i in range(X.shape[1])])
train, test = slice(0, 500), slice(500, 900)

for n_topics in (5, 10, 20):
    model = GibbsMedLDAClassifier(n_topics, margin=16, random_state=0).fit(X[train], y[train])
    plain = GibbsLDA(n_topics, n_iter=100, random_state=0).fit(X[train])
    machine = LinearSVC(C=10.0).fit(plain.doc_topic_, y[train])
    print(
        n_topics,
        round(model.score(X[test], y[test]), 3),
        round(machine.score(plain.transform(X[test]), y[test]), 3),
    )

# %%
# What a topic is about, and what it says of the class.

model = GibbsMedLDAClassifier(5, margin=16, random_state=0).fit(X[train], y[train])
report = topic_report(model, names, 5)
for topic in report:
    print(topic.topic, f"{topic.weights[0]:+.1f}", round(topic.share, 2), topic.words)

fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
plot_topic_words(model, report[0].topic, names, ax=axes[0])
plot_class_topics(model, ax=axes[1])
plot_topic_sweeps(model, ax=axes[2])

# %%
# Four classes share ten topics: which topic speaks for which class, and one document word by word.

X, y = make_labelled_topics(600, n_classes=4, random_state=1)
model = GibbsMedLDAClassifier(10, random_state=0).fit(X[:400], y[:400])
print(round(model.score(X[400:], y[400:]), 3))
fig, (left, right) = plt.subplots(1, 2, figsize=(13, 4), layout="constrained")
plot_topic_weights(model, names, n=2, ax=left)
plot_document_topics(model, X[400:401], names, ax=right)

# %%
# The same machine on features that are observed: weights with their uncertainty.

machine = BayesianLinearSVM(n_iter=500, burn_in=100, random_state=0)
machine.fit(model.transform(X[:200])[:, :3], y[:200] == 0)
print(machine.coef_.round(2), np.sqrt(np.diag(machine.coef_cov_)).round(2))
plt.show()
