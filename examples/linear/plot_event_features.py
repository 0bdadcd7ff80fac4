"""
Click fraud from a raw log
==========================

Three windows of clicks, two weeks apart, in which the habits of frauds change. The log of each is
turned into 257 features a publisher; a model of the first window is simplified on the second and
judged, with an interval, on the third.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import ExtraTreesClassifier

from octavo.data import make_click_fraud
from octavo.linear import (
    BackwardElimination,
    ClickLog,
    average_precision_interval,
    drift_report,
    larc257,
)
from octavo.plot import plot_click_timeline, plot_elimination, plot_precision_recall

logs = {}
for k, drift in enumerate((0.0, 0.2, 0.4)):
    clicks, publishers = make_click_fraud(400, 1, 0.08, drift, random_state=k)
    logs[("train", "validation", "test")[k]] = ClickLog.from_frame(clicks, publishers)
features = larc257().fit(logs["train"])
X = {name: features.transform(log) for name, log in logs.items()}
y = {name: log.labels() for name, log in logs.items()}
print(logs["train"], X["train"].shape)

trees = ExtraTreesClassifier(100, max_features=28, random_state=0)
kept = BackwardElimination(trees, min_features=28, step=20)
kept.fit(X["train"], y["train"], X["validation"], y["validation"])
score = kept.estimator_.predict_proba(kept.transform(X["test"]))[:, 1]
print(f"{kept.n_features_} features kept")
print("average precision:", average_precision_interval(y["test"], score, random_state=0))
print("drifted:", drift_report(X["train"], X["test"]).drifted()[:5])

suspect = X["test"].index[score.argmax()]
fig, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4))
plot_click_timeline(logs["test"], suspect, ax=left)
plot_elimination(kept.path_, ax=middle)
plot_precision_recall(y["test"], {"extra trees": score}, ax=right)
fig.tight_layout()
plt.show()
