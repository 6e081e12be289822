"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017): the paper in one file.

    regard phrasebook --output pairs         # English → German; any folder with a train.tsv will do
    python the_transformer.py pairs          # three minutes of training, then it translates
    python the_transformer.py pairs --minutes 10 --text "The dog chased the cat."

It needs torch and nothing else. Read it from the top: each part uses what is defined below it, so
the first screen is the whole model and the last one its training. § is a section of the paper.
Shapes are written with these letters, which are also names in the code:

    B  sentences in a batch        D  d_model, numbers in a vector       N  layers of each stack
    L  positions of the target     F  d_ff, hidden size of the FFN       h  heads
    S  positions of the source     V  tokens in the vocabulary           K  d_k = d_v = D / h
"""

import argparse
import math
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

PAD, BEGIN, END, UNKNOWN = range(4)  # the ids of the special tokens
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]


@dataclass(frozen=True)
class Sizes:
    """Those of the base model (§ 6.2, table 3)."""

    V: int
    N: int = 6
    D: int = 512
    F: int = 2048
    h: int = 8
    dropout: float = 0.1


class Transformer(nn.Module):
    """p(y | x) = Π_i p(y_i | y_1 … y_(i-1), x_1 … x_S)                       (§ 3.1, figure 1)

    source ─ embedding ─ N encoder layers ─ memory ─┐
    target ─ embedding ─ N decoder layers ──────────┴─ vectors ─ · Eᵀ ─ logits
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.embedding = Embedding(sizes)
        self.encoder = nn.ModuleList(EncoderLayer(sizes) for _ in range(sizes.N))
        self.decoder = nn.ModuleList(DecoderLayer(sizes) for _ in range(sizes.N))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Ids (B, S) and (B, L) → logits (B, L, V) of the token after each target position."""
        return self.decode(target, self.encode(source), source)

    def encode(self, source: Tensor) -> Tensor:
        """The memory (B, S, D): a vector for each source token, made of the whole sentence."""
        x = self.embedding(source)
        for layer in self.encoder:
            x = layer(x, padding_mask(source))
        return x

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """What comes after each position of `target`, which sees itself, its past, the memory."""
        x = self.embedding(target)
        for layer in self.decoder:
            x = layer(x, look_ahead_mask(target.shape[1]), memory, padding_mask(source))
        return self.embedding.logits(x)


class EncoderLayer(nn.Module):
    """Every word looks at every word of the sentence; then each is worked on alone (§ 3.1)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(sizes)
        self.ffn = FeedForward(sizes)
        self.norms = nn.ModuleList(AddAndNorm(sizes) for _ in range(2))

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        x = self.norms[0](x, self.attention(x, x, x, real))
        return self.norms[1](x, self.ffn(x))


class DecoderLayer(nn.Module):
    """The same between two looks: back at the own output, and over to the source."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(sizes)
        self.cross = MultiHeadAttention(sizes)
        self.ffn = FeedForward(sizes)
        self.norms = nn.ModuleList(AddAndNorm(sizes) for _ in range(3))

    def forward(self, x: Tensor, past: Tensor, memory: Tensor, real: Tensor) -> Tensor:
        x = self.norms[0](x, self.attention(x, x, x, past))
        x = self.norms[1](x, self.cross(x, memory, memory, real))
        return self.norms[2](x, self.ffn(x))


class AddAndNorm(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))),   LayerNorm(z) = γ · (z - mean) / √(variance + ε) + β

    Mean and variance are those of the D numbers of one position (§ 3.1, § 5.4).
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(sizes.D))
        self.beta = nn.Parameter(torch.zeros(sizes.D))
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x: Tensor, sublayer: Tensor) -> Tensor:
        z = x + self.dropout(sublayer)
        variance, mean = torch.var_mean(z, dim=-1, keepdim=True, correction=0)
        return self.gamma * (z - mean) / torch.sqrt(variance + 1e-5) + self.beta


def attention(Q: Tensor, K: Tensor, V: Tensor, may_see: Tensor) -> Tensor:
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V                       (§ 3.2.1, equation 1)

    Queries (B, h, L, K) are compared with keys (B, h, S, K). Each gets the mean of the values
    (B, h, S, K), weighted by how well their keys match; what it may not see has score -∞, weight 0.
    """
    scores = Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-1])  # (B, h, L, S)
    weights = scores.masked_fill(~may_see, -math.inf).softmax(dim=-1)
    return weights @ V


class MultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V) = Concat(head_1 … head_h) W_O                               (§ 3.2.2)
    head_i = Attention(Q W_Q_i, K W_K_i, V W_V_i)

    The h matrices W_Q_i lie side by side in one of D × D, and so do those of keys and values.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.h = sizes.h
        self.W_Q, self.W_K, self.W_V, self.W_O = (linear(sizes.D, sizes.D) for _ in range(4))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, may_see: Tensor) -> Tensor:
        """Queries from (B, L, D), keys and values from (B, S, D) → (B, L, D)."""
        Q, K, V = self.split(self.W_Q(q)), self.split(self.W_K(k)), self.split(self.W_V(v))
        heads = attention(Q, K, V, may_see)  # (B, h, L, K)
        return self.W_O(heads.transpose(1, 2).flatten(2))  # side by side again: (B, L, D)

    def split(self, x: Tensor) -> Tensor:
        """(B, L, D) → (B, h, L, K)"""
        return x.unflatten(-1, (self.h, -1)).transpose(1, 2)


