"""An account of an answer: each word with what it adds, and with how much it was looked at.

    gradients   integrated gradients of the answer (explain/gradients.py): they add up to what the
                words change
    attention   mean over heads of the last layer's weights, from the tokens that the answer is
                read from to the word, as shares: a_w = mean_h mean_i Σ_{j in w} A_h[i, j]

Attention says where the last layer looked; it is no account of the answer. Where the two views
name other words, `Account.verdict` says so.
"""

from collections.abc import Collection
from dataclasses import dataclass
from html import escape

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from regard.bundle.bundle import AnyTokenizer
from regard.draw.notebook.table import BarCell, html_table
from regard.errors import MisuseError
from regard.explain.gradients import Attribution
from regard.text.tokenizer import Tokenizer

HIDDEN_BY = ("mask", "pad", "unk")  # roles that can stand for a word that is not told
FRAME = ("cls", "sep", "pad", "bos", "eos")  # what frames a text and is no word
WordGroups = list[tuple[str, list[int]]]


@dataclass(frozen=True, repr=False)
class Account:
    """The words of a text with both views."""

    answer: str  # "glad", "match", or the text that was put out
    quantity: str  # what is explained: p(glad), cosine, log p(text)
    text: str
    words: list[str]
    gradients: Float[np.ndarray, " words"]
    attention: Float[np.ndarray, " words"]
    looked_elsewhere: float  # share of attention that went to no word of these
    attribution: Attribution
    hidden_by: str  # the token that stands for each word where nothing is told

    @property
    def correlation(self) -> float | None:
        """Rank correlation of |gradients| and attention; None where there is nothing to rank."""
        return rank_correlation(np.abs(self.gradients), self.attention)

    def __repr__(self) -> str:
        return f"<Account of {self.answer!r}: {self.text!r}>"

    def _repr_html_(self) -> str:
        """Both views of each word, and the verdict."""
        rows = [
            (word, float(gradient), BarCell(float(weight)))
            for word, gradient, weight in zip(
                self.words, self.gradients, self.attention, strict=True
            )
        ]
        head = ("word", "integrated gradients", "attention, last layer")
        title = f"{self.answer}: {self.attribution.value:.4f}"
        return f"{html_table(head, rows, title)}<p>{escape(self.verdict)}</p>"

    @property
    def verdict(self) -> str:
        """One sentence: do both views name the same word?"""
        if len(self.words) < 2:
            return "One word: there is nothing to compare."
        rests = self.words[int(np.abs(self.gradients).argmax())]
        looked = self.words[int(self.attention.argmax())]
        if np.abs(self.gradients).argmax() == self.attention.argmax():
            return f'Both name "{rests}" first.'
        return (
            f'They disagree: attention looks most at "{looked}", the answer rests most on '
            f'"{rests}". The gradients add up to what the words change; attention need not.'
        )


def make_account(
    answer: str,
    quantity: str,
    text: str,
    groups: WordGroups,
    attribution: Attribution,
    looked: Float[np.ndarray, " L"],
    hidden_by: str,
) -> Account:
    """Pieces to words: what tokens add, and the attention to each, summed."""
    if not groups:
        raise MisuseError("explain", "the text has no words", advice="give a text")
    attention = np.array([looked[places].sum() for _, places in groups])
    total = float(attention.sum())
    return Account(
        answer,
        quantity,
        text,
        [word for word, _ in groups],
        np.array([attribution.tokens[places].sum() for _, places in groups]),
        attention / total if total else attention,
        1 - total,
        attribution,
        hidden_by,
    )


def roles_of(tokenizer: AnyTokenizer) -> dict[str, int]:
    """The ids that mean something to the model."""
    return vars(tokenizer.special) if isinstance(tokenizer, Tokenizer) else tokenizer.roles


def word_groups(tokenizer: AnyTokenizer, ids: tuple[int, ...] | list[int]) -> WordGroups:
    """(word, places of its pieces); [CLS] and [SEP] are left out, [UNK] and [MASK] are words."""
    frame = _frame(tokenizer)
    return [group for group in tokenizer.word_groups(ids) if ids[group[1][0]] not in frame]


def _frame(tokenizer: AnyTokenizer) -> Collection[int]:
    roles = roles_of(tokenizer)
    return {roles[role] for role in FRAME if role in roles}


def ends_of_path(
    table: Float[Tensor, "V D"],
    tokenizer: AnyTokenizer,
    ids: tuple[int, ...] | list[int],
    told: int,
) -> tuple[Float[Tensor, "L D"], Float[Tensor, "L D"], str]:
    """Rows of the text, rows of the text that tells nothing, and which token it is made of.

    Only the first `told` tokens are hidden at the beginning, and none that frames the text.
    """
    roles, frame = roles_of(tokenizer), _frame(tokenizer)
    role = next((role for role in HIDDEN_BY if role in roles), None)
    rows = table.detach()[torch.tensor(list(ids), device=table.device)]
    if role is None:
        hidden, name = torch.zeros_like(rows), "a row of zeros"
    else:
        hidden = table.detach()[roles[role]].expand_as(rows)
        name = tokenizer.pieces([roles[role]])[0]
    kept = [i in frame or place >= told for place, i in enumerate(ids)]
    return rows, torch.where(torch.tensor(kept, device=rows.device)[:, None], rows, hidden), name


def rank_correlation(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"]) -> float | None:
    """Spearman's: the correlation of ranks, equal numbers sharing the mean of theirs."""
    ranks = [_ranks(values) for values in (a, b)]
    if any(np.ptp(values) == 0 for values in ranks):
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum().astype(np.float64)
    mean: np.ndarray = (last - (counts - 1) / 2)[place]
    return mean
