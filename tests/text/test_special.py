"""Roles are data."""

from regard.text.special import Special


def test_roles_and_their_texts() -> None:
    assert Special().texts == {0: "<pad>", 1: "<s>", 2: "</s>", 3: "<unk>"}
    assert Special(pad=9, eos=0).texts == {9: "<pad>", 1: "<s>", 0: "</s>", 3: "<unk>"}
