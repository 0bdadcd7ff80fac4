"""AnchorTopics weighs words by their rarity; in the tables of the checks no word is rare."""

from octavo.decomposition import AnchorTopics
from tests.conformance.discovery import Case

# log(n_documents / document frequency) is zero for words that every document holds.
CASES = [Case(make=lambda: AnchorTopics(tfidf=False))]
