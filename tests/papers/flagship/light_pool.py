"""The members of the whole pool by name, none of which takes long."""

from dataclasses import replace

from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from ensemblage.pool import Recipe, resolve_pool


def light_pool(name):
    return [_light(each) for each in resolve_pool(name)]


def _light(recipe):
    if recipe.name == "boosting":
        return replace(recipe, candidates=recipe.candidates[:1], stages=(5, 10))
    model = SVC() if recipe.name == "svm" else GaussianNB()
    return Recipe(recipe.name, recipe.place, (model,))
