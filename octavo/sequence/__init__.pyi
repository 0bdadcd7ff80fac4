# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.sequence.high_order_crf import HighOrderCRF as HighOrderCRF
from octavo.sequence.pattern_automaton import Boundary as Boundary
from octavo.sequence.pattern_automaton import PatternAutomaton as PatternAutomaton
from octavo.sequence.pattern_automaton import observed_patterns as observed_patterns
from octavo.sequence.sequence_features import window_features as window_features