def padding_mask(ids: Tensor) -> Tensor:
    """(B, 1, 1, S): True where a token is real, False where a short sentence was filled up."""
    return (ids != PAD)[:, None, None, :]


def look_ahead_mask(L: int) -> Tensor:
    """(L, L): True where the key is not later than the query (§ 3.2.3)."""
    return torch.ones(L, L, dtype=torch.bool).tril()


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                              (§ 3.3, equation 2)"""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.W_1 = linear(sizes.D, sizes.F, bias=True)
        self.W_2 = linear(sizes.F, sizes.D, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.W_2(self.W_1(x).relu())


def linear(inputs: int, outputs: int, bias: bool = False) -> nn.Linear:
    """x W (+ b), with W drawn from U(±√(6 / (inputs + outputs))) and b = 0."""
    layer = nn.Linear(inputs, outputs, bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


class Embedding(nn.Module):
    """x = Dropout(E[ids] · √D + PE),   logits = x Eᵀ                                 (§ 3.4)

    One matrix E (V, D) reads the source, reads the target and writes the output.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.E = nn.Parameter(torch.randn(sizes.V, sizes.D) / math.sqrt(sizes.D))
        self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, ids: Tensor) -> Tensor:
        D = self.E.shape[1]
        PE = positional_encoding(ids.shape[1], D)
        return self.dropout(self.E[ids] * math.sqrt(D) + PE.to(self.E))

    def logits(self, x: Tensor) -> Tensor:
        return x @ self.E.T


def positional_encoding(L: int, D: int) -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i/D)),   PE(pos, 2i+1) = cos(pos / 10000^(2i/D)): § 3.5"""
    pos = torch.arange(L, dtype=torch.float64)[:, None]
    angle = pos / 10000 ** (torch.arange(0, D, 2, dtype=torch.float64) / D)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


def noam(step: int, D: int, warmup: int) -> float:
    """rate = D^(-1/2) · min(step^(-1/2), step · warmup^(-3/2))            (§ 5.3, equation 3)

    It rises in a line for `warmup` steps, then falls with the root of the step.
    """
    return D**-0.5 * min(step**-0.5, step * warmup**-1.5)


def smoothed_loss(logits: Tensor, truth: Tensor, epsilon: float = 0.1) -> Tensor:
    """-Σ_t q(t) log p(t),   q(t) = (1 - ε) [t = y] + ε / V,   mean over the real positions

    A target that is never quite certain: it costs perplexity, and helps BLEU (§ 5.4).
    """
    log_p = logits.log_softmax(dim=-1)  # (B, L, V)
    right = -log_p.gather(-1, truth[..., None]).squeeze(-1)
    spread = -log_p.mean(dim=-1)
    real = truth != PAD
    return ((1 - epsilon) * right + epsilon * spread)[real].mean()


@torch.no_grad()
def greedy(model: Transformer, source: Tensor) -> list[list[int]]:
    """Of each of B sources the output that grows by the likeliest token, until it ends."""
    memory = model.encode(source)
    limits = (source != PAD).sum(dim=1) + 50
    output = torch.full((len(source), 1), BEGIN)
    ended = torch.zeros(len(source), dtype=torch.bool)
    while not ended.all():
        best = model.decode(output, memory, source)[:, -1].argmax(dim=-1)
        output = torch.cat([output, best[:, None]], dim=1)
        ended |= (best == END) | (output.shape[1] > limits)
    rows = zip(output[:, 1:].tolist(), limits.tolist(), strict=True)
    return [until_end(row[:limit]) for row, limit in rows]


@torch.no_grad()
def beam_search(model: Transformer, source: Tensor, k: int = 4, alpha: float = 0.6) -> list[int]:
    """Of one source (1, S) the best of k outputs that are followed at once.

    score = log p / ((5 + length) / 6)^α: a longer output is less likely, whatever it says (§ 6.1).
    """
    limit = source.shape[1] + 50
    memory = model.encode(source).expand(k, -1, -1)
    beams: list[tuple[float, list[int]]] = [(0.0, [BEGIN])]
    finished: list[tuple[float, list[int]]] = []

    def score(log_p: float, length: int) -> float:
        return log_p / ((5 + length) / 6) ** alpha

    for length in range(1, limit + 1):
        target = torch.tensor([ids for _, ids in beams])
        logits = model.decode(target, memory[: len(beams)], source)[:, -1].double()
        so_far = torch.tensor([log_p for log_p, _ in beams], dtype=torch.float64)[:, None]
        log_p = so_far + logits.log_softmax(dim=-1)  # of each beam with each token: (k, V)
        values, places = log_p.flatten().topk(2 * k)
        extended = [
            (value, [*beams[place // log_p.shape[1]][1], place % log_p.shape[1]])
            for value, place in zip(values.tolist(), places.tolist(), strict=True)
        ]
        finished += [(score(p, length), ids) for p, ids in extended[:k] if ids[-1] == END]
        beams = [(p, ids) for p, ids in extended if ids[-1] != END][:k]
        hope = score(beams[0][0], limit)  # what the best open output can reach: log p only falls
        if finished and max(finished)[0] >= hope:
            break
    return until_end(max(finished or beams)[1][1:])


def until_end(ids: list[int]) -> list[int]:
    return ids[: ids.index(END)] if END in ids else ids


def words(text: str) -> list[str]:
    """The paper cuts words into pieces (§ 5.1); the phrasebook has so few that words do."""
    return re.findall(r"\w+(?:['’-]\w+)*|[^\w\s]", text)


class Vocabulary:
    """Word ↔ id, one list for both languages."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = Counter(word for text in texts for word in words(text))
        self.words = SPECIAL + sorted(counts, key=lambda word: (-counts[word], word))
        self.ids = {word: i for i, word in enumerate(self.words)}

    def encode(self, text: str) -> list[int]:
        return [self.ids.get(word, UNKNOWN) for word in words(text)]

    def decode(self, ids: Sequence[int]) -> str:
        text = " ".join(self.words[i] for i in ids)
        return re.sub(r" ([.,;:!?])", r"\1", text)


