from ensemblage.messages import listing, suggestion


def test_long_lists_are_cut_short():
    assert listing([]) == ""
    assert listing(["a", 2]) == "a, 2"
    assert listing("abcd", limit=2) == "a, b and 2 more"


def test_the_closest_name_is_proposed_whatever_its_case():
    assert suggestion("IRS", ["wine", "Iris"]) == " Did you mean 'Iris'?"
    assert suggestion("zebra", ["wine", "Iris"]) == ""
