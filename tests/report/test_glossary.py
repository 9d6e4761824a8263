import re
from html import unescape

import pytest
from tests.report.documents import comparison, experiment, method, small_table

from ensemblage.datasets import make_multi_source
from ensemblage.report import explain_model, render
from ensemblage.report._blocks import Page, Section
from ensemblage.report._glossary import GLOSSARY, VARIANTS, glossary_of
from ensemblage.strata import HISS, StrataEnsembleClassifier

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

FOLD = re.compile(r'(?s)<details class="fold glossary"><summary>Glossary</summary>.*?</details>')
TERM = re.compile(r"<dt>(.*?)</dt><dd>(.*?)</dd>")


def explanation():
    X, y = make_multi_source(2, 120, random_state=0)
    model = StrataEnsembleClassifier(HISS(3, 0.4), random_state=0).fit(X, y)
    return explain_model(model, X, y, row=0)


RESULTS = {
    "comparison": lambda: comparison(method("a", [0.9, 0.8, 0.9]), method("b", [0.5, 0.6, 0.7])),
    "experiment": lambda: experiment(small_table()),
    "explanation": explanation,
}


def glossary_and_rest(page):
    (fold,) = FOLD.findall(page)
    text = unescape(re.sub(r"<[^>]*>", " ", FOLD.sub("", page).partition("<main")[2]))
    return dict(TERM.findall(unescape(fold).replace("\N{NO-BREAK SPACE}", " "))), re.sub(
        r"[\s\u2011-]+", " ", text
    ).lower()


@pytest.mark.parametrize("kind", RESULTS)
def test_glossary_defines_just_the_terms_of_the_page(kind):
    listed, text = glossary_and_rest(render(RESULTS[kind]()))
    assert listed
    for term in GLOSSARY:
        forms = [form.replace("-", " ").lower() for form in (term, VARIANTS.get(term, term))]
        if term in listed:
            assert listed[term] == GLOSSARY[term]
            assert any(form in text for form in forms), term
        else:
            # a longer term may contain a shorter one
            longer = [each for each in listed if term in each and term != each]
            found = any(re.search(rf"\b{re.escape(form)}s?\b", text) for form in forms)
            assert longer or not found or term.isupper(), term


def test_terms_are_found_with_hyphens_plurals_and_variants():
    found = glossary_of("<p>Out of fold; 2 strata; log\N{NON-BREAKING HYPHEN}odds &amp; AUC</p>")
    assert list(found) == ["AUC", "log-odds", "out-of-fold", "stratum"]
    assert "contribution" in glossary_of("<td>Con<wbr>tributions</td><td>1</td>")


def test_a_longer_term_hides_the_shorter_one_inside_it():
    assert list(glossary_of("a 95 % confidence interval")) == ["confidence interval"]
    assert list(glossary_of("balanced accuracy, accuracy")) == ["accuracy", "balanced accuracy"]


def test_acronyms_match_in_their_own_case_only():
    assert glossary_of("mae west, an f1 car") == {}


def test_a_page_without_terms_has_no_glossary():
    assert "Glossary" not in render(Page("A title", "kind", ["Text."], {}, [Section("One", ["x"])]))


def test_definitions_are_single_sentences_in_alphabetical_order():
    assert list(GLOSSARY) == sorted(GLOSSARY, key=lambda term: re.sub("[ -]", "", term).lower())
    for term, sentence in GLOSSARY.items():
        assert sentence.endswith("."), term
        assert ". " not in sentence, term
        assert sentence[0].isupper(), term
