# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.structured.label_trees.decoding import TreeDecoding as TreeDecoding
from octavo.structured.label_trees.decoding import decode_over_trees as decode_over_trees
from octavo.structured.label_trees.decoding import k_best_tree as k_best_tree
from octavo.structured.label_trees.label_structure import ExpertChoice as ExpertChoice
from octavo.structured.label_trees.label_structure import chow_liu_label_tree as chow_liu_label_tree
from octavo.structured.label_trees.label_structure import exponential_weights_choice as exponential_weights_choice
from octavo.structured.label_trees.random_trees import MaxMarginTrees as MaxMarginTrees
from octavo.structured.label_trees.random_trees import RandomSpanningTreeMultiLabel as RandomSpanningTreeMultiLabel
from octavo.structured.label_trees.spanning_tree import SpanningTreeMultiLabel as SpanningTreeMultiLabel
