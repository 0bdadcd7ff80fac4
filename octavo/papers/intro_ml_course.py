"""Shashua (2008): introduction to machine learning, the lecture notes of a course."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np

from octavo import bayes, cluster, decomposition, info, kernel, plot, teaching
from octavo.catalogue import Method, Paper, Trial
from octavo.claims import Run, at_least, at_most, holds, stated, within

PAPER = Paper(
    key="intro-ml-course",
    title="Introduction to Machine Learning: Lecture Notes 67577",
    authors="A. Shashua",
    year=2008,
    venue="The Hebrew University of Jerusalem",
    headlines=("gibbs-duality", "angles-between-subspaces", "rectangle-sample-size"),
    tables={
        "Section 1, base rates": "base-rate-example",
        "Section 1, Bayes risk": "least-expected-loss",
        "Section 1.2": "coin-after-one-toss coin-after-two-tosses",
        "Section 2.3": "gibbs-duality projections-are-pythagorean",
        "Section 3.3": "coins-climb",
        "Section 3.5.2": "printed-topic-update printed-update-on-rare-words topics-climb",
        "Section 4.3": "monomials-are-the-kernel",
        "Section 5.4": "distance-to-the-subspace",
        "Section 5.6": "kernel-fisher-is-fisher",
        "Section 5.9": "angles-between-subspaces",
        "Section 6.1.1": "eigenvalues-bound-partitions",
        "Section 6.3": "scaling-converges ratio-cut-eigenvectors",
        "Section 7": "rectangle-sample-size",
        "Section 8": "dimensions-of-families growth-below-sauer",
        "Section 9": "nets-leave-no-error",
    },
    refutations={
        "base-rate-example": "The notes' own numbers give 0.98 · 0.01 / (0.98 · 0.01 + 0.03 · "
        "0.99) = 0.248.",
        "printed-update-on-rare-words": "The printed update weighs a word by its count twice, "
        "which can lower the likelihood.",
    },
    methods=(
        Method(
            name="BayesRiskClassifier",
            room="bayes",
            family="decisions",
            task="decide by what mistakes cost, or decline to decide",
            summary="Wraps a classifier with probabilities and predicts what a matrix of losses "
            "makes cheapest on average; beliefs over hypotheses are updated one at a time.",
            use_when="Mistakes cost differently by class, or a human can take over at a price.",
            avoid_when="Probabilities are not calibrated and cannot be: tune a threshold on the "
            "cost itself.",
            instead="TunedThresholdClassifierCV, for two classes and no rejection.",
            peers=("scikit-learn",),
            plots=("plot_expected_cost", "plot_belief_updates"),
        ),
        Method(
            name="BernoulliMixture",
            room="bayes",
            family="discrete_mixtures",
            task="find groups or topics among binary rows and counts",
            summary="Mixtures of coins and of multinomials, and probabilistic latent semantic "
            "analysis, by EM on the stored entries of sparse tables.",
            use_when="Rows are answers, marks or words, and groups with probabilities are wanted.",
            avoid_when="Rows are real numbers, or documents are so short that a prior is needed.",
            instead="GaussianMixture for real numbers; LatentDirichletAllocation and NMF with the "
            "Kullback-Leibler loss for topics.",
            peers=("scikit-learn", "stepmix"),
            plots=("plot_likelihood_climb", "plot_latent_words"),
        ),
        Method(
            name="MaxEntDistribution",
            room="info",
            family="max_entropy",
            task="find the least committed distribution with given averages, or a table with "
            "given margins",
            summary="Gibbs distributions by Newton's method on the dual, with the direction that "
            "makes impossible averages impossible; iterative proportional fitting of tables.",
            use_when="Averages, margins or quotas are known and the distribution is not.",
            avoid_when="Rows of data are at hand: estimate the density from them.",
            instead="Nothing in scikit-learn; scipy removed its maxentropy module.",
            peers=("cvxpy",),
            plots=("plot_gibbs_distribution",),
        ),
        Method(
            name="KernelKMeans",
            room="cluster",
            family="kernel_partitions",
            task="cluster by a kernel or an affinity, and know how far from the best one is",
            summary="K-means in feature space with the spectral bound on any partition, and "
            "spectral clustering after scaling the affinity to a doubly stochastic matrix.",
            use_when="Similarity is a kernel or a graph, and up to some thousand rows.",
            avoid_when="Clusters are round and rows are vectors: k-means; very many rows: features "
            "of Nystroem first.",
            instead="KMeans, and SpectralClustering with one step of the scaling.",
            peers=("tslearn", "scikit-learn"),
            plots=("plot_scaled_affinity", "plot_affinity_eigenvalues"),
            quadratic=True,
        ),
        Method(
            name="ExactCCA",
            room="decomposition",
            family="correlations",
            task="find what two sets of variables have in common",
            summary="All canonical correlations at once by QR and SVD, prediction of one set from "
            "the other, and functions instead of directions with a kernel.",
            use_when="Two views of the same rows: questionnaires, sensors, languages.",
            avoid_when="There are more columns than rows and no ridge: everything correlates.",
            instead="CCA, which iterates for one component after another.",
            peers=("scikit-learn",),
            plots=("plot_canonical_variates",),
            quadratic=True,
        ),
        Method(
            name="KernelFisherDiscriminant",
            room="kernel",
            family="discriminants",
            task="classify, or find novel points, along directions of a kernel's feature space",
            summary="Fisher's discriminant with a kernel for any number of classes, distance from "
            "the subspace of kernel principal components, and exact polynomial features.",
            use_when="Up to some thousand rows and a boundary that is not linear; directions are "
            "to be looked at.",
            avoid_when="Very many rows: the Gram matrix is factored; support vector machines scale "
            "better.",
            instead="LinearDiscriminantAnalysis, KernelPCA without a score, PolynomialFeatures "
            "without the kernel's weights.",
            peers=("scikit-learn",),
            plots=("plot_discriminant_projections", "plot_novelty_map"),
            quadratic=True,
            trials={
                "KernelFisherDiscriminant": Trial(
                    grid=({"reg": 1e-3}, {"reg": 1e-1}, {"reg": 10.0}), row_limit=2000
                )
            },
        ),
        Method(
            name="pac_sample_size",
            room="teaching",
            family="sample_sizes",
            task="say how many examples are enough, and what a class of rules can fit",
            summary="Sample sizes and error bounds of PAC learning, shattering by linear programs, "
            "growth functions, nets, and the learner of rectangles.",
            use_when="Planning a study, teaching the theory, or checking how rich a class is.",
            avoid_when="A tight estimate of the error is wanted: hold out data; these bounds hold "
            "for every distribution and are loose.",
            instead="Nothing in scikit-learn; learning_curve measures on data at hand.",
            peers=("scipy",),
            plots=("plot_growth", "plot_sample_sizes"),
        ),
    ),
)

# Fixed before anything was run.
SEEDS = (0, 1, 2, 3, 4)
EXACT = "arithmetic of doubles"
COUNTED = "whole numbers of a finite class"
DIGITS = "three printed digits, cut or rounded"

decisions = PAPER.section(method="BayesRiskClassifier")


@decisions.claim(
    "A positive test of a kit that errs by 2 and 3 per cent means cancer, at a rate of one in a "
    "hundred, with probability 0.266"
)
@stated(0.266, "Section 1", random=False)
@within(0.001, 0.266, because=DIGITS)
def base_rate_example(run: Run) -> float:
    positive = {"cancer": 0.98, "healthy": 0.03}
    belief = bayes.SequentialBayes(
        [lambda _, p=p: np.log(p) for p in positive.values()], [0.01, 0.99]
    )
    found = float(belief.update("+").posterior_[0])
    run.note(f"0.98 · 0.01 / (0.98 · 0.01 + 0.03 · 0.99) = {0.0098 / 0.0395:.4f}")
    return found


def coin(n_heads: int) -> float:
    """Return the belief in a fair coin after heads only."""
    belief = bayes.SequentialBayes([lambda x: np.log(0.5), lambda x: np.log(0.6)], [0.75, 0.25])
    return float(belief.update_all(range(n_heads)).posterior_[0])


@decisions.claim("After one head the coin is fair with probability 0.714")
@stated(0.714, "Section 1.2", random=False)
@within(0.001, 0.714, because=DIGITS)
def coin_after_one_toss(run: Run) -> float:
    return coin(1)


@decisions.claim("After two heads with probability 0.675", 0.675, "Section 1.2", random=False)
@within(0.001, 0.675, because=DIGITS)
def coin_after_two_tosses(run: Run) -> float:
    return coin(2)


@decisions.claim(
    "No rule has a smaller expected loss than the Bayes decision, for any matrix of losses"
)
@stated("min over rules", "Section 1", kind="theorem", seeds=SEEDS)
@holds(because="all 3^4 rules on four points are tried")
def least_expected_loss(run: Run) -> float:
    from sklearn.naive_bayes import CategoricalNB

    rng = np.random.default_rng(run.seed)
    X, y = rng.integers(4, size=(300, 1)), rng.integers(3, size=300)
    loss = rng.uniform(size=(3, 3))
    model = bayes.BayesRiskClassifier(CategoricalNB(min_categories=4), loss).fit(X, y)
    points = np.arange(4)[:, None]
    posterior, chosen = model.predict_proba(points), model.predict(points)
    found = loss[chosen, :] * posterior
    best = min(
        sum(float(posterior[x] @ loss[rule[x]]) for x in range(4))
        for rule in np.ndindex(3, 3, 3, 3)
    )
    return bool(found.sum() <= best + 1e-12)


entropies = PAPER.section(where="Section 2.3", method="MaxEntDistribution", seeds=SEEDS)


@lru_cache(maxsize=8)
def projection(seed: int):
    """Return a random prior, features, attainable moments and the fit."""
    rng = np.random.default_rng(seed)
    F, prior = rng.normal(size=(60, 4)), rng.dirichlet(np.ones(60))
    p = rng.dirichlet(np.ones(60))
    return prior, F, p, info.MaxEntDistribution(F, prior).fit(p @ F)


@entropies.claim("The least relative entropy is the largest log-likelihood of the Gibbs family")
@stated(0.0)
@at_most(1e-8, because=EXACT)
def gibbs_duality(run: Run) -> float:
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    prior, F, p, model = projection(run.seed)
    b = p @ F
    # the likelihood of the family, maximised by another method in another program
    dual = minimize(lambda lam: logsumexp(F @ lam, b=prior) - lam @ b, np.zeros(4), tol=1e-14)
    return abs(model.relative_entropy_ + dual.fun)


@entropies.claim("Pythagoras: D(p‖p0) = D(p‖q) + D(q‖p0) for every p with the moments of q", 0.0)
@at_most(1e-9, because=EXACT)
def projections_are_pythagorean(run: Run) -> float:
    from scipy.special import rel_entr

    prior, _, p, model = projection(run.seed)
    whole = rel_entr(p, prior).sum()
    return abs(whole - rel_entr(p, model.prob_).sum() - rel_entr(model.prob_, prior).sum())


mixtures = PAPER.section(method="BernoulliMixture", kind="theorem", seeds=SEEDS)


@mixtures.claim(
    "EM never lowers the likelihood of two coins, with weights divided by the number of samples"
)
@stated(0.0, "Section 3.3")
@at_least(-1e-9, because="rounding of sums of a thousand logarithms")
def coins_climb(run: Run) -> float:
    from scipy.stats import binom

    rng = np.random.default_rng(run.seed)
    heads = rng.binomial(20, np.where(rng.uniform(size=200) < 0.4, 0.7, 0.4))
    counts = np.column_stack([heads, 20 - heads])
    found = []
    for n_iter in range(1, 9):  # the likelihood is scipy's, not the one that EM keeps
        with np.testing.suppress_warnings() as quiet:
            quiet.filter(UserWarning)
            model = bayes.MultinomialMixture(
                2, n_init=1, max_iter=n_iter, tol=0.0, random_state=run.seed
            ).fit(counts)
        pmf = binom.pmf(heads[:, None], 20, model.means_[:, 0])
        found.append(float(np.log(pmf @ model.weights_).sum()))
    return float(np.diff(found).min())


def topic_climb(seed: int, printed: bool, zipf: bool = False) -> float:
    """Return the smallest rise of the likelihood over EM steps written out from the notes."""
    rng = np.random.default_rng(seed)
    rate = 10.0 / np.arange(1, 13)[:, None] if zipf else 1.0
    G = rng.poisson(rate, size=(12, 8)).astype(float)  # words by documents
    G[:, G.sum(axis=0) == 0] = 1.0
    k = 3
    lam, u, v = np.full(k, 1 / k), rng.dirichlet(np.ones(12), k).T, rng.dirichlet(np.ones(8), k).T
    likelihoods = []
    for _ in range(30):
        joint = np.einsum("j,wj,dj->wdj", lam, u, v)
        total = joint.sum(axis=2)
        likelihoods.append(float((G * np.log(np.maximum(total, 1e-300))).sum()))
        q = G[:, :, None] * joint / np.maximum(total, 1e-300)[:, :, None]
        u, v, lam = q.sum(axis=1), q.sum(axis=0), q.sum(axis=(0, 1))
        if printed:  # n(r) once more
            u, v = G.sum(axis=1)[:, None] * u, G.sum(axis=0)[:, None] * v
        u, v, lam = u / u.sum(axis=0), v / v.sum(axis=0), lam / lam.sum()
    return float(np.diff(likelihoods).min())


@mixtures.claim(
    "The update that is printed for words and documents, with the factor n(r), never lowers the "
    "likelihood, on words that are all about as frequent"
)
@stated(0.0, "Section 3.5.2")
@at_least(-1e-9, because="rounding of sums of a hundred logarithms")
def printed_topic_update(run: Run) -> float:
    return topic_climb(run.seed, printed=True)


@mixtures.claim("Nor on words whose frequencies fall as 1/rank, where n(r) weighs them twice")
@stated(0.0, "Section 3.5.2")
@at_least(-1e-9, because="rounding of sums of a hundred logarithms")
def printed_update_on_rare_words(run: Run) -> float:
    return topic_climb(run.seed, printed=True, zipf=True)


@mixtures.claim("Without that factor it never falls", 0.0, "Section 3.5.2", kind="own")
@at_least(-1e-9, because="rounding of sums of a hundred logarithms")
def topics_climb(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    counts = rng.poisson(1.0, size=(20, 15))
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(UserWarning)
        model = bayes.PLSA(3, max_iter=30, tol=0.0, random_state=run.seed).fit(counts)
    run.note(f"the printed steps without n(r): {topic_climb(run.seed, printed=False):.2g}")
    return float(np.diff(model.log_likelihoods_).min())


spaces = PAPER.section(method="KernelFisherDiscriminant", seeds=SEEDS)


@spaces.claim("Weighted monomials have the inner product (xᵀy + θ)^d", 0.0, "Section 4.3")
@at_most(1e-9, because=EXACT)
def monomials_are_the_kernel(run: Run) -> float:
    from sklearn.metrics.pairwise import polynomial_kernel

    rng = np.random.default_rng(run.seed)
    X, degree, theta = rng.normal(size=(30, 3)), 1 + run.seed, float(rng.uniform(0.5, 3.0))
    Z = kernel.MonomialFeatureMap(degree, theta).fit_transform(X)
    K = polynomial_kernel(X, degree=degree, gamma=1.0, coef0=theta)
    run.note("the constant of the square is θ², of a feature θ; the notes print θ and √θ")
    return float(np.abs(Z @ Z.T - K).max() / np.abs(K).max())


@spaces.claim(
    "k(x, x) - ‖y‖² is the squared distance from the subspace, with a linear kernel that of PCA"
)
@stated(0.0, "Section 5.4")
@at_most(1e-9, because=EXACT)
def distance_to_the_subspace(run: Run) -> float:
    from sklearn.decomposition import PCA

    rng = np.random.default_rng(run.seed)
    X, new = rng.normal(size=(40, 6)), rng.normal(size=(20, 6))
    pca = PCA(3).fit(X)
    apart = ((new - pca.inverse_transform(pca.transform(new))) ** 2).sum(axis=1)
    found = -kernel.KernelPCANovelty(3, "linear").fit(X).score_samples(new)
    return float(np.abs(found - apart).max())


@spaces.claim(
    "Fisher's discriminant with a linear kernel and a vanishing ridge is Fisher's discriminant"
)
@stated(0.0, "Section 5.6", kind="own")
@at_most(1e-4, because="a ridge of 1e-6 beside scatters of hundreds")
def kernel_fisher_is_fisher(run: Run) -> float:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    rng = np.random.default_rng(run.seed)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 4)) + y[:, None] * np.array([1.0, 0.5, 0.0, -1.0])
    model = kernel.KernelFisherDiscriminant("linear", 1e-6).fit(X, y)
    ours = X.T @ model.dual_coef_[:, 0]
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).coef_[0]
    return 1.0 - abs(float(ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs)))


@PAPER.claim("Canonical correlations are the cosines of the angles between the column spaces")
@stated(0.0, "Section 5.9", method="ExactCCA", seeds=SEEDS)
@at_most(1e-8, because=EXACT)
def angles_between_subspaces(run: Run) -> float:
    from scipy.linalg import subspace_angles

    rng = np.random.default_rng(run.seed)
    shared = rng.normal(size=(100, 2))
    X = np.hstack([shared + 0.5 * rng.normal(size=(100, 2)), rng.normal(size=(100, 3))])
    Y = np.hstack([shared, rng.normal(size=(100, 2))]) @ rng.normal(size=(4, 4))
    angles = subspace_angles(X - X.mean(axis=0), Y - Y.mean(axis=0))
    found = decomposition.ExactCCA().fit(X, Y).correlations_
    return float(np.abs(np.sort(np.cos(angles))[::-1] - found).max())


partitions = PAPER.section(method="KernelKMeans", seeds=SEEDS)


@partitions.claim(
    "The sum of the largest eigenvalues of K bounds Σ (1/l_j) 1ᵀK_jj 1 of every partition"
)
@stated("largest of all partitions at most the bound", "Section 6.1.1", kind="theorem")
@holds(because="all partitions of eight points into three are tried")
def eigenvalues_bound_partitions(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    X = rng.normal(size=(8, 2))
    model = cluster.KernelKMeans(3, gamma=0.5, random_state=run.seed).fit(X)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    best = max(
        sum(K[np.ix_(part, part)].sum() / len(part) for part in blocks)
        for blocks in partitions_of_three()
    )
    run.note(f"found {model.cohesion_ / best:.4f} of the best")
    return bool(model.cohesion_ <= best + 1e-9 and best <= model.spectral_bound_ + 1e-9)


def partitions_of_three() -> list[list[list[int]]]:
    """Return all partitions of eight points into three sets."""
    found = []
    for code in range(3**7):
        labels = np.array([0, *((code // 3**i) % 3 for i in range(7))])
        seen = list(dict.fromkeys(labels.tolist()))
        if seen == [0, 1, 2]:  # each partition once: labels in order of appearance
            found.append([np.flatnonzero(labels == j).tolist() for j in range(3)])
    return found


@partitions.claim("K ← D^(-1/2) K D^(-1/2) converges to the doubly stochastic matrix of K")
@stated(0.0, "Section 6.3.2")
@at_most(1e-8, because=EXACT)
def scaling_converges(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    K = np.exp(-((rng.normal(size=(40, 1)) - rng.normal(size=(1, 40))) ** 2))
    K = K + K.T + np.eye(40)
    found, step = cluster.symmetric_sinkhorn(K), K
    for _ in range(200):
        root = 1.0 / np.sqrt(step.sum(axis=1))
        step = step * np.outer(root, root)
    return float(np.abs(found - step).max())


@partitions.claim("K - D + I has the eigenvectors of the Laplacian D - K", 0.0, "Section 6.3.1")
@at_most(1e-8, because=EXACT)
def ratio_cut_eigenvectors(run: Run) -> float:
    from scipy.sparse.csgraph import laplacian

    X = np.random.default_rng(run.seed).normal(size=(30, 2))
    model = cluster.DoublyStochasticSpectral(3, normalization="l1", random_state=0).fit(X)
    smallest = np.linalg.eigh(laplacian(model.affinity_matrix_))[1][:, :3]
    # the same space: projections onto one another
    return float(np.abs(smallest @ smallest.T - model.embedding_ @ model.embedding_.T).max())


theory = PAPER.section(method="pac_sample_size", kind="theorem")


@theory.claim(
    "(4/ε) log(4/δ) examples make the tight rectangle err by more than ε with chance δ at most"
)
@stated(0.05, "Section 7", unit="share of failures", seeds=SEEDS)
@at_most(0.05, because="δ; 200 samples a seed, and the bound is loose")
def rectangle_sample_size(run: Run) -> float:
    m = teaching.pac_sample_size("rectangle", eps=0.1, delta=0.05)
    rng = np.random.default_rng(run.seed)
    fails = 0
    for _ in range(400 if run.full else 200):
        X = rng.uniform(size=(m, 2))
        low, high = np.sort(rng.uniform(size=(2, 2)), axis=0)
        y = ((low <= X) & (high >= X)).all(axis=1)
        inside = 0.0
        if y.any() and not y.all():
            model = teaching.TightRectangle().fit(X, y)
            inside = float(np.prod(model.high_ - model.low_))
        fails += float(np.prod(high - low)) - inside > 0.1
    run.note(f"m = {m}")
    return fails / (400 if run.full else 200)


@theory.claim(
    "Intervals shatter two points and no three, rectangles four and no five, half-planes three and "
    "no four, sin(ωx) any number"
)
@stated("2, 4, 3, infinite", "Section 8")
@holds(because=COUNTED)
def dimensions_of_families(run: Run) -> float:
    diamond = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    points = np.random.default_rng(0).normal(size=(7, 2))
    fives = [points[list(c)] for c in combinations(range(7), 5)]
    fours = [points[list(c)] for c in combinations(range(7), 4)]
    x = 2.0 ** -np.arange(1, 6)  # ω of a labeling has its binary digits
    waves = []
    for code in range(32):
        labels = (code >> np.arange(5)) & 1
        omega = np.pi * (1.0 + sum((1 - y) * 2.0 ** (i + 1) for i, y in enumerate(labels)))
        waves.append(np.sin(omega * x) > 0)
    return bool(
        teaching.shatters([0.0, 1.0], "interval")
        and not teaching.shatters([0.0, 1.0, 2.0], "interval")
        and teaching.shatters(diamond, "rectangle")
        and not any(teaching.shatters(five, "rectangle") for five in fives)
        and teaching.shatters(diamond[:3], "linear")
        and not any(teaching.shatters(four, "linear") for four in fours)
        and teaching.vc_dimension(np.array(waves)) == 5
    )


@theory.claim("Sauer's lemma: a class of VC dimension d labels m points in at most Φ_d(m) ways")
@stated("Π(m) ≤ Φ_d(m)", "Theorem 10", seeds=SEEDS)
@holds(because=COUNTED)
def growth_below_sauer(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    table = rng.uniform(size=(60, 8)) < rng.uniform(0.2, 0.8)
    d = teaching.vc_dimension(table)
    run.note(f"Φ_4(10) = {teaching.sauer_bound(10, 4)}")
    return all(teaching.growth_function(table, m) <= teaching.sauer_bound(m, d) for m in range(9))


@theory.claim(
    "A sample that is an ε-net leaves no consistent hypothesis with an error of ε or more"
)
@stated("error below ε", "Section 9.1", seeds=SEEDS)
@holds(because=COUNTED)
def nets_leave_no_error(run: Run) -> float:
    rng = np.random.default_rng(run.seed)
    table = rng.uniform(size=(80, 12)) < 0.5
    target, n_nets = int(rng.integers(80)), 0
    for _ in range(100):
        chosen = rng.choice(12, size=6, replace=False)
        if not teaching.is_epsilon_net(chosen, table, 0.3, target=target):
            continue
        n_nets += 1
        consistent = (table[:, chosen] == table[target, chosen]).all(axis=1)
        if ((table != table[target]).mean(axis=1)[consistent] >= 0.3 - 1e-12).any():
            return False
    run.note(f"{n_nets} of 100 samples are nets")
    return True


@PAPER.figure(
    "Dice with means of 2.5 and 4.2 that are otherwise as even as can be",
    method="MaxEntDistribution",
)
def loaded_dice():
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    faces = np.arange(1.0, 7.0)
    for ax, mean in zip(axes, (2.5, 4.2), strict=True):
        model = info.MaxEntDistribution(faces[:, None]).fit([mean])
        plot.plot_gibbs_distribution(model, faces, ax=ax)
    return fig


@PAPER.figure("An affinity before and after scaling to row sums of one", method="KernelKMeans")
def scaled_affinity():
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    sizes = (10, 30, 60)
    X = np.vstack([rng.normal(4.0 * j, 0.5 + 0.5 * j, size=(n, 2)) for j, n in enumerate(sizes)])
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    model = cluster.DoublyStochasticSpectral(3, gamma=0.2, random_state=0).fit(X)
    plot.plot_scaled_affinity(model, scaled=False, ax=axes[0])
    plot.plot_scaled_affinity(model, ax=axes[1])
    plot.plot_affinity_eigenvalues(model, ax=axes[2])
    return fig


@PAPER.figure(
    "Growth of intervals on ten points, and examples that a rectangle needs",
    method="pac_sample_size",
)
def growth_and_sizes():
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    intervals = teaching.ConceptClass.intervals(10)
    counts = [teaching.growth_function(intervals, m) for m in range(9)]
    plot.plot_growth(counts, [teaching.sauer_bound(m, 2) for m in range(9)], ax=axes[0])
    plot.plot_sample_sizes(
        lambda e, d: teaching.pac_sample_size("rectangle", eps=e, delta=d), ax=axes[1]
    )
    return fig
