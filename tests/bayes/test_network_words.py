import re

from ensemblage.bayes import BayesNetClassifier
from ensemblage.bayes._network_words import NETWORK_DOCS
from ensemblage.inner import InnerBayesNetClassifier


def test_both_networks_say_all_of_it():
    entries = re.split(r"\n(?=\S)", NETWORK_DOCS.strip())
    for entry in entries:
        name = entry.partition(" :")[0]
        for network in (BayesNetClassifier, InnerBayesNetClassifier):
            assert f"    {name} :" in network.__doc__
