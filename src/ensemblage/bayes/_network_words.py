"""Parameters and attributes that the plain and the inner network share, in words."""

NETWORK_DOCS = """
max_parents : int or None, default=3
    Upper bound on each feature's parents, the class included; None for no bound.
init : {"naive", "empty"}, default="naive"
    Where the search starts: with the class as every feature's parent, or with no parents.
search : {"k2", "tan", "hill-climbing", "tabu"}, default="k2"
    How the structure is found. ``"k2"`` takes a feature's parents from those before it in
    ``order``. ``"tan"`` gives each feature the class and one more parent, in the tree of the
    largest conditional mutual information, whatever the criterion and the start.
    ``"hill-climbing"`` adds, removes or reverses one arc at a time, the best; ``"tabu"`` goes on
    from there, downhill too, until ten moves in a row have found no better structure.
constraints : NetworkConstraints or None, default=None
    Arcs that there must be, arcs that there must not be, and tiers of nodes.
smoothing : float, default=0.5
    Added to each count of a table.
order : array-like of str or int, default=None
    Features by name or position, each once; K2 takes a feature's parents from those before it,
    other searches prefer the earlier of equals. None for the columns' order, with earlier tiers
    and required parents first.
discretizer : {"mdlp", None}, default="mdlp"
    How numbers become categories; None takes each number as a category of its own.
missing : {"mode", "marginal", "em"}, default="mode"
    In training gaps are filled with the column's mode; ``"em"`` does so for the search only, and
    estimates the tables by expectation and maximisation. At prediction, a gap is filled with the
    mode, or summed over ("marginal", "em").
categories : "auto", list or dict, default="auto"
    Categories of columns whose type does not declare them, also of those that never occur: a
    list per column, None where there are none, or lists by the column's name.
temperature_ : float
    What the log probabilities of class and row are divided by before they are made to add up to
    one; 1 without calibration.
parents_ : dict of str to list of str
    Parents of each node, in the order in which they were added; the class under its own
    name.
order_ : list of str
    The class, then the features in the order of the search, parents before children.
categories_ : dict of str to list
    What each node's codes stand for.
modes_ : ndarray of shape (n_features,)
    Code that fills a gap.
class_log_prior_ : ndarray of shape (n_classes,)
    Log probability of each class, in the order of ``categories_``.
target_name_ : str
    Name of the class: that of ``y``, or "class".
classes_ : ndarray of shape (n_classes,)
    Classes, sorted; those that a categorical ``y`` declares, even if they do not occur.
class_codes_ : ndarray of shape (n_classes,)
    Position of each of them in ``categories_``.
network_ : object
    What prediction reads: how columns become codes, and all tables.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features,)
    Names of the features, if they have any.
"""
