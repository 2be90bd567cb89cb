"""The formulas' texts for the bundle, which holds no source to read them from."""

from pprint import pformat

from places import ROOT


def formula_texts_module() -> str:
    """Write ``pycore.formula_texts``: module → formula → the expression it returns."""
    from pycore.sizing.ledger import all_texts

    texts = pformat(all_texts(ROOT / "pycore"), width=100, sort_dicts=True)
    return f'"""Texts of the formulas, taken from the source when the site was built."""\n\nTEXTS = {texts}\n'
