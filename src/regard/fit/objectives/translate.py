"""Translate: pairs of sentences, an encoder and a decoder, judged by loss and BLEU."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sacrebleu.metrics.bleu import BLEU

from regard.bundle.codec import own_codec
from regard.data.batch import Batch
from regard.data.buckets import Lengths, Numbers, PlannedBatch, plan_epoch
from regard.data.mixture import Portion
from regard.fit.held_out_pairs import greedy_texts, target_loss
from regard.fit.job import FirstWeights, ObjectiveCode
from regard.fit.preflight import coverage_line, warnings
from regard.fit.static_vectors import check_dimensions, fill_embedding
from regard.fit.warm_start import take_weights
from regard.model.lora import check_maps
from regard.model.spec import Spec
from regard.model.transformer import Transformer
from regard.prepare.epochs import Epochs, lengths_of, pairs_batch
from regard.prepare.more_corpora import corpora_lines
from regard.prepare.pairs import Corpus, PreparedPairs, load_prepared, prepare, survey_pairs
from regard.printable import counted
from regard.runs.folder import RunFolder
from regard.runs.sections import Recipe
from regard.training.freeze import check_names
from regard.training.losses import TranslationLoss
from regard.training.memory_limit import in_less_memory
from regard.training.worker import LossOf


def check(recipe: Recipe) -> Spec:
    """Names of weights and the file of vectors; runs/recipe_checks.py has looked at the rest."""
    spec = recipe.spec(recipe.tokenizer.size)
    check_names(spec, recipe.train.freeze)
    if recipe.lora.rank:
        check_maps(spec, recipe.lora.rank, recipe.lora.maps)
    if recipe.train.embeddings is not None:
        check_dimensions(recipe.train.embeddings, spec.d_model)
    return spec


def survey(recipe: Recipe) -> Corpus:
    """Pairs of sentences."""
    return survey_pairs(recipe.data, recipe.train.seed)


@dataclass(frozen=True)
class Validation:
    """A `Validated` (fit/job.py): `loss` in nats per target token, without label smoothing."""

    loss: float
    bleu: float | None

    @property
    def perplexity(self) -> float:
        """e^loss: among how many tokens the model hesitates."""
        return math.exp(min(self.loss, 700.0))

    @property
    def numbers(self) -> dict[str, float | None]:
        return {"perplexity": self.perplexity, "bleu": self.bleu}

    @property
    def score(self) -> float | None:
        return self.bleu

    def sentence(self) -> str:
        bleu = "" if self.bleu is None else f" · BLEU {self.bleu:.1f} (greedy)"
        return f"validation loss {self.loss:.4f} · perplexity {self.perplexity:.2f}{bleu}"


class TranslationJob:
    """fit/job.py says what each of these is."""

    def __init__(self, run: RunFolder, recipe: Recipe, data: PreparedPairs) -> None:
        self.recipe, self.data = recipe, data
        self.spec = recipe.spec(data.tokenizer.size)
        self.loss_of: LossOf = TranslationLoss(recipe.train.label_smoothing)
        self.begins_with = recipe.train.start_from
        self._epochs = Epochs(recipe, data, run.data)

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        return lengths_of(self.data.train)

    @property
    def corpora(self) -> Sequence[Portion]:
        return self.data.corpora

    def batches(self, epoch: int, number: int) -> Iterator[tuple[PlannedBatch, Batch]]:
        return self._epochs.batches(epoch, number)

    def batch(self, numbers: Numbers) -> Batch:
        return pairs_batch(self.data.train, numbers, self.data.tokenizer.special)

    def validation(self, model: Transformer, quick: bool = False) -> Validation:
        train = self.recipe.train
        sentences = 0 if quick else train.bleu_sentences
        return validate(model, self.data, train.token_budget, sentences)

    def start_weights(self, model: Transformer) -> FirstWeights:
        vectors, other = self.recipe.train.embeddings, self.recipe.train.start_from
        return FirstWeights(
            None if vectors is None else fill_embedding(model, self.data.tokenizer, vectors),
            None if other is None else take_weights(model, other),
        )

    def examples(self, batch: Batch) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        tokenizer = self.data.tokenizer
        for i in range(len(batch)):
            source = batch["source"][i][batch["source_real"][i]].tolist()[:-1]  # without </s>
            target = batch["target_out"][i][batch["target_real"][i]].tolist()[:-1]
            rows.append(
                {
                    "example": batch.examples[i] if batch.examples else None,
                    "source": tokenizer.decode(source),
                    "target": tokenizer.decode(target),
                }
            )
        return rows

    def lines(self, survey: Corpus) -> list[str]:
        data, section = self.data, self.recipe.data
        origin = f"phrasebook {section.phrasebook}" if section.phrasebook else "your files"
        held = 0 if section.phrasebook or section.valid_source else len(data.valid_texts)
        too_long = survey.report.kept - held - data.corpora[0].pairs
        left_out = f" ({too_long:,} over {section.max_tokens} tokens left out)"
        full = int((data.train["source"].lengths == section.max_tokens).sum())
        cut = f"; {full:,} sources fill all {section.max_tokens} tokens, what is beyond was cut"
        return [
            f"Data:       {counted(len(data.train), 'pair')} to train on"
            f"{left_out if too_long > 0 else ''}, "
            f"{len(data.valid_texts):,} held out for validation ({origin})"
            f"{cut if section.documents and full else ''}",
            *(f"            {line}" for line in corpora_lines(data.corpora, survey.further)),
            f"Vocabulary: {self.spec.vocabulary:,} pieces ({data.tokenizer.kind}), shared by both "
            "sides",
        ]

    def remarks(self, survey: Corpus) -> list[str]:
        suspicious = warnings(self.recipe, survey, self.data)
        return [coverage_line(self.data), *(f"Look at:    {line}" for line in suspicious)]

    def verify(self) -> None:
        self.data.train.verify()
        self.data.valid.verify()

    def forget_old(self, checkpoints: Path, best_step: int) -> None:
        self._epochs.forget_old(checkpoints, best_step)


def validate(
    model: Transformer, data: PreparedPairs, token_budget: int, sentences: int
) -> Validation:
    """Loss on every pair; BLEU of greedy outputs on the first `sentences` of them (0: none)."""
    model.eval()
    loss = in_less_memory(lambda budget: target_loss(model, _held_out(data, budget)), token_budget)
    chosen = data.valid_texts[:sentences]
    if not chosen:
        return Validation(loss, None)
    outputs = greedy_texts(model, own_codec(data.tokenizer), [source for source, _ in chosen])
    references = [target for _, target in chosen]
    return Validation(loss, BLEU(force=True).corpus_score(outputs, [references]).score)


def _held_out(data: PreparedPairs, budget: int) -> Iterator[Batch]:
    plan = plan_epoch(*lengths_of(data.valid), token_budget=budget, seed=0, epoch=0)
    return (pairs_batch(data.valid, numbers, data.tokenizer.special) for numbers in plan)


CODE = ObjectiveCode(
    check, survey, prepare, lambda run, recipe: TranslationJob(run, recipe, load_prepared(run))
)
