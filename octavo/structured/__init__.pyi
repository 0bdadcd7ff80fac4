# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.structured.grammars.dmv import DMV as DMV
from octavo.structured.grammars.evaluation import DependencyError as DependencyError
from octavo.structured.grammars.evaluation import attachment_score as attachment_score
from octavo.structured.grammars.evaluation import dependency_ambiguity as dependency_ambiguity
from octavo.structured.grammars.evaluation import dependency_error_table as dependency_error_table
from octavo.structured.grammars.evaluation import scale_sigma as scale_sigma
from octavo.structured.grammars.regularizer import L1LinfPosteriorRegularizer as L1LinfPosteriorRegularizer
from octavo.structured.grammars.regularizer import PosteriorProjection as PosteriorProjection
from octavo.structured.grammars.tag_hmm import SparseTagHMM as SparseTagHMM
from octavo.structured.grammars.treebanks import Treebank as Treebank
from octavo.structured.grammars.treebanks import read_conllu as read_conllu
