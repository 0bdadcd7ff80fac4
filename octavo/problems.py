"""What people come with: problems in their words, and the way from each to a method.

A problem is a question, two or three steps of a decision, what scikit-learn has for it, the words
that people search by, and an example whose picture stands beside it. Names in backticks are
public names of octavo. The page *Which method?*, the table of the README and ``octavo list WORDS``
are made of these records; every method of the catalogue stands in at least one, and every problem
in one task (a test says which does not).
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

__all__ = ["PROBLEMS", "TASKS", "Problem", "problems_of", "words_of"]


@dataclass(frozen=True)
class Problem:
    """A question that a user has.

    Parameters
    ----------
    key : str
        Short name, the anchor of its section.
    question : str
        The problem as one would say it.
    steps : tuple of str
        The decision: one sentence for each branch, with the names it leads to in backticks.
    elsewhere : str
        What scikit-learn or another package has, and when that is enough.
    words : tuple of str
        What people search by.
    picture : str
        An example of the gallery, ``room/script``.
    """

    key: str
    question: str
    steps: tuple[str, ...]
    elsewhere: str
    words: tuple[str, ...]
    picture: str

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The public names that the steps mention, in their order, once each."""
        return tuple(dict.fromkeys(re.findall(r"`(\w+)`", " ".join(self.steps))))


