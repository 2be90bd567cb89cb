"""The formulas' texts for the bundle, which holds no source to read them from."""


def formula_texts_module() -> str:
    """Write a module that maps each formula's name to its text."""
    return '"""Texts of the formulas, extracted when the site was built."""\n\nFORMULA_TEXTS = {}\n'