def read_pairs(path: Path) -> list[tuple[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(source, target) for source, _, target in (line.partition("\t") for line in lines)]


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of ids as one table, filled up with PAD to the longest."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])


def batches(
    pairs: list[tuple[list[int], list[int]]], tokens: int, chance: random.Random
) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of source (B, S) and target (B, L + 1), without end: pairs of similar lengths
    together (§ 5.1), as many as `tokens` allow, in a new order each time."""
    while True:
        by_length = sorted(pairs, key=lambda pair: len(pair[0]) + chance.random())
        groups: list[list[tuple[list[int], list[int]]]] = [[]]
        for pair in by_length:
            if (len(groups[-1]) + 1) * (len(pair[0]) + len(pair[1]) + 3) > tokens and groups[-1]:
                groups.append([])
            groups[-1].append(pair)
        for group in chance.sample(groups, len(groups)):
            sources = padded([[*source, END] for source, _ in group])
            yield sources, padded([[BEGIN, *target, END] for _, target in group])


def train_step(
    model: Transformer, adam: torch.optim.Optimizer, source: Tensor, target: Tensor, rate: float
) -> float:
    """Teacher forcing: shown the right output up to each position, asked for the next token.

    target    <s>  Die  Katze  saß  .
    truth     Die  Katze  saß  .  </s>
    """
    for group in adam.param_groups:
        group["lr"] = rate
    loss = smoothed_loss(model(source, target[:, :-1]), target[:, 1:])
    adam.zero_grad()
    loss.backward()
    adam.step()
    return loss.item()


def train(
    pairs: list[tuple[str, str]], minutes: float, steps: int = 1_000_000, seed: int = 1
) -> tuple[Transformer, Vocabulary]:
    """A small Transformer, trained until the time is over (or the steps are)."""
    torch.manual_seed(seed)
    vocabulary = Vocabulary([text for pair in pairs for text in pair])
    model = Transformer(Sizes(V=len(vocabulary.words), N=2, D=128, F=256, h=4))
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    ids = [(vocabulary.encode(source), vocabulary.encode(target)) for source, target in pairs]
    started = time.monotonic()
    for step, (source, target) in enumerate(batches(ids, 2048, random.Random(seed)), start=1):
        loss = train_step(model, adam, source, target, noam(step, D=128, warmup=400))
        seconds = time.monotonic() - started
        over = seconds > 60 * minutes or step >= steps
        if step % 100 == 0 or over:
            print(f"step {step:5}   loss {loss:.3f}   {seconds:4.0f} s", flush=True)
        if over:
            return model.eval(), vocabulary
    raise AssertionError("batches never end")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a Transformer, then translate with it.")
    parser.add_argument("folder", type=Path, help="train.tsv and dev.tsv: source, tab, target")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--text", default="The cat sat on the mat.", help="to translate at the end")
    arguments = parser.parse_args()
    model, vocabulary = train(read_pairs(arguments.folder / "train.tsv"), arguments.minutes)
    dev = read_pairs(arguments.folder / "dev.tsv")[:200]
    sources = padded([[*vocabulary.encode(source), END] for source, _ in dev])
    outputs = greedy(model, sources)
    right = sum(
        output == vocabulary.encode(target)
        for output, (_, target) in zip(outputs, dev, strict=True)
    )
    print(f"{right} of {len(dev)} sentences of dev.tsv come out as they stand there")
    source = torch.tensor([[*vocabulary.encode(arguments.text), END]])
    print(f"{arguments.text} → {vocabulary.decode(beam_search(model, source))}")


if __name__ == "__main__":
    main()