PROBLEMS = (
    Problem(
        "games",
        "I have results of games or contests, and want ratings",
        (
            "Results come one after another, between players or teams: `OnlineRanker` rates with "
            "uncertainty in closed form.",
            "Strengths drift and every match counts at once: `DynamicRankingModel`.",
            "All comparisons are at hand and order in time does not matter: `bradley_terry`, "
            "`plackett_luce`.",
        ),
        "Nothing in scikit-learn; Elo by hand has no uncertainty and no teams.",
        ("elo", "trueskill", "glicko", "skill rating", "matchmaking", "leaderboard", "league"),
        "ranking/plot_ratings",
    ),
    Problem(
        "rankings",
        "Several sources rank the same things, and I want one ranking",
        (
            "No truth is known: `MultinomialPreferenceModel` gives each item a doubt and each "
            "source a weight; `kemeny`, `borda` and other voting rules stand beside it.",
            "Some queries have relevance labels: `CRFRankAggregator` learns whom to trust.",
        ),
        "Nothing in scikit-learn; reciprocal rank fusion (`reciprocal_rank_fusion` here) is what "
        "search engines do by hand.",
        (
            "rank aggregation",
            "rank fusion",
            "meta search",
            "hybrid retrieval",
            "voting",
            "preference",
            "learning to rank",
            "ndcg",
            "crowdsourcing",
        ),
        "ranking/plot_aggregation",
    ),
    Problem(
        "streams",
        "Rows come one at a time, or do not fit into memory",
        (
            "One pass, features of unequal frequency, nothing to tune: `AROW` and its kin keep a "
            "confidence for each weight.",
            "Probabilities, and a certificate of how far the fit is from the best: "
            "`AveragedSGDClassifier`, `AveragedSGDRegressor`; with a kernel: `KernelAveragedSGD`.",
            "As fast as the data can be read: `PassiveAggressive`. Which rule is best on your "
            "stream: `compare_online`.",
            "Full accuracy on data over several files or machines: `HybridLinearClassifier`.",
        ),
        "`SGDClassifier` with `partial_fit`, if you can tune its rate.",
        (
            "online learning",
            "streaming",
            "concept drift",
            "out of core",
            "incremental",
            "big data",
            "dask",
            "distributed",
            "sparse text",
            "click-through",
        ),
        "online/plot_one_pass",
    ),
    Problem(
        "experts",
        "Several forecasters or models, and I must choose again every day",
        (
            "Losses are bounded and shown after each round: `AdaHedge`, or `FlipFlop` if easy days "
            "are common; `ExpertEnsembleRegressor` does it with estimators.",
            "Losses have no bound, such as returns of assets: `PROT`.",
        ),
        "Stacking and voting, which need all data beforehand.",
        (
            "expert advice",
            "prediction with experts",
            "hedge",
            "bandit",
            "regret",
            "model averaging",
            "forecast combination",
            "portfolio",
            "trading",
        ),
        "online/plot_experts",
    ),
    Problem(
        "classes",
        "A table with classes, and a kernel machine would suit it",
        (
            "Up to some ten thousand rows: `NoOffsetSVC`, and `NoOffsetSVCCV` for a whole grid of "
            "regularisation and widths at the price of a few fits.",
            "More rows: `EnsembleSVC` (samples that vote), `AESVC` (a few rows that stand for all) "
            "or `NystroemLandmarks` in front of a linear model.",
            "Probabilities that can be trusted, from hundreds of rows: "
            "`SparseBayesKernelClassifier`, `GPProbitClassifier`.",
        ),
        "`SVC`, `GaussianProcessClassifier`; run `octavo compare` to see which is better on your "
        "table.",
        (
            "svm",
            "support vector machine",
            "classification",
            "hyper-parameter",
            "grid search",
            "gaussian process",
            "calibration",
            "large scale",
            "nystrom",
            "kernel approximation",
        ),
        "svm/plot_no_offset_estimator",
    ),
    Problem(
        "few",
        "Few labels, classes of unequal size, or errors of unequal cost",
        (
            "Only positives are labelled: `PUBaggingSVC`.",
            "All classes have a few labels, and many rows have none: "
            "`SemiSupervisedGenerativeClassifier` uses them without the bias of EM; "
            "`unlabelled_value` says whether they help.",
            "One class must be right with a guarantee: `BiasedMPM`; both, whatever the "
            "distribution: `MinimaxProbabilityMachine`.",
            "So few rows that means and covariances are uncertain themselves: "
            "`HighProbabilityMPM`.",
        ),
        "`class_weight` and `TunedThresholdClassifierCV`, which promise nothing beforehand.",
        (
            "imbalanced",
            "imbalance",
            "rare class",
            "positive unlabelled",
            "semi-supervised",
            "unlabeled",
            "cost sensitive",
            "robust classification",
            "worst case",
            "small data",
        ),
        "svm/plot_minimax",
    ),
    Problem(
        "views",
        "Several kinds of features or kernels for the same rows",
        (
            "How much does each kernel matter, from sparse to uniform weights: `LpMKLClassifier`.",
            "Kernels come in families, and none of the families should be lost, or most of them: "
            "`VSKLClassifier`, `VSKLRegressor`.",
            "Leave out whole groups of columns, or kernels, in a regression: `GroupARDRegression`, "
            "`GroupLassoEB`.",
        ),
        "`FeatureUnion`, which weighs nothing.",
        (
            "multiple kernel learning",
            "multi-view",
            "multimodal",
            "feature groups",
            "group lasso",
            "automatic relevance determination",
            "data fusion",
        ),
        "kernel/plot_mkl",
    ),
    Problem(
        "regression",
        "A number to predict, and ridge or boosting does not say enough",
        (
            "A learned kernel, linear in the rows: `GreedyFourierRegressor`.",
            "A kernel, few rows, and none to hold out: `KernelGDRegressor` and "
            "`StoppedKernelRidge` stop by a rule.",
            "Curves with bands, also for the variance: `HeteroscedasticAdditiveRegressor`.",
            "Few of many columns matter: `DantzigSelector` (exact path), `GroupARDRegression` "
            "(groups), `ImpulseResponseSelector` (lags of inputs).",
        ),
        "`Ridge`, `LassoCV`, `KernelRidge`, boosting: run `octavo compare`.",
        (
            "regression",
            "gam",
            "generalised additive model",
            "splines",
            "heteroscedastic",
            "sparse regression",
            "feature selection",
            "random features",
            "early stopping",
            "kernel ridge",
            "system identification",
        ),
        "kernel/plot_fourier",
    ),
    Problem(
        "conditional-density",
        "The whole law of a response given x, with bands, groups and missing entries",
        (
            "Numbers: `EnrichedDPRegressor` gives density, quantiles and credible bands from few "
            "local regressions; `DPMixtureRegressor` is the plain mixture, for few columns.",
            "Classes with credible probabilities: `EnrichedDPClassifier`.",
        ),
        "`QuantileRegressor` or quantile boosting, one level at a time and without groups.",
        (
            "density regression",
            "conditional density",
            "prediction interval",
            "credible interval",
            "dirichlet process",
            "bayesian nonparametrics",
            "mixture of regressions",
            "missing covariates",
            "imputation",
        ),
        "bayes/plot_enriched_dp",
    ),
    Problem(
        "responses",
        "Many features, few rows, and several responses or tasks",
        (
            "Few features, each for those responses that need it, nothing to tune: "
            "`MICRegressor`, `MICClassifier`, `MICSelector`.",
            "One response, features in groups of different sizes: `MICGroup`, "
            "`GroupARDRegression`.",
            "Dozens of related classification tasks, most with few rows: `TransFeat`.",
            "A table for each site, endpoint or customer, and the same few columns or kernels "
            "matter in all: `MEDMultitaskSVC`, `MEDMultitaskSVR`; one common model with "
            "exceptions: `MEDAdaptivePoolingSVC`.",
        ),
        "`MultiTaskLassoCV`, which keeps a feature for all responses or none.",
        (
            "multi-task learning",
            "transfer learning",
            "feature selection",
            "description length",
            "mdl",
            "biomarkers",
            "gene expression",
            "endpoints",
            "sites",
            "pooling",
            "variable selection",
            "sparse",
        ),
        "linear/plot_code_length",
    ),
    Problem(
        "label-sets",
        "Each row has several labels at once, and they hang together",
        (
            "Whole label sets should be right, and which labels depend on which is to be learned: "
            "`SpanningTreeMultiLabel`, with a certificate for every predicted set.",
            "As baselines, random trees: `RandomSpanningTreeMultiLabel`, `MaxMarginTrees`; a tree "
            "of the labels alone: `chow_liu_label_tree`.",
        ),
        "`MultiOutputClassifier` where labels are independent given the features, "
        "`ClassifierChain` where their order is known.",
        (
            "multi-label",
            "multilabel",
            "label set",
            "tagging",
            "structured svm",
            "spanning tree",
            "label dependence",
            "exact match",
        ),
        "structured/plot_label_trees",
    ),
    Problem(
        "grouped",
        "Measurements belong to patients, schools or items",
        (
            "Counts, yes/no or numbers with random intercepts and slopes, in milliseconds: "
            "`VariationalMixedModel`; formulas as in lme4 by `fit_mixed_formula`.",
            "Groups lie on a map or a line: `BesagSpatialModel`, `LatentGaussianModel`.",
        ),
        "Nothing; statsmodels' `BayesMixedGLM` has far too narrow posteriors.",
        (
            "mixed model",
            "random effects",
            "hierarchical model",
            "multilevel",
            "glmm",
            "lme4",
            "repeated measures",
            "longitudinal",
            "panel",
        ),
        "bayes/plot_mixed_models",
    ),
    Problem(
        "fields",
        "Counts, events or returns over time or space, with a hidden field behind them",
        (
            "A series of returns: `StochasticVolatility`. Points on a map: "
            "`LogGaussianCoxProcess`. Districts: `BesagSpatialModel`.",
            "Your own prior and likelihood: `LatentGaussianModel`, which gives marginals without "
            "sampling.",
        ),
        "Nothing; PyMC samples for minutes, R has INLA.",
        (
            "inla",
            "spatial",
            "disease mapping",
            "point process",
            "volatility",
            "time series",
            "bayesian",
            "posterior",
            "expectation propagation",
            "laplace approximation",
        ),
        "bayes/plot_latent_gaussian",
    ),
    Problem(
        "events",
        "I have a log of events, and want to know which accounts are fraudulent",
        (
            "A row an account, from raw clicks, calls or transactions: `ClickLog` and "
            "`EventFeatures`, with `larc257` to begin with.",
            "Few frauds among many: `StratifiedBootstrapForest`, `MetaCost`, `APBlender`; fewer "
            "features by `BackwardElimination`; what changed since by `drift_report`.",
        ),
        "tsfresh makes features of single series; imbalanced-learn resamples tables.",
        (
            "click fraud",
            "fraud detection",
            "bots",
            "abuse",
            "event log",
            "feature engineering",
            "imbalanced classes",
            "class imbalance",
            "rare events",
            "concept drift",
            "average precision",
        ),
        "linear/plot_event_features",
    ),
    Problem(
        "survival",
        "Time until an event, and some rows are censored",
        (
            "Effects that are not proportional or not linear, curves, or interval censoring: "
            "`MinlipSurvival`; few of many features: `MinlipL1`.",
            "Hazard ratios with intervals: `CoxRegression`; more features than rows: "
            "`PrincipalComponentCox`, `PLSCox`.",
            "Judge and compare: `concordance_index`, `kaplan_meier`, `logrank_test`, "
            "`time_dependent_roc`. Ordered classes, not times: `MinlipOrdinal`, `OrdinalSVM`.",
        ),
        "Nothing; lifelines has Cox, scikit-survival forests and one such machine.",
        (
            "survival analysis",
            "censored",
            "time to event",
            "hazard",
            "cox",
            "kaplan-meier",
            "churn",
            "prognosis",
            "clinical trial",
            "ordinal regression",
            "reliability",
        ),
        "survival/plot_minlip",
    ),
    Problem(
        "secrets",
        "A model of secret records is to be published",
        (
            "A linear classifier: `PrivateLinearClassifier`; with a kernel: "
            "`PrivateKernelClassifier`.",
            "Its parameters are to be chosen privately too: `PrivateModelSelector`; what was spent "
            "and lost: `PrivacyLedger`, `privacy_audit`.",
        ),
        "Nothing in scikit-learn; diffprivlib has other mechanisms.",
        ("differential privacy", "privacy", "epsilon", "anonymisation", "gdpr", "medical records"),
        "linear/plot_private",
    ),
    Problem(
        "networks",
        "A network from samples: which variables depend on which",
        (
            "Numbers, one network: `CLIME`; weak edges beside strong ones: `JunctionTreeUGMS`. "
            "Several groups: `FusedJointGraphicalLasso` (a few "
            "edges differ), `PerturbedNodeJointGraphicalLasso` (a few nodes are rewired), "
            "`CohubNodeJointGraphicalLasso` (shared hubs).",
            "Categories, with directions and proof: `BayesianNetworkStructureLearner`; from one "
            "step to the next: `DynamicBNLearner`; interactions of many categories without "
            "directions, as a density: `DTSLMarkovNetwork`.",
            "step to the next: `DynamicBNLearner`.",
            "Numbers, with directions and their probabilities: `SLIM`; cause or effect of two "
            "variables: `causal_direction`.",
            "Nothing Gaussian, numbers and categories, with a density: `ForestDensityEstimator`; "
            "the Gaussian beside it: `RefitGraphicalLasso`.",
        ),
        "`GraphicalLassoCV` for one network of numbers.",
        (
            "graphical lasso",
            "gaussian graphical model",
            "precision matrix",
            "inverse covariance",
            "causal discovery",
            "causal order",
            "lingam",
            "bayesian network",
            "markov network",
            "log-linear model",
            "structure learning",
            "gene network",
            "differential network",
        ),
        "graphical/plot_joint_glasso_node_penalties",
    ),
    Problem(
        "densities",
        "How likely is a row, when many columns are not Gaussian",
        (
            "Scores of rows, new rows and missing entries in tens to thousands of columns: "
            "`ForestDensityEstimator`; how much each pair of columns tells: "
            "`mutual_information_matrix`.",
            "Close to a sparse Gaussian: `RefitGraphicalLasso`.",
        ),
        "`KernelDensity` up to some five columns, `GaussianMixture` for clouds.",
        (
            "density estimation",
            "kernel density",
            "anomaly score",
            "synthetic data",
            "imputation",
            "chow-liu tree",
            "mutual information",
            "nonparametric",
        ),
        "graphical/plot_forests",
    ),
    Problem(
        "joint-tails",
        "Several variables are extreme together, and I want the probability of that",
        (
            "A table and a chain, a tree or a graph of neighbours: `CDNDensityEstimator`.",
            "Factors that you choose, ordinal variables, conditionals given values or bounds: "
            "`CDN` with `CopulaCDF`, `GaussianCDF`, `LogisticCDF` and `TableCDF`.",
            "An ordered label from features: `CumulativeLinkRegression`; teams from their players' "
            "scores: `CDNTeamRanker`.",
        ),
        "`GaussianMixture` and `KernelDensity` know no graph and no tails.",
        (
            "copula",
            "extremes",
            "tail dependence",
            "joint exceedance",
            "cdf",
            "cumulative distribution",
            "ordinal regression",
            "proportional odds",
            "risk",
        ),
        "graphical/plot_cumulative_networks",
    ),
    Problem(
        "readable",
        "A classifier that a person can read",
        (
            "Categorical features, arcs that explain each other: `TANClassifier`.",
            "Combinations of many 0/1 features that mark a class, of any order: "
            "`RandomIntersectionTrees`, `RITClassifier`.",
            "Numbers, with a relevance for each: `SparseBayesKernelClassifier` with `ard=True`.",
        ),
        "Decision trees and `CategoricalNB`.",
        (
            "interpretable",
            "explainable",
            "naive bayes",
            "tree augmented",
            "categorical features",
            "interactions",
            "association rules",
            "frequent itemsets",
            "market basket",
        ),
        "graphical/plot_networks_tree_classifier",
    ),
    Problem(
        "priced-mistakes",
        "Some mistakes cost more than others",
        (
            "Classes with an order, a taxonomy or a table of prices, rows sparse and many: "
            "`StructuredMarginClassifier`, with prices from `class_distance_from_tree` or "
            "`ordinal_class_distance`.",
            "A baseline that trains each class without rivals: `MaximumMarginRegression`.",
            "Where phrases move in translation: `PhraseReorderingModel`, on alignments of "
            "`IBMAligner` or `read_pharaoh`; counts alone: `LexicalizedReordering`.",
        ),
        "`LinearSVC` with `multi_class='crammer_singer'` where all mistakes cost the same.",
        (
            "cost-sensitive",
            "misclassification cost",
            "taxonomy",
            "ordinal classes",
            "crammer singer",
            "structured svm",
            "word alignment",
            "phrase reordering",
            "machine translation",
        ),
        "structured/plot_margins",
    ),
    Problem(
        "dependence",
        "Does A depend on B, and how strongly",
        (
            "Any kind of dependence, no bandwidth: `DistanceCorrelation`; with kernels, also on "
            "texts or graphs: `HSIC`.",
            "In nats: `mutual_info`. Whatever the margins: `SchweizerWolffSigma`; rising together: "
            "`SpearmanRho1`.",
            "Robustly between two signals: `Correntropy`.",
        ),
        "`mutual_info_regression`, one column at a time.",
        (
            "independence test",
            "correlation",
            "mutual information",
            "nonlinear dependence",
            "feature screening",
            "copula",
            "distance correlation",
        ),
        "info/plot_dependence",
    ),
    Problem(
        "two-samples",
        "How far apart are two samples, and how much does a sample tell",
        (
            "A distance that needs no density: `MMD`, `EnergyDistance`.",
            "Kullback-Leibler, Rényi and other divergences: `divergence`; in closed form with "
            "kernels: `CauchySchwarzDivergence`. Entropy: `entropy`.",
            "A classifier suits the samples, or a lower bound is wanted: `CostCurveDivergence`. "
            "Probabilities are known: `CsiszarDivergence`.",
            "Tell the two apart as well: `WitnessClassifier`.",
            "Is an estimate to be believed at your sample size: `quick_test`.",
        ),
        "Nothing; scipy has tests in one dimension.",
        (
            "two-sample test",
            "drift detection",
            "covariate shift",
            "kl divergence",
            "entropy",
            "wasserstein",
            "information theory",
            "distribution shift",
        ),
        "info/plot_divergences_kernels",
    ),
    Problem(
        "known-averages",
        "I know averages, margins or quotas, and want the distribution or the table",
        (
            "Averages of features on finitely many points: `MaxEntDistribution`; nearest to a "
            "given distribution in one call: `i_projection`.",
            "A table whose margins must agree with others: `ipf`.",
            "Averages that cannot be: `InfeasibleConstraints` says in which direction; slack comes "
            "as near as it may.",
        ),
        "Nothing in scikit-learn; a general convex solver such as cvxpy for small problems.",
        (
            "maximum entropy",
            "maxent",
            "gibbs distribution",
            "iterative proportional fitting",
            "raking",
            "survey weights",
            "margins",
            "iterative scaling",
        ),
        "info/plot_max_entropy",
    ),
    Problem(
        "decide-by-loss",
        "Each kind of mistake has its price, and some cases should go to a human",
        (
            "A matrix of losses, with or without rejecting: `BayesRiskClassifier` around any "
            "classifier with calibrated probabilities.",
            "Evidence comes in one piece after another: `SequentialBayes`.",
        ),
        "`TunedThresholdClassifierCV` for two classes and one cost.",
        ("cost matrix", "loss matrix", "reject option", "bayes decision", "misclassification cost"),
        "bayes/plot_decisions",
    ),
    Problem(
        "binary-groups",
        "My rows are yes-or-no answers or counts, and I look for groups or topics",
        (
            "Zeros and ones: `BernoulliMixture`. Counts from one group each: `MultinomialMixture`.",
            "Documents that mix topics: `PLSA`.",
        ),
        "`LatentDirichletAllocation` and `NMF` for topics; `GaussianMixture` for real numbers.",
        ("latent class analysis", "plsa", "topic model", "bernoulli mixture", "questionnaire"),
        "bayes/plot_discrete_mixtures",
    ),
    Problem(
        "kernel-clusters",
        "Similarity is a kernel or a graph, and I want a given number of clusters",
        (
            "With a bound on how far from the best: `KernelKMeans`.",
            "Clusters of odd shapes or very different sizes: `DoublyStochasticSpectral`; the "
            "scaling alone: `symmetric_sinkhorn`.",
        ),
        "`SpectralClustering` takes one step of the scaling; `KMeans` has no kernel.",
        ("kernel k-means", "spectral clustering", "ratio cut", "normalized cut", "sinkhorn"),
        "cluster/plot_kernel_partitions",
    ),
    Problem(
        "two-views",
        "I have two sets of variables on the same rows, and want what they share",
        (
            "Directions, all at once, and prediction of one from the other: `ExactCCA`.",
            "Functions instead of directions: `KernelCCA`, with a ridge chosen on held-out rows.",
        ),
        "`CCA` of scikit-learn finds the same directions one by one.",
        ("canonical correlation", "cca", "multi-view", "principal angles"),
        "decomposition/plot_correlations",
    ),
    Problem(
        "kernel-directions",
        "I want directions of a kernel's feature space: to separate classes, or to find novelties",
        (
            "Classes: `KernelFisherDiscriminant`. Points that do not belong: `KernelPCANovelty`.",
            "A polynomial kernel whose weights can be read: `MonomialFeatureMap`.",
        ),
        "`LinearDiscriminantAnalysis`, `KernelPCA` and `OneClassSVM`.",
        ("kernel fisher", "kda", "kernel pca", "novelty detection", "polynomial features"),
        "kernel/plot_discriminants",
    ),
    Problem(
        "sample-size",
        "How many examples does learning take, and how much can a class of rules fit",
        (
            "Numbers of examples and errors that are left: `pac_sample_size`, `pac_error_bound`.",
            "What a class can fit: `shatters`, `vc_dimension`, `growth_function`.",
        ),
        "`learning_curve` measures on data at hand, without a guarantee.",
        ("pac learning", "sample complexity", "vc dimension", "shattering", "sauer lemma"),
        "teaching/plot_sample_sizes",
    ),
    Problem(
        "costs",
        "Mistakes of two kinds cost differently, and I want to judge a classifier by that",
        (
            "Probabilities, by the costs that matter: `ProperLoss` makes a scorer from a weight "
            "over costs.",
            "Scores, over all costs at once: `risk_curve`, and `weighted_risk` in place of the "
            "AUC.",
        ),
        "`log_loss`, `brier_score_loss`, `roc_auc_score`, whose weights over costs are fixed or "
        "left to the data; `TunedThresholdClassifierCV` for one known cost.",
        (
            "cost-sensitive",
            "cost curve",
            "proper scoring rule",
            "custom loss",
            "auc alternative",
            "roc curve",
            "calibration",
            "surrogate loss",
        ),
        "info/plot_binary_experiments",
    ),
    Problem(
        "sets",
        "Each row is a set of points, an image to align, or a distribution",
        (
            "Classify or regress on samples: `distribution_kernel` with any kernel machine.",
            "Align two images: `register_images`.",
        ),
        "Nothing.",
        ("bag of points", "multiple instance", "distribution regression", "image registration"),
        "info/plot_sample_kernels",
    ),
    Problem(
        "grammars",
        "Sentences of tags or symbols, and I want their grammar without any trees",
        (
            "Which tags govern which: `DMV`, by EM or with few kinds of dependencies; trees from "
            "files by `read_conllu`, judged by `attachment_score`.",
            "Hidden tags of words: `SparseTagHMM`; the penalty for a model of your own: "
            "`L1LinfPosteriorRegularizer`.",
        ),
        "Nothing; stanza or spaCy elsewhere, where trees exist to learn from.",
        (
            "grammar induction",
            "dependency parsing",
            "unsupervised parsing",
            "posterior regularization",
            "part of speech",
            "treebank",
            "conllu",
        ),
        "structured/plot_grammars",
    ),
    Problem(
        "search",
        "Search without gradients",
        (
            "A function of numbers, noisy or rugged: `minimize_nes` (`XNES`, and `SNES` from a "
            "hundred variables on).",
            "Hyper-parameters of an estimator: `NESSearchCV`; with some twenty fits to spend, and "
            "to learn which of them matter, `ScreenedSearchCV`.",
            "Settings of anything slow, a simulator or a learner: `response_surface_search`, or by "
            "hand `FactorialDesign`, `screen` and `steepest_ascent`.",
        ),
        "`RandomizedSearchCV`, `HalvingRandomSearchCV`; cma and optuna elsewhere.",
        (
            "black-box optimisation",
            "evolution strategy",
            "cma-es",
            "hyper-parameter",
            "hyperparameter tuning",
            "derivative-free",
            "design of experiments",
            "fractional factorial",
            "response surface",
            "screening",
            "sensitivity",
            "neuroevolution",
        ),
        "search/plot_evolution",
    ),
    Problem(
        "de-novo",
        "I can propose objects at random and test them at a price, and want many that pass",
        (
            "Many different ones, from a space that nobody can list: `DeNovoSearch`, with a "
            "proposal (`UnlabeledGraphSampler`, `SparseVectorSampler`, `SubstituentSampler` or "
            "your own) and a kernel (`random_walk_kernel`, `weisfeiler_lehman_kernel`, "
            "`relevance_gaussian_kernel`).",
            "As many as possible from a pool, alike or not: `KNNActiveSearch`.",
            "Draws from a law over objects: `MetropolisHastings`. How good a search was: "
            "`construction_curve`, `dispersion_curve`.",
        ),
        "Nothing in scikit-learn proposes objects; Bayesian optimisers look for one best.",
        (
            "active search",
            "de novo design",
            "drug design",
            "molecules",
            "graph kernel",
            "random graphs",
            "metropolis-hastings",
            "recipes",
        ),
        "search/plot_de_novo",
    ),
    Problem(
        "policies",
        "What is a policy worth, from logged transitions",
        (
            "Few features, every transition counts: `LSTD`; with error bars: `GPTD`; more features "
            "than data: `lasso_td`.",
            "Very many features, a stream: `TDC`. Consistent with the Bellman equation: `BRM`.",
            "Features: `RBFGridFeatures`. What the methods tend to: `lstd_limit`; known models and "
            "problems: `FiniteMDP`, `make_boyan`, `make_garnet`.",
        ),
        "Nothing in scikit-learn.",
        (
            "reinforcement learning",
            "policy evaluation",
            "off-policy",
            "value function",
            "temporal difference",
            "td learning",
            "markov decision process",
        ),
        "rl/plot_evaluators_least_squares_td",
    ),
    Problem(
        "policy-search",
        "Tune a controller when every trial is expensive",
        (
            "A few dozen trials: `TrajectoryBO`, with a learnt simulator (`LinearWorldModel`) or "
            "by what policies do (`BehaviourKernel`).",
            "Hundreds to thousands of episodes: `LSPI`, `QLearningCMAC`, `DynaQ`, `OLPOMDP`.",
            "To try them on: `MountainCar`, `Acrobot`, `CartPole`, `PlanarArm`, `Bicycle`.",
        ),
        "Nothing in scikit-learn; botorch has the optimiser without trajectories.",
        (
            "policy search",
            "bayesian optimisation",
            "bayesian optimization",
            "controller tuning",
            "robot",
            "few episodes",
            "mountain car",
        ),
        "rl/plot_policy_search",
    ),
    Problem(
        "tagging",
        "Label every element of a sequence, or cut it into segments",
        (
            "Labels are known in training: `HighOrderCRF`; whole segments with lengths: "
            "`HighOrderSemiCRF`.",
            "States are hidden and an HMM is at hand: `HybridDecoder` decodes between Viterbi and "
            "posterior paths.",
        ),
        "Nothing; python-crfsuite has first order.",
        (
            "named entity recognition",
            "sequence labelling",
            "pos tagging",
            "conditional random field",
            "segmentation",
            "viterbi",
            "hidden markov model",
            "gene finding",
            "chunking",
        ),
        "sequence/plot_crf_high_order_crf",
    ),
    Problem(
        "any-loss-outputs",
        "Label sequences or grids under any loss, or within a time budget",
        (
            "`OutputSpaceSearchClassifier` starts from a classifier's own output, tries "
            "corrections and picks by a learned cost of any order, within a step or time budget.",
            "`HCSearchClassifier` has one function to guide the search and another to choose; "
            "`search_report` tells which of the two to improve.",
            "`RecurrentClassifier` labels cell after cell, without search.",
        ),
        "`ClassifierChain` for a fixed number of labels; nothing for sequences.",
        (
            "structured prediction",
            "structured output",
            "f1 loss",
            "anytime prediction",
            "limited discrepancy search",
            "beam search",
            "grid labelling",
            "image patches",
            "handwriting recognition",
            "imitation learning",
            "dagger",
            "searn",
        ),
        "structured/plot_output_search",
    ),
    Problem(
        "sequence-clusters",
        "Group sequences, or models of them",
        (
            "Sequences: `HMMMixture`; with classes: `HMMMixtureClassifier`.",
            "Fitted HMMs: `HMMClustering`. Gaussian mixtures: `GMMReduction`.",
        ),
        "Nothing for sequences.",
        ("time series clustering", "motion", "music tagging", "hmm mixture", "model reduction"),
        "sequence/plot_hmm_mixtures_clustering",
    ),
    Problem(
        "vector-series",
        "Score, fill in, predict or generate vector time series",
        (
            "Channels go missing or frames look odd: `CRBM`.",
            "Series come in styles that should be chosen or blended: `FCRBM`.",
            "Only the next frames of a nearly linear series: `VectorAutoRegression`.",
        ),
        "Nothing.",
        (
            "motion capture",
            "sensor imputation",
            "missing channels",
            "multivariate time series",
            "restricted boltzmann machine",
            "generate time series",
            "vector autoregression",
        ),
        "sequence/plot_conditional_rbm",
    ),
    Problem(
        "outliers",
        "Outliers spoil PCA or a covariance",
        (
            "Whole rows are garbage: `GeometricMedianSubspace`.",
            "Single entries are: `principal_component_pursuit`.",
            "Heavy tails: `tyler_shape`, `maronna_scatter`.",
        ),
        "`MinCovDet`, for few columns.",
        (
            "robust pca",
            "robust covariance",
            "anomaly detection",
            "outlier",
            "corrupted data",
            "low rank plus sparse",
            "background subtraction",
        ),
        "decomposition/plot_gms",
    ),
    Problem(
        "parts",
        "Rows are mixtures: find the pure parts, topics or sources",
        (
            "Some rows are pure: `EllipsoidalRoundingNMF`, `SuccessiveProjection`, `XRay`. "
            "Documents: `AnchorTopics`.",
            "Some rows are pure, single entries are wrong, or there are outliers, in up to some "
            "thousand rows: `SeparableNMFLP`.",
            "Sources are independent, also as groups: `IndependentSubspaceAnalysis`.",
            "Each row sees the sources at other times or places: `AnechoicMixture`.",
            "Smooth signals behind an unknown nonlinear map: `XSFA`.",
            "The smallest ellipsoid around points: `min_volume_ellipsoid`.",
        ),
        "`NMF`, `LatentDirichletAllocation`, `FastICA`.",
        (
            "nmf",
            "topic model",
            "hyperspectral unmixing",
            "endmember",
            "blind source separation",
            "ica",
            "archetypes",
            "optimal design",
            "time delays",
            "muscle synergies",
            "shifted spectra",
            "nonlinear mixture",
        ),
        "decomposition/plot_separable_rounding",
    ),
    Problem(
        "labelled-documents",
        "I have documents with a label, and want topics that explain it",
        (
            "A class: `GibbsMedLDAClassifier`; a score: `GibbsMedLDARegressor`; several labels, "
            "some of them unknown: `GibbsMedLDAMultilabel`.",
            "No label: `GibbsLDA`, or `AnchorTopics` where each topic has a word of its own.",
            "Features are observed and weights need their uncertainty: `BayesianLinearSVM`, "
            "`BayesianLinearSVR`.",
        ),
        "`LatentDirichletAllocation` before a `LinearSVC`: its topics know nothing of the label.",
        (
            "supervised topic model",
            "supervised lda",
            "text classification",
            "survey comments",
            "reviews",
            "bag of words",
            "explainable text",
            "bayesian svm",
        ),
        "bayes/plot_max_margin_topics",
    ),
    Problem(
        "hidden-causes",
        "I have a questionnaire or fault codes, and want the hidden causes behind the answers",
        (
            "Answers, several causes at once, their number unknown: `IBPCategorical`; many rows: "
            "`engine='variational'`.",
            "Numbers in place of answers: `IBPLinearGaussian`.",
            "What a cause changes and which go together: `comorbidity_report`.",
        ),
        "`FactorAnalysis`, whose factors are graded and whose answers are numbers.",
        (
            "indian buffet process",
            "latent features",
            "comorbidity",
            "questionnaire",
            "symptoms",
            "fault codes",
        ),
        "bayes/plot_buffet",
    ),
    Problem(
        "slow",
        "Find what changes slowly behind fast measurements: states, positions, wear",
        (
            "The slowest functions of a series, also of a stream: `SFA`.",
            "Several slow signals that were mixed by an unknown map: `XSFA`.",
        ),
        "`PCA`, which looks for variance, not for slowness.",
        (
            "slow feature analysis",
            "time series",
            "unsupervised",
            "sensor",
            "drift",
            "driving force",
        ),
        "decomposition/plot_slowness_spectrum",
    ),
    Problem(
        "clusters",
        "Group rows, or find out whether a clustering method can be trusted",
        (
            "Any shape, in few columns, with rows that belong nowhere: "
            "`LevelSetSpectralClustering`; `scale_path` and `level_tree` show how many clusters "
            "there are at which scale and level.",
            "Any shape, very many rows: `fast_spectral_clusters`.",
            "Which algorithm finds clusters that overlap so much: `ClusteringReferee` and "
            "`make_overlap_mixture`.",
        ),
        "`KMeans`, `HDBSCAN`, `SpectralClustering`, `GaussianMixture`.",
        (
            "clustering",
            "spectral clustering",
            "density clustering",
            "dbscan",
            "noise",
            "cluster tree",
            "cluster overlap",
            "benchmark",
            "simulation study",
        ),
        "cluster/plot_referee",
    ),
    Problem(
        "places",
        "Segment a series, an image or a map, the number of segments unknown",
        (
            "One data set whose segments may come back: `LogisticStickBreakingMixture`; numbers, "
            "codes, counts or all of them.",
            "Several series or images with segment types in common: `HierarchicalLSBP`; "
            "`kl_similarity` and `rank_similar` compare them.",
            "Pictures: `SuperpixelFeatures` makes the rows. Round blobs with soft borders: "
            "`KernelStickBreakingMixture`.",
        ),
        "`BayesianGaussianMixture`, which ignores places; hidden Markov models for one series.",
        (
            "segmentation",
            "change point",
            "regime",
            "diarization",
            "spatial clustering",
            "spatial transcriptomics",
            "superpixel",
            "image segmentation",
            "nonparametric bayes",
            "stick breaking",
            "dirichlet process",
        ),
        "bayes/plot_stick_breaking",
    ),
    Problem(
        "jumps",
        "Give every pixel, region or moment an ordered label: smooth, but for jumps",
        (
            "Costs of labels on any graph or image: `PairwiseMRF` (or `grid_mrf`) and "
            "`minimize_mrf`, with a lower bound of all energies.",
            "A noisy image or signal on a graph: `TruncatedMRFDenoiser`. Two views of a scene: "
            "`StereoMatcher`.",
            "Predictions of a classifier of ordered classes, in time or space: `MRFLabelSmoother`.",
        ),
        "Nothing in scikit-learn; PyMaxflow and gco have alpha-expansion, which offers one label "
        "at a time.",
        (
            "markov random field",
            "energy minimization",
            "graph cut",
            "max flow",
            "min cut",
            "alpha expansion",
            "image denoising",
            "stereo",
            "segmentation",
            "trw-s",
            "belief propagation",
            "smoothing",
        ),
        "graphical/plot_energies",
    ),
    Problem(
        "communities",
        "Find communities of a network, of any size, and know what the quality function promises",
        (
            "Clusters that do not depend on the rest of the network: `GraphClustering` with "
            "`AdaptiveScaleModularity`, and `advise_scale` for its parameters.",
            "Modularity, Potts models or cuts with one fast search: `GraphClustering` with "
            "`Modularity` or `ConstantPotts`.",
            "A quality function of your own: `check_axioms` finds graphs on which it misbehaves.",
        ),
        "`SpectralClustering(affinity='precomputed')` for a known number of clusters.",
        (
            "community detection",
            "graph clustering",
            "network",
            "modularity",
            "louvain",
            "leiden",
            "resolution limit",
            "constant potts",
            "normalized cut",
        ),
        "cluster/plot_communities",
    ),
    Problem(
        "recordings",
        "Find unusual recordings among many: hearts, breathing, machines, without labels",
        (
            "Days of cycles of several shapes: `CycleSegmenter` cuts, `MaxMinSymbolizer` finds "
            "prototypes, `SymbolicMismatch` compares, `MismatchOutlierDetector` flags.",
            "How much sooner the flagged have events: `risk_report`.",
        ),
        "`LocalOutlierFactor` and `OneClassSVM` on features that you know to matter.",
        (
            "anomaly detection",
            "outlier",
            "ecg",
            "heart rate variability",
            "dynamic time warping",
            "dtw",
            "time series",
            "predictive maintenance",
            "risk stratification",
            "hazard ratio",
        ),
        "survival/plot_mismatch",
    ),
    Problem(
        "distances",
        "I know which things are alike, and want a distance that says so",
        (
            "Labels or must/cannot pairs, and features up to 100,000: `LowRankMahalanobis` learns "
            "a distance of low rank; a stream of targets: `OnlineFixedRankPSD`.",
            "A kernel matrix to improve, no new items: `LowRankKernelLearner`; targets for "
            "quadratic forms: `FixedRankPSDRegressor`.",
            "A map that follows dissimilarities while they change: `OnlineMDS`.",
            "Labelled histograms (bags of words, topics, colours, compositions) whose bins are "
            "related: `GroundMetricLearner` learns how; a table of dissimilarities that should be "
            "a metric: `metric_nearness`.",
            "Answers such as 'these two are more alike than those two', and several kinds of "
            "features: `MultipleKernelPOE`; only to clean such answers: `clean_comparisons`.",
        ),
        "`NeighborhoodComponentsAnalysis` from labels, with all pairs at once; `MDS` for a map "
        "that is made once.",
        (
            "metric learning",
            "mahalanobis",
            "similarity",
            "itml",
            "lmnn",
            "must-link",
            "multidimensional scaling",
            "optimal transport",
            "earth mover",
            "wasserstein",
            "histogram",
            "triplet comparisons",
            "odd one out",
            "multiple kernel learning",
            "gnmds",
        ),
        "metric/plot_fixed_rank",
    ),
    Problem(
        "maps",
        "Look at a table, and move what looks wrong",
        ("Drag, pin and link points on a map of the data: `KnowledgeKernelPCA` and `octavo app`.",),
        "`PCA`, `KernelPCA`, `TSNE`, which do not listen.",
        (
            "visualisation",
            "dimension reduction",
            "embedding",
            "interactive",
            "kernel pca",
            "umap",
            "exploration",
        ),
        "kernel/plot_steered",
    ),
    Problem(
        "programs",
        "A linear program for every value of a parameter",
        ("`parametric_simplex` gives the whole piecewise-linear path; `solve_lp` one of them.",),
        "scipy's `linprog`, one value at a time.",
        ("linear programming", "regularisation path", "simplex method", "dantzig selector"),
        "linear/plot_l1_programs_linear_programs",
    ),
    Problem(
        "signed-links",
        "My network has friends and foes, and I want the missing signs or the camps",
        (
            "More than two camps, or a large network: `SignedCompletion` completes the matrix of "
            "signs at low rank.",
            "Two camps and few nodes: `ImbalancePredictor` asks which sign leaves fewer cycles "
            "unbalanced; `HigherOrderCycleClassifier` learns from the cycles, with directions.",
            "The camps themselves: `SignedSpectralClustering`; whether there are any: "
            "`is_weakly_balanced`, `balance_report`.",
        ),
        "scikit-learn's SpectralClustering takes similarities only, and has no word for enmity.",
        ("signed network", "trust", "distrust", "balance theory", "friend", "foe", "enemy", "sign"),
        "network/plot_signed",
    ),
    Problem(
        "few-comparisons",
        "People or language models judge pairs at a price, and I want a ranking or clusters",
        (
            "Which of two is better: `SRRARanker` asks about close pairs and needs some n log n of "
            "n² answers; with features and a linear score, `SRRALinearRanker`.",
            "Are these two the same: `SRRAClusterer`.",
            "The answers are there already: `mfast_local_search`, `correlation_cluster_local`, or "
            "`bradley_terry`.",
            "One of a table of rules, by labels of points: `SRRAFinite`.",
        ),
        "scikit-learn has nothing that asks; `choix` fits strengths to answers that are there.",
        (
            "pairwise comparison",
            "preference",
            "active learning",
            "llm judge",
            "human feedback",
            "tournament",
            "entity resolution",
            "deduplication",
            "correlation clustering",
            "feedback arc set",
            "sorting with noise",
        ),
        "search/plot_active_pairs",
    ),
    Problem(
        "slow-process",
        "A slow process is to be kept at a level, such as the effect of a drug in simulation",
        (
            "A policy that can be read as a table, learnt in a simulator: `WatkinsQLambda`; for "
            "few steps, `CountedModelPolicy`.",
            "A controller that needs no learning: `PIDController`, or the model alone, "
            "`EffectSiteTCI`.",
            "A patient to try it on: `PropofolEnv`, `run_trial`. Simulation, not a medical device.",
            "How well a level was kept: `varvel_metrics`, `ohara_metrics`.",
        ),
        "scikit-learn has no control; `gymnasium` has environments of other kinds.",
        (
            "closed loop",
            "control",
            "pid",
            "infusion",
            "anaesthesia",
            "propofol",
            "pharmacokinetics",
            "target-controlled infusion",
            "bispectral index",
            "q-learning",
            "dosing",
        ),
        "rl/plot_infusion",
    ),
    Problem(
        "teaching",
        "I want the fewest examples, questions or tests that pin down which rule is true",
        (
            "Any learner that respects the examples must get it: `TeachingAnalysis` finds the "
            "smallest sets of a table of rules by cases, exactly.",
            "The learner knows that the examples were chosen for it: subset or recursive teaching "
            "needs far fewer; `best_protocol` takes the better.",
            "Rules are fitted classifiers, stumps or conjunctions: `ConceptClass` makes the table.",
        ),
        "scikit-learn has nothing for it; an integer program a rule by hand, in `milp` of scipy.",
        (
            "teaching set",
            "teaching dimension",
            "machine teaching",
            "curriculum",
            "few-shot",
            "minimal examples",
            "test suite",
            "diagnosis",
            "hitting set",
            "vc dimension",
        ),
        "teaching/plot_cooperative",
    ),
    Problem(
        "expert-reward",
        "I want to know what an expert, a clinician or a controller is optimising",
        (
            "The controller is written down, and sees only part of the state: `FSCIRL`.",
            "There are logs of actions and observations: `TrajectoryIRL`, in a known model "
            "(`POMDP`).",
            "The state is seen: `MDPIRL`. Only to plan: `PBPISolver`, `solve_mdp`.",
        ),
        "imitation learns from logs of states that are seen; nothing knows partial observation.",
        (
            "inverse reinforcement learning",
            "apprenticeship learning",
            "pomdp",
            "finite-state controller",
            "belief state",
            "reward function",
            "dialogue policy",
        ),
        "rl/plot_inverse",
    ),
    Problem(
        "coming-links",
        "I have snapshots of a graph over time, and want the next one",
        (
            "Groups move: `AutoregressiveLinkPredictor` foresees the matrix and its features "
            "together; `AutoregressiveLinkPredictorCV` chooses its penalties over time.",
            "Too large for a matrix: `FactorizedLinkPredictor`. No time in it: "
            "`SparseLowRankDenoiser`, or `link_heuristics` on the sum.",
            "Only the volumes: `SparseVAR` on the sums of rows or columns.",
        ),
        "networkx has scores of pairs in one static graph; statsmodels' VAR knows no graph.",
        (
            "link prediction",
            "dynamic graph",
            "temporal network",
            "bipartite",
            "sales",
            "vector autoregression",
            "low rank",
        ),
        "network/plot_autoregressive",
    ),
)

