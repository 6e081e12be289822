"""Pictures in: `model.see(picture)`, `model.caption(picture)`; pictures out: `model.draw(text)`."""

# A text is an iterable of texts too, as mypy sees it; the overload for one text is the one meant.
# mypy: disable-error-code="overload-overlap"

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast, overload

from regard.answer.answers import Answers
from regard.api.ask import Asked
from regard.api.shapes import many

if TYPE_CHECKING:
    from regard.answer.caption import Caption
    from regard.answer.draw import Drawing
    from regard.answer.labels import Label
    from regard.answer.see import Seen


class WithPictures(Asked):
    """The part of `Model` that sees, says what it sees, and draws."""

    @overload
    def see(self, pictures: "Seen", *, top: int | None = None) -> "Answers[Label]": ...
    @overload
    def see(
        self, pictures: "Iterable[Seen]", *, top: int | None = None
    ) -> "list[Answers[Label]]": ...
    def see(
        self, pictures: "Seen | Iterable[Seen]", *, top: int | None = None
    ) -> "Answers[Label] | list[Answers[Label]]":
        """The labels of a picture, likeliest first; or of each of several.

        A picture is a file, its bytes, an image of Pillow or an array (height, width[, channels])
        of numbers from 0 to 255; several are a list of them, not one array.
        """
        from regard.answer.see import is_one, see_pictures  # imports torch

        if is_one(pictures):
            return Answers(see_pictures(self, [pictures], top)[0])
        several = cast("Iterable[Seen]", pictures)
        return [Answers(row) for row in see_pictures(self, list(several), top)]

    @overload
    def caption(
        self, pictures: "Seen", *, n: None = None, beam: int | None = None
    ) -> "Caption": ...
    @overload
    def caption(
        self, pictures: "Seen", *, n: int, beam: int | None = None
    ) -> "Answers[Caption]": ...
    @overload
    def caption(
        self, pictures: "Iterable[Seen]", *, n: None = None, beam: int | None = None
    ) -> "list[Caption]": ...
    @overload
    def caption(
        self, pictures: "Iterable[Seen]", *, n: int, beam: int | None = None
    ) -> "list[Answers[Caption]]": ...
    def caption(
        self, pictures: "Seen | Iterable[Seen]", *, n: int | None = None, beam: int | None = None
    ) -> "Caption | Answers[Caption] | list[Caption] | list[Answers[Caption]]":
        """What the model says of a picture, or of each of several; with `n` the best so many.

        A picture is what `see` takes. `beam` is how many captions are followed at once; without
        it as the recipe says, or `n`.
        """
        from regard.answer.caption import caption_pictures  # imports torch
        from regard.answer.see import is_one  # imports torch

        one = is_one(pictures)
        several = [pictures] if one else list(cast("Iterable[Seen]", pictures))
        rows = caption_pictures(self, cast("list[Seen]", several), beam, n or 1)
        if n is None:
            best = [row[0] for row in rows]
            return best[0] if one else best
        answers = [Answers(row) for row in rows]
        return answers[0] if one else answers

    @overload
    def draw(
        self,
        captions: str,
        *,
        n: int = 1,
        seed: int | None = None,
        temperature: float | None = None,
    ) -> "Answers[Drawing]": ...
    @overload
    def draw(
        self,
        captions: Iterable[str],
        *,
        n: int = 1,
        seed: int | None = None,
        temperature: float | None = None,
    ) -> "list[Answers[Drawing]]": ...
    def draw(
        self,
        captions: str | Iterable[str],
        *,
        n: int = 1,
        seed: int | None = None,
        temperature: float | None = None,
    ) -> "Answers[Drawing] | list[Answers[Drawing]]":
        """`n` pictures of a caption, the likeliest first; or of each of several captions.

        A picture has `colours`, an array, and `image`; `save` writes it. Without a `seed` they are
        others each time; `temperature` 0 leaves nothing to chance.
        """
        from regard.answer.draw import draw_texts  # imports torch

        answers = draw_texts(self, many(captions, "draw"), n, seed, temperature)
        return answers[0] if isinstance(captions, str) else answers
