"""
A critical-difference diagram
=============================

Six methods on nine small tables: which differ significantly?
"""

from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ensemblage.evaluation import CriticalDifferenceDisplay, compare_methods
from ensemblage.inner import InnerTreeClassifier

tables = [loader(return_X_y=True) for loader in (load_iris, load_wine, load_breast_cancer)]
tables += [
    make_classification(
        300, 12, n_informative=5, n_classes=2 + seed % 2, flip_y=0.1, random_state=seed
    )
    for seed in range(6)
]
methods = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "nearest neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier()),
    "naive Bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(random_state=0),
    "inner tree": InnerTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(50, random_state=0),
}
accuracy = {
    name: [cross_val_score(method, X, y, cv=5).mean() for X, y in tables]
    for name, method in methods.items()
}

# %%
# The best method is on the left; a bar joins methods that do not differ significantly by Nemenyi's test.

found = compare_methods(accuracy)
print(found.sentence())
CriticalDifferenceDisplay.from_comparison(found, highlight=["inner tree"])

# %%
# **Take away**: nine tables have little power: the forest differs significantly from the single tree, and hardly more. Report mean ranks with their critical difference.
