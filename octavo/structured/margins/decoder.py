"""A small phrase-based decoder with a beam, to see what a reordering model changes.

A translation covers the source phrase by phrase; hypotheses that cover as many words compete, and
those that differ only in what the future cannot see are merged.

Reference: P. Koehn, F. J. Och and D. Marcu (2003), "Statistical phrase-based translation", NAACL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from octavo.engine.estimators.checked import checked
from octavo.structured.margins.costs import LEAST
from octavo.structured.margins.features import PhraseInContext, checked_corpus
from octavo.structured.margins.phrases import (
    PhrasePair,
    extract_phrase_pairs,
    orientation,
    words_of,
)

__all__ = ["Translation", "beam_decode", "bigram_language_model", "phrase_table"]

Phrase = tuple[str, ...]


class Translation(NamedTuple):
    """Words, their score, and the phrases in the order of the target."""

    words: list[str]
    score: float
    derivation: list[PhrasePair]


def phrase_table(
    sources: Any, targets: Any, alignments: Any, max_phrase_len: int = 8
) -> dict[Phrase, list[tuple[Phrase, float]]]:
    """Return log p(target phrase | source phrase) of a word-aligned corpus.

    Parameters
    ----------
    sources, targets : sequence of sentences
        Lists of words, or strings.
    alignments : sequence of set of (int, int)
        Links of each sentence pair.
    max_phrase_len : int, default=8
        Most words of a phrase.

    Returns
    -------
    table : dict
        Pairs (target phrase, log-probability) by source phrase, best first.

    Examples
    --------
    >>> from octavo.structured import phrase_table
    >>> phrase_table(["a b"], ["A B"], [{(0, 0), (1, 1)}])[("a",)]
    [(('A',), 0.0)]
    """
    counts: dict[Phrase, Counter[Phrase]] = {}
    sources, targets = checked_corpus(sources, targets, alignments)
    for source, target, links in zip(sources, targets, alignments):
        for (a, b), (c, d) in extract_phrase_pairs(source, target, links, max_phrase_len):
            counts.setdefault(tuple(source[a:b]), Counter())[tuple(target[c:d])] += 1
    table = {}
    for phrase, found in counts.items():
        total = float(sum(found.values()))
        options = [(words, float(np.log(count / total))) for words, count in found.items()]
        table[phrase] = sorted(options, key=lambda option: (-option[1], option[0]))
    return table


@checked
def bigram_language_model(targets: Any, smoothing: float = 0.1) -> Callable[[str, str], float]:
    """Return log p(word | word before) as a function, with additive smoothing.

    Parameters
    ----------
    targets : sequence of sentences
        Lists of words, or strings.
    smoothing : float, default=0.1
        Added to all counts, positive.

    Returns
    -------
    log_probability : callable
        Of (word before, word); "<s>" and "</s>" are the ends of a sentence.

    Examples
    --------
    >>> from octavo.structured import bigram_language_model
    >>> log_probability = bigram_language_model(["a b", "a c"])
    >>> log_probability("<s>", "a") > log_probability("<s>", "b")
    True
    """
    if not smoothing > 0.0:
        raise ValueError(f"Parameter `smoothing` must be positive, got {smoothing!r}.")
    pairs: Counter[tuple[str, str]] = Counter()
    befores: Counter[str] = Counter()
    vocabulary = {"</s>"}
    for sentence in targets:
        words = ["<s>", *words_of(sentence), "</s>"]
        pairs.update(pairwise(words))
        befores.update(words[:-1])
        vocabulary.update(words[1:])
    size = float(len(vocabulary) + 1)

    def log_probability(before: str, word: str) -> float:
        count = pairs[before, word] + smoothing
        # additive smoothing over the vocabulary and one unseen word
        return float(np.log(count / (befores[before] + smoothing * size)))

    return log_probability


class _Hypothesis(NamedTuple):
    covered: int
    stop: int
    words: Phrase
    derivation: tuple[PhrasePair, ...]
    score: float


@checked
def beam_decode(
    source: Any,
    table: Mapping[Any, Any],
    language_model: Any = None,
    reordering: Any = None,
    *,
    beam_width: int = 20,
    max_jump: int = 6,
    reordering_weight: float = 1.0,
    distance_weight: float = 0.1,
) -> Translation:
    """Translate a sentence with phrases, a language model and a model of jumps.

    The score is the sum of the phrases' log-probabilities, the language model's and those of the
    jumps, less the words jumped over, each with its weight.

    Parameters
    ----------
    source : sequence of str or str
        Words; one that no phrase covers is copied.
    table : dict
        Pairs (target phrase, log-probability) by source phrase, as `phrase_table` makes them.
    language_model : callable, optional
        log p of (word before, word).
    reordering : PhraseReorderingModel, optional
        Gives the probabilities of the classes of jumps.
    beam_width : int, default=20
        Hypotheses kept for each number of covered words.
    max_jump : int, default=6
        Most words jumped over.
    reordering_weight : float, default=1.0
        Weight of the jumps' log-probabilities.
    distance_weight : float, default=0.1
        Price of each word jumped over.

    Returns
    -------
    translation : Translation
        Words, score and phrases.

    Examples
    --------
    >>> from octavo.structured import beam_decode, phrase_table
    >>> table = phrase_table(["a b"], ["A B"], [{(0, 0), (1, 1)}])
    >>> beam_decode("b a", table).words
    ['B', 'A']
    """
    words = words_of(source, "The source")
    if not words:
        raise ValueError("The source must have at least one word, got none.")
    if beam_width < 1 or max_jump < 0:
        raise ValueError(
            f"A beam has at least one hypothesis and jumps are not negative, got beam_width="
            f"{beam_width!r} and max_jump={max_jump!r}."
        )
    weights = (float(reordering_weight), float(distance_weight))
    scorer = _Scorer(words, language_model, reordering, weights)
    options = _options(words, table)
    stacks: list[dict[Any, _Hypothesis]] = [{} for _ in range(len(words) + 1)]
    stacks[0][None] = _Hypothesis(0, 0, (), (), 0.0)
    for size in range(len(words)):
        kept = sorted(stacks[size].values(), key=lambda h: (-h.score, h.words))[:beam_width]
        for hypothesis in kept:
            for option in options:
                made = _extended(hypothesis, option, max_jump, scorer)
                if made is None:
                    continue
                stack = stacks[bin(made.covered).count("1")]
                # the future sees coverage, the last position and the last word only
                key = (made.covered, made.stop, made.words[-1:])
                if key not in stack or stack[key].score < made.score:
                    stack[key] = made
    if not stacks[-1]:
        raise ValueError(
            f"No translation was found with max_jump={max_jump!r} and beam_width={beam_width!r}; "
            "increase them."
        )
    best = max(stacks[-1].values(), key=lambda h: h.score)
    return Translation(list(best.words), best.score, list(best.derivation))


def _options(words: list[str], table: Mapping[Any, Any]) -> list[tuple[int, int, Phrase, float]]:
    """Return all phrases that fit somewhere, with unknown words copied."""
    found = []
    for a in range(len(words)):
        for b in range(a + 1, len(words) + 1):
            choices = table.get(tuple(words[a:b]), ())
            if b == a + 1 and not choices:
                choices = [((words[a],), 0.0)]
            found += [(a, b, tuple(phrase), float(score)) for phrase, score in choices]
    return found


class _Scorer:
    """Scores of jumps and of the language model; a phrase's jump chances are computed once."""

    def __init__(self, words: list[str], language_model: Any, reordering: Any, weights: Any):
        self.words, self.language_model = words, language_model
        self.reordering, self.weights = reordering, weights
        self.chances: dict[Any, Any] = {}

    def jump(self, distance: int, span: tuple[int, int], phrase: Phrase) -> float:
        far = self.weights[1] * abs(distance)
        if self.reordering is None:
            return -far
        if (span, phrase) not in self.chances:
            example = PhraseInContext(self.words, list(phrase), PhrasePair(span, (0, len(phrase))))
            self.chances[span, phrase] = self.reordering.predict_proba([example])[0]
        shares = self.chances[span, phrase]
        chance = max(float(shares[orientation(distance, len(shares))]), LEAST)
        return self.weights[0] * float(np.log(chance)) - far

    def fluency(self, before: Phrase, phrase: Phrase, ends: bool) -> float:
        if self.language_model is None:
            return 0.0
        chain = [before[-1] if before else "<s>", *phrase, *(["</s>"] if ends else [])]
        return float(sum(self.language_model(a, b) for a, b in pairwise(chain)))


def _extended(
    hypothesis: _Hypothesis, option: Any, max_jump: int, scorer: _Scorer
) -> _Hypothesis | None:
    """Return a hypothesis with one phrase more, or None where the phrase does not fit."""
    a, b, phrase, score = option
    mask = ((1 << (b - a)) - 1) << a
    distance = hypothesis.stop - a  # Eq. (1), with its sign kept
    if hypothesis.covered & mask or abs(distance) > max_jump:
        return None
    covered = hypothesis.covered | mask
    ends = covered == (1 << len(scorer.words)) - 1
    total = hypothesis.score + score + scorer.jump(distance, (a, b), phrase)
    total += scorer.fluency(hypothesis.words, phrase, ends)
    n = len(hypothesis.words)
    pair = PhrasePair((a, b), (n, n + len(phrase)))
    return _Hypothesis(covered, b, hypothesis.words + phrase, (*hypothesis.derivation, pair), total)
