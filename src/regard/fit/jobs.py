"""The job of a recipe, by its objective: surveyed, prepared, described, taken up again."""

from regard.draw.counted import counted
from regard.fit.encoder_job import EncoderJob
from regard.fit.job import Job
from regard.fit.similar_job import SimilarJob
from regard.fit.translation import TranslationJob
from regard.prepare.more_corpora import parts_lines
from regard.prepare.pairs import Corpus, load_prepared, prepare, survey
from regard.prepare.scored_pairs import SimilarData, load_pairs, prepare_pairs, survey_pairs
from regard.prepare.survey import survey_texts, survey_unlabelled
from regard.prepare.texts import (
    EncoderData,
    Texts,
    load_texts,
    prepare_texts,
)
from regard.runs.folder import Run, seal
from regard.runs.recipe import Recipe

AnyJob = TranslationJob | EncoderJob | SimilarJob


def job_of(run: Run, recipe: Recipe) -> AnyJob:
    """What `regard train` prepared in this run, as a job."""
    if recipe.objective == "translate":
        return TranslationJob(run, recipe, load_prepared(run))
    if recipe.objective == "similar":
        return SimilarJob(run, recipe, load_pairs(run))
    return EncoderJob(run, recipe, load_texts(run))


def survey_of(recipe: Recipe) -> Corpus | Texts:
    """Count and check the data."""
    if recipe.objective == "translate":
        return survey(recipe.data, recipe.train.seed)
    if recipe.objective == "similar":
        return survey_pairs(recipe.data, recipe.similar, recipe.train.seed)
    if recipe.objective == "fill":
        return survey_unlabelled(recipe.data, recipe.train.seed)
    return survey_texts(recipe.data, recipe.train.seed, tags=recipe.objective == "tag")


def prepared_job(run: Run, recipe: Recipe, found: Corpus | Texts) -> AnyJob:
    """Fill the run's data folder."""
    job: AnyJob
    if isinstance(found, Corpus):
        job = TranslationJob(run, recipe, prepare(run, recipe, found))
    elif recipe.objective == "similar":
        job = SimilarJob(run, recipe, prepare_pairs(run, recipe, found))
    else:
        job = EncoderJob(run, recipe, prepare_texts(run, recipe, found))
    seal(run)
    return job


def data_lines(job: AnyJob, recipe: Recipe, found: Corpus | Texts) -> list[str]:
    """What is trained on, for a person."""
    if isinstance(job, EncoderJob | SimilarJob):
        return _texts_lines(job.data)
    assert isinstance(found, Corpus)
    data = job.data
    origin = f"phrasebook {recipe.data.phrasebook}" if recipe.data.phrasebook else "your files"
    held = 0 if recipe.data.phrasebook or recipe.data.valid_source else len(data.valid_texts)
    too_long = found.report.kept - held - data.parts[0].pairs
    left_out = (
        f" ({too_long:,} over {recipe.data.max_tokens} tokens left out)" if too_long > 0 else ""
    )
    return [
        f"Data:       {counted(len(data.train), 'pair')} to train on{left_out}, "
        f"{len(data.valid_texts):,} held out for validation ({origin})",
        *(f"            {line}" for line in parts_lines(data.parts, found.further)),
        f"Vocabulary: {job.spec.vocabulary:,} pieces ({data.tokenizer.kind}), shared by both sides",
    ]


def _texts_lines(data: EncoderData | SimilarData) -> list[str]:
    cut = sum(
        int((store.source_lengths == data.file.limit).sum()) for store in (data.train, data.valid)
    )
    labels = f", {counted(len(data.file.labels), 'label')}" if data.file.labels else ""
    said = f"; {cut:,} fill all {data.file.limit} tokens, what is beyond was cut" if cut else ""
    return [
        f"Data:       {counted(len(data.train), 'text')} to train on, {len(data.valid):,} held "
        f"out for validation{labels}{said}",
        f"Vocabulary: {data.tokenizer.size:,} pieces",
    ]


def first_use(job: Job, run: Run) -> str:
    """The command to try a trained model with."""
    task = "translate" if isinstance(job, TranslationJob) else ""
    task = task or {"classes": "classify", "tokens": "fill", "labels": "tag"}.get(
        job.spec.head, "embed"
    )
    return f'regard {task} {run.folder} "…"'
