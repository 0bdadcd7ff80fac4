"""Ren, Du, Carin and Dunson (2011): the logistic stick-breaking process."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from octavo import bayes, cluster, data, plot
from octavo.catalogue import Method, Paper
from octavo.claims import NotMeasurable, Run, at_least, at_most, stated, within

PAPER = Paper(
    key="logistic-stick-breaking",
    title="Logistic Stick-Breaking Process",
    authors="L. Ren, L. Du, L. Carin and D. B. Dunson",
    year=2011,
    venue="Journal of Machine Learning Research 12",
    headlines=("blocks-beat-dp", "speakers-are-found", "prior-draws-are-segments"),
    tables={
        "Figure 2": "prior-draws-are-segments",
        "Figure 3": "wider-kernels-larger-segments",
        "Figure 6": "blocks-beat-dp blocks-beat-kernel-sticks three-sticks-matter",
        "Figure 8": "speakers-are-found speakers-beat-dp speakers-beat-kernel-sticks",
        "Figure 9": "sticky-hmm",
        "Figure 10": "[a draw from the posterior, which the page shows]",
        "Figure 12": "chimney-bound",
        "Tables 1 and 2": "msrc-images textures-*",
        "Table 3": "berkeley-images",
        "Figures 16 to 21": "msrc-categories",
        "Section 3": "shared-atoms-rand shared-atoms-voi",
    },
    methods=(
        Method(
            name="LogisticStickBreakingMixture",
            room="bayes",
            family="stick_breaking",
            task="segment series, images or maps without fixing the number of segments",
            summary="A mixture whose weights depend on where a point lies, through sparse logistic "
            "gates; several data sets can share their segment types.",
            use_when="Rows have a time or a place, neighbours tend to be alike, segments have "
            "sharp edges and may come back, and their number is unknown.",
            avoid_when="Rows have no place, or a single series of millions of steps only needs "
            "change points.",
            instead="BayesianGaussianMixture, which ignores where points lie.",
            peers=("scikit-learn", "hmmlearn"),
            plots=(
                "plot_segmentation",
                "plot_gate_panels",
                "plot_gate_weights",
                "plot_membership_entropy",
                "plot_stick_bounds",
                "plot_truncation_bounds",
                "plot_atom_usage",
                "plot_set_similarity",
                "plot_similar_sets",
            ),
        ),
    ),
)

# Expectations and seeds were fixed before anything was run. Priors of the atoms were chosen by
# reasoning and looked at on images and series of seeds 1000 to 1004, which no claim uses. The
# length of a merge trial (20 iterations) was chosen on seed 1000, after the speakers had come out
# undecided with 5: their claims have seen one change; that merges come before the fine climb,
# another, after seed 3 of the blocks had run out of iterations. K = 10 as in the paper; the quick
# form has a smaller image, fewer kernels and two starts.
SEEDS = (0, 1, 2, 3, 4)
MORE_SEEDS = tuple(range(20))  # of widths of kernels, which five seeds left undecided
SAMPLING = "sampling: the whole 95 % interval over seeds must lie on the claimed side"
OPEN_SIZE = "blocks of our own size: the paper does not say how large its image is"
SIMULATED = "a simulated series with the turns of the recording, which is not at hand"
TEXTURES = "mosaics of three of scikit-image's textures in place of 240 photographs"


def settings(full: bool) -> dict[str, Any]:
    """Return the size of the fit."""
    return {"n_centers": 100} if full else {"n_centers": 50, "n_init": 2}


@lru_cache(maxsize=20)
def block_fit(seed: int, full: bool):
    """Return the block image and its segments."""
    X, coords, truth = data.make_block_image(32 if full else 24, random_state=seed)
    model = bayes.LogisticStickBreakingMixture(10, random_state=seed, **settings(full))
    return X, coords, truth, model.fit(X, coords)


@lru_cache(maxsize=20)
def speaker_fit(seed: int, full: bool):
    """Return the series of speakers and its segments."""
    X, coords, truth = data.make_speaker_series(random_state=seed)
    more = {"n_centers": 98} if full else {"n_centers": 40, "n_init": 1}
    model = bayes.LogisticStickBreakingMixture(10, random_state=seed, **more)
    return X, coords, truth, model.fit(X, coords)


def dirichlet_labels(X: Any, seed: int, observation: str = "gaussian") -> Any:
    """Return segments of the rival without places: a truncated Dirichlet process mixture."""
    import warnings

    from sklearn.mixture import BayesianGaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return BayesianGaussianMixture(
            n_components=10, max_iter=500, random_state=seed
        ).fit_predict(X)


def agreement(truth: Any, labels: Any) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth, labels))


blocks = PAPER.section(where="Figure 6", kind="ordering", seeds=SEEDS, stand_in=OPEN_SIZE)


@blocks.claim("Blocks of an image are found more exactly than by a Dirichlet process mixture")
@stated("much cleaner")
@at_least(0.0, because=SAMPLING)
def blocks_beat_dp(run: Run) -> float:
    X, _, truth, model = block_fit(run.seed, run.full)
    ours, theirs = agreement(truth, model.labels_), agreement(truth, dirichlet_labels(X, run.seed))
    run.note(f"seed {run.seed}: adjusted Rand {ours:.3f} against {theirs:.3f}")
    return ours - theirs


@blocks.claim("Blocks of an image are found more exactly than by kernel stick-breaking")
@stated("much cleaner")
@at_least(0.0, because=SAMPLING)
def blocks_beat_kernel_sticks(run: Run) -> float:
    X, coords, truth, model = block_fit(run.seed, run.full)
    rival = bayes.KernelStickBreakingMixture(10, random_state=run.seed, **settings(run.full))
    ours, theirs = agreement(truth, model.labels_), agreement(truth, rival.fit_predict(X, coords))
    run.note(f"seed {run.seed}: adjusted Rand {ours:.3f} against {theirs:.3f}")
    return ours - theirs


@PAPER.claim("Of ten sticks three matter")
@stated(3.0, "Section 5.1", kind="figure", seeds=SEEDS, stand_in=OPEN_SIZE)
@within(0.5, of=3.0, because="a whole number: the mean of seeds must round to three")
def three_sticks_matter(run: Run) -> float:
    _, _, _, model = block_fit(run.seed, run.full)
    return float((model.resp_.sum(axis=0) > 0.01 * len(model.resp_)).sum())


speakers = PAPER.section(where="Figure 8", kind="ordering", seeds=SEEDS, stand_in=SIMULATED)


@speakers.claim(
    "Turns of speakers are found in close agreement with the truth: at most 2 % of steps wrong",
    "close agreement",
)
@at_most(0.02, because="close: the figure shows no turn that is missed")
def speakers_are_found(run: Run) -> float:
    _, _, truth, model = speaker_fit(run.seed, run.full)
    return 1.0 - cluster.classification_accuracy(truth, model.labels_)


@speakers.claim("Turns of speakers are found more exactly than by a Dirichlet process mixture")
@stated("best")
@at_least(0.0, because=SAMPLING)
def speakers_beat_dp(run: Run) -> float:
    X, _, truth, model = speaker_fit(run.seed, run.full)
    return agreement(truth, model.labels_) - agreement(truth, dirichlet_labels(X, run.seed))


@speakers.claim("Turns of speakers are found more exactly than by kernel stick-breaking", "best")
@at_least(0.0, because=SAMPLING)
def speakers_beat_kernel_sticks(run: Run) -> float:
    X, coords, truth, model = speaker_fit(run.seed, run.full)
    rival = bayes.KernelStickBreakingMixture(10, n_init=1, random_state=run.seed)
    return agreement(truth, model.labels_) - agreement(truth, rival.fit_predict(X, coords))


@PAPER.claim("Draws from the prior are segments: neighbours share an atom more often than any pair")
@stated("localized segments", "Figure 2", kind="ordering", seeds=SEEDS)
@at_least(0.0, because=SAMPLING)
def prior_draws_are_segments(run: Run) -> float:
    t, gaps = np.arange(488.0), []
    for draw in range(50 if run.full else 10):
        labels, _ = bayes.sample_lsbp_prior(t, 10, random_state=1000 * run.seed + draw)
        shares = np.bincount(labels) / labels.size
        gaps.append(np.mean(labels[1:] == labels[:-1]) - float(shares @ shares))
    return float(np.mean(gaps))


@PAPER.claim(
    "Wider kernels give larger segments: fewer neighbours differ with ψ = 15 than with ψ = 5",
    stand_in="a grid of our own size, ψ as the length of a kernel",
)
@stated("larger", "Figure 3", kind="ordering", seeds=MORE_SEEDS)
@at_least(0.0, because=SAMPLING)
def wider_kernels_larger_segments(run: Run) -> float:
    size = 40
    coords = np.indices((size, size)).reshape(2, -1).T.astype(float)

    def borders(length: float) -> float:
        found = []
        for draw in range(20 if run.full else 6):
            labels, _ = bayes.sample_lsbp_prior(
                coords, 10, 1000 * run.seed + draw, bandwidths=[length**2]
            )
            image = labels.reshape(size, size)
            found.append(np.mean(image[1:] != image[:-1]) + np.mean(image[:, 1:] != image[:, :-1]))
        return float(np.mean(found))

    return borders(5.0) - borders(15.0)


@lru_cache(maxsize=20)
def mosaics(seed: int, full: bool):
    """Return patches of some mosaics of one codebook, and the textures of the patches."""
    try:
        from skimage import data as pictures
    except ImportError as error:
        raise NotMeasurable("scikit-image, the extra images, is not installed") from error
    textures = [pictures.brick(), pictures.grass(), pictures.gravel()]
    n_images, size, n_segments = (8, 128, 300) if full else (3, 96, 150)
    pairs = [
        data.make_texture_mosaic(textures, size, random_state=100 * seed + m)
        for m in range(n_images)
    ]
    features = bayes.SuperpixelFeatures(
        n_segments, features=["color", "texture"], random_state=seed
    )
    patches = features.fit_transform([image for image, _ in pairs])
    truths = []
    for one, (_, labels) in zip(patches, pairs, strict=True):
        table = np.zeros((len(one.coords), 3))
        np.add.at(table, (one.segments.ravel(), labels.ravel()), 1.0)
        truths.append(table.argmax(axis=1))
    return patches, truths


SMALL = {"observation": "multinomial", "n_centers": 40, "n_init": 2}


@lru_cache(maxsize=20)
def texture_scores(seed: int, full: bool) -> dict[str, tuple[float, float]]:
    """Return mean Rand index and variation of information of four ways to segment mosaics."""
    from sklearn.metrics import rand_score

    patches, truths = mosaics(seed, full)
    found: dict[str, list[Any]] = {"alone": [], "kernel": [], "dp": []}
    for one in patches:
        X, coords = one.blocks, one.coords
        alone = bayes.LogisticStickBreakingMixture(10, random_state=seed, **SMALL)
        found["alone"].append(alone.fit_predict(X, coords))
        kernel = bayes.KernelStickBreakingMixture(10, random_state=seed, **SMALL)
        found["kernel"].append(kernel.fit_predict(X, coords))
        # without kernels the weights depend on no place: a stick-breaking mixture of the same atoms
        dp = bayes.LogisticStickBreakingMixture(10, random_state=seed, **SMALL | {"n_centers": 0})
        found["dp"].append(dp.fit_predict(X, coords))
    shared = bayes.HierarchicalLSBP(20, 10, random_state=seed, **SMALL)
    shared.fit([one.blocks for one in patches], [one.coords for one in patches])
    found["shared"] = shared.labels_
    scores = {}
    for name, labels in found.items():
        pairs = list(zip(truths, labels, strict=True))
        rand = float(np.mean([rand_score(a, b) for a, b in pairs]))
        voi = float(np.mean([cluster.variation_of_information(a, b) for a, b in pairs]))
        scores[name] = (rand, voi)
    return scores


def register(rival: str, words: str, slug: str) -> None:
    """Add the claims of Tables 1 and 2 against one rival."""
    section = PAPER.section(where="Tables 1 and 2", kind="ordering", seeds=SEEDS, stand_in=TEXTURES)
    published = {"dp": (0.059, 0.68), "kernel": (0.055, 0.70)}[rival]

    @section.claim(
        f"Textures: a higher Rand index than {words}",
        published[0],
        expect=at_least(0.0, because=SAMPLING),
        name=f"textures-rand-beats-{slug}",
    )
    def rand(run: Run) -> float:
        scores = texture_scores(run.seed, run.full)
        run.note(f"seed {run.seed}: {scores['alone'][0]:.3f} against {scores[rival][0]:.3f}")
        return scores["alone"][0] - scores[rival][0]

    @section.claim(
        f"Textures: a lower variation of information than {words}",
        published[1],
        expect=at_least(0.0, because=SAMPLING),
        name=f"textures-voi-beats-{slug}",
    )
    def voi(run: Run) -> float:
        scores = texture_scores(run.seed, run.full)
        run.note(f"seed {run.seed}: {scores['alone'][1]:.3f} against {scores[rival][1]:.3f}")
        return scores[rival][1] - scores["alone"][1]


register("dp", "a stick-breaking mixture without places", "dp")
register("kernel", "kernel stick-breaking", "kernel-sticks")

together = PAPER.section(where="Section 3", kind="own", seeds=SEEDS, stand_in=TEXTURES)


@together.claim("Mosaics that share atoms have a higher Rand index than mosaics one by one")
@stated("not compared")
@at_least(0.0, because=SAMPLING)
def shared_atoms_rand(run: Run) -> float:
    scores = texture_scores(run.seed, run.full)
    run.note(f"seed {run.seed}: {scores['shared'][0]:.3f} against {scores['alone'][0]:.3f}")
    return scores["shared"][0] - scores["alone"][0]


@together.claim(
    "Mosaics that share atoms have a lower variation of information than mosaics one by one",
    "not compared",
)
@at_least(0.0, because=SAMPLING)
def shared_atoms_voi(run: Run) -> float:
    scores = texture_scores(run.seed, run.full)
    run.note(f"seed {run.seed}: {scores['shared'][1]:.3f} against {scores['alone'][1]:.3f}")
    return scores["alone"][1] - scores["shared"][1]


PAPER.not_measurable(
    "sticky-hmm",
    "neither the recording nor a Gibbs sampler of the sticky HMM is at hand",
    "As good as a sticky hidden Markov model's Gibbs sampler, in 45 seconds against 3 hours",
    stated("45 s, 3 h", "Section 5.2, Figure 9"),
)
PAPER.not_measurable(
    "chimney-bound",
    "the photographs are not at hand",
    "The bound of the chimney is largest with four sticks",
    stated(4.0, "Figure 12 (b)"),
)
PAPER.not_measurable(
    "msrc-images",
    "the 240 photographs of Microsoft Research Cambridge are not at hand",
    "At K = 10 Rand index 0.678 and variation of information 2.09, the best of five methods",
    stated("0.678, 2.09", "Tables 1 and 2"),
)
PAPER.not_measurable(
    "berkeley-images",
    "the 300 photographs of Berkeley are not at hand",
    "On Berkeley's images Rand index 0.724 and variation of information 2.66: competitive",
    stated("0.724, 2.66", "Table 3"),
)
PAPER.not_measurable(
    "msrc-categories",
    "the 300 photographs of ten categories are not at hand",
    "Shared atoms: categories are less alike than by hierarchical kernel sticks or an HDP",
    stated("smaller", "Figure 20"),
)


@PAPER.figure("Turns of three speakers and the weights of their atoms (as Figures 8 and 10)")
def turns():
    _, coords, _, model = speaker_fit(0, False)
    return plot.plot_segmentation(model, coords).figure


@PAPER.figure("Blocks of a noisy image (Figure 6)")
def block_segments():
    _, coords, _, model = block_fit(0, False)
    return plot.plot_segmentation(model, coords).figure
