"""docs/contract.md says what the code does now."""

from contract_doc import TARGET, contract_doc


def test_the_contract_for_people_is_the_contract_of_the_code() -> None:
    """The file is what the dataclasses say today."""
    assert TARGET.read_text() == contract_doc()