# What one wants to do, and the keys of the problems that belong to it.
TASKS = {
    "Rate and rank": ("games", "rankings", "few-comparisons"),
    "Predict a class or labels": (
        "classes",
        "few",
        "views",
        "readable",
        "label-sets",
        "events",
        "priced-mistakes",
        "decide-by-loss",
        "costs",
    ),
    "Predict a number, a whole law or a time": (
        "regression",
        "conditional-density",
        "responses",
        "grouped",
        "fields",
        "survival",
    ),
    "Learn one row at a time, from many models, or in secret": ("streams", "experts", "secrets"),
    "See what depends on what": (
        "dependence",
        "two-samples",
        "networks",
        "densities",
        "joint-tails",
        "two-views",
        "known-averages",
    ),
    "Work with a graph of links": ("communities", "signed-links", "coming-links"),
    "Group rows": (
        "clusters",
        "kernel-clusters",
        "binary-groups",
        "recordings",
        "sequence-clusters",
    ),
    "Find parts, causes, directions and distances": (
        "parts",
        "labelled-documents",
        "hidden-causes",
        "outliers",
        "slow",
        "kernel-directions",
        "distances",
        "maps",
    ),
    "Label sequences, images and sentences": (
        "tagging",
        "any-loss-outputs",
        "vector-series",
        "grammars",
        "places",
        "jumps",
        "sets",
    ),
    "Search, optimise and control": (
        "search",
        "de-novo",
        "programs",
        "policies",
        "policy-search",
        "slow-process",
        "expert-reward",
    ),
    "Reckon how much data learning takes": ("sample-size", "teaching"),
}


@functools.cache
def problems_of(name: str) -> tuple[Problem, ...]:
    """Return the problems whose steps mention a method by name, or a member of it."""
    from octavo.catalogue import find_method

    _, method = find_method(name)
    members = {method.name, *method.members}
    return tuple(p for p in PROBLEMS if members & set(p.names))


def words_of(name: str) -> tuple[str, ...]:
    """Return what people search a method by: the words of its problems, once each."""
    return tuple(dict.fromkeys(word for problem in problems_of(name) for word in problem.words))
