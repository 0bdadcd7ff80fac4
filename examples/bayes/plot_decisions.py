"""
Decide by what mistakes cost
============================

To overlook a malignant tumour costs far more than a false alarm, and a doctor can look again at a
price. The threshold that follows from the losses is where the cost on new patients is lowest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from octavo.bayes import BayesRiskClassifier, SequentialBayes
from octavo.plot import plot_belief_updates, plot_expected_cost

X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant
X, X_new, y, y_new = train_test_split(X[:, :4], y, test_size=0.5, random_state=0)
inner = make_pipeline(StandardScaler(), LogisticRegression())
model = BayesRiskClassifier(inner, [[0, 1], [10, 0]]).fit(X, y)
doctor = BayesRiskClassifier(inner, [[0, 1], [10, 0]], reject_cost=0.4).fit(X, y)
print("mean loss", round(model.mean_loss(X_new, y_new), 3))
print("with a second look", round(doctor.mean_loss(X_new, y_new), 3))
print("left to the doctor", int((doctor.predict(X_new) == -1).sum()), "of", len(y_new))

# %%
# A coin that may be fair or biased: each toss moves the belief.

rng = np.random.default_rng(0)
tosses = rng.uniform(size=600) < 0.6
laws = [lambda h, p=p: np.log(p if h else 1 - p) for p in (0.5, 0.6, 0.7)]
belief = SequentialBayes(laws, [0.75, 0.15, 0.1]).update_all(tosses)
print("after 600 tosses", belief.posterior_.round(3))

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
plot_expected_cost(model, X_new, y_new, ax=axes[0])
plot_belief_updates(belief, names=["fair", "0.6", "0.7"], ax=axes[1])
plt.show()
