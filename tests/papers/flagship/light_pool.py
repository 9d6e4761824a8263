"""The members of the whole pool by name, none of which takes long."""

from dataclasses import replace

from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from ensemblage.pool import MemberSpec, resolve_members


def light_pool(name):
    return [_light(each) for each in resolve_members(name)]


def _light(recipe):
    if recipe.name == "boosting":
        return replace(recipe, candidates=recipe.candidates[:1], n_rounds=(5, 10))
    model = SVC() if recipe.name == "svm" else GaussianNB()
    return MemberSpec(recipe.name, recipe.group, (model,))
