"""The members of the whole pool by name, none of which takes long."""

from dataclasses import replace

from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from ensemblage.pool import MemberSpec, resolve_members


def light_pool(name):
    return [_light(each) for each in resolve_members(name)]


def _light(spec):
    if spec.name == "boosting":
        return replace(spec, candidates=spec.candidates[:1], n_rounds=(5, 10))
    model = SVC() if spec.name == "svm" else GaussianNB()
    return MemberSpec(spec.name, spec.group, (model,))
