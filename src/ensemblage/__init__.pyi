from . import bayes as bayes
from . import blocks as blocks
from . import consensus as consensus
from . import datasets as datasets
from . import evaluation as evaluation
from . import fusion as fusion
from . import inner as inner
from . import papers as papers
from . import persistence as persistence
from . import pool as pool
from . import report as report
from . import sources as sources
from . import strata as strata
from . import studies as studies
from . import subspace as subspace
from .inner import InnerBayesNetClassifier as InnerBayesNetClassifier
from .inner import InnerKMeans as InnerKMeans
from .inner import InnerTreeClassifier as InnerTreeClassifier
from .inner import InnerTreeRegressor as InnerTreeRegressor
from .pool import EnsemblageClassifier as EnsemblageClassifier
from .pool import EnsemblageRegressor as EnsemblageRegressor
from .sources import source_audit as source_audit
from .strata import StrataEnsembleClassifier as StrataEnsembleClassifier
from .strata import StrataEnsembleRegressor as StrataEnsembleRegressor
from .studies import compare as compare
from .subspace import JointSubspaceClassifier as JointSubspaceClassifier

__version__: str
