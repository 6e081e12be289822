"""The attention filter: where an encoder of patches looks in a picture, told in two ways.

    rollout     R_n = (½ Ā_n + ½ I) R_{n-1},  Ā_n the mean of the heads of layer n, R_0 = I
                the class token's row of the last R: how much of each patch could reach it
                (Abnar and Zuidema 2020)
    gradients   |Σ IG of the pixels of a patch|: how much the patch changes p(label), on the way
                from a black picture to this one (explain/gradients.py)

Attention says what was read, not what it was read for; so the two are compared, by the ranks of the
patches and by the fifth of them that each finds most important.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from regard.answer.loaded import LoadedModel
from regard.data.picture import Colours
from regard.errors import MisuseError
from regard.explain.gradients import Attribution, attribute
from regard.fit.objectives.similar import spearman
from regard.model.spec import Spec
from regard.model.trace import Trace
from regard.model.transformer import Transformer

AGREE, DISAGREE = 0.5, 0.2  # rank correlations from which, and below which, it is said so
FIFTH = 0.2  # of the patches
TOGETHER = 4096  # patches in one pass


@dataclass(frozen=True, eq=False)
class PictureFilter:
    """Both views of one picture; grids have a number for each patch."""

    label: str
    probability: float
    colours: Colours
    rollout: Float[np.ndarray, "side side"]
    gradients: Float[np.ndarray, "side side"]
    attribution: Attribution

    @property
    def agreement(self) -> float:
        """Spearman's ρ over the patches, -1 to 1."""
        return spearman(self.rollout.ravel(), self.gradients.ravel())

    @property
    def gap(self) -> float:
        """What the gradients' sum misses of the difference that the picture makes."""
        return abs(self.attribution.gap)

    @property
    def shared(self) -> float:
        """Of the fifth of the patches that matter most by rollout, how many do by gradients."""
        count = max(1, round(FIFTH * self.rollout.size))
        tops = [set((-grid).ravel().argsort()[:count]) for grid in (self.rollout, self.gradients)]
        return len(tops[0] & tops[1]) / count

    @property
    def filtered(self) -> Colours:
        """The picture, each patch as bright as the rollout says."""
        share = self.rollout / self.rollout.max()
        patch = self.colours.shape[0] // len(share)
        mask = np.kron(share, np.ones((patch, patch)))[:, :, None]
        bright: Colours = np.rint(self.colours * mask).astype(np.uint8)
        return bright

    def sentence(self) -> str:
        """Whether the two agree, for a person."""
        rho, shared = self.agreement, f"{self.shared:.0%} of the upper fifth shared"
        if rho >= AGREE:
            return f"rollout and gradients agree (ρ {rho:.2f}, {shared})"
        if rho < DISAGREE:
            return f"rollout and gradients disagree (ρ {rho:.2f}, {shared})"
        return f"rollout and gradients agree in part (ρ {rho:.2f}, {shared})"


def filter_picture(model: LoadedModel, colours: Colours, label: str | None = None) -> PictureFilter:
    """Of (height, width, channels) as answer/see.py gives them; without a label, the likeliest."""
    model.demand("see")
    network, spec, names = model.transformer, model.spec, model.bundle.labels.names
    if label is not None and label not in names:
        raise MisuseError("label", got=label, expected=f"one of {', '.join(names[:20])}")
    device = next(network.parameters()).device
    both = np.stack((colours, np.zeros_like(colours)))
    pixels, black = torch.from_numpy(model.bundle.pixels.numbers(both)).to(device)

    def probabilities(rows: Float[Tensor, "B P numbers"]) -> Float[Tensor, "B C"]:
        answer: Tensor = network.answer(network.see(pixels_of(rows, spec))).softmax(dim=-1)
        return answer

    rows, baseline = patches_of(pixels, spec), patches_of(black, spec)
    with torch.no_grad():
        p = probabilities(rows[None])[0]
    chosen = int(p.argmax()) if label is None else names.index(label)
    together = max(1, TOGETHER // (spec.patches + 1))
    found = attribute(lambda x: probabilities(x)[:, chosen], rows, baseline, together=together)
    side = spec.image_size // spec.patch_size
    return PictureFilter(
        names[chosen],
        float(p[chosen]),
        colours,
        rollout_of(network, pixels).reshape(side, side),
        np.abs(found.tokens).reshape(side, side),
        found,
    )


@torch.no_grad()
def rollout_of(
    model: Transformer, pixels: Float[Tensor, "C height width"]
) -> Float[np.ndarray, " P"]:
    """The share of each patch in the class token."""
    trace = Trace()
    model.see(pixels[None], trace)
    layers = range(model.spec.encoder_layers)
    return rolled_out(
        [trace[f"encoder.{n}.self.weights"][0].double().cpu().numpy() for n in layers]
    )


def rolled_out(layers: list[Float[np.ndarray, "H L L"]]) -> Float[np.ndarray, " P"]:
    """The class token's row of R, without itself."""
    rolled: NDArray[np.float64] = np.eye(layers[0].shape[-1])
    for weights in layers:
        rolled = (weights.mean(axis=0) + np.eye(len(rolled))) / 2 @ rolled
    return rolled[0, 1:]


def patches_of(pixels: Float[Tensor, "C height width"], spec: Spec) -> Float[Tensor, "P numbers"]:
    """The numbers of each patch, in the order in which the model reads them."""
    cut: Tensor = F.unfold(pixels[None], spec.patch_size, stride=spec.patch_size)[0].T
    return cut.contiguous()


def pixels_of(rows: Float[Tensor, "B P numbers"], spec: Spec) -> Float[Tensor, "B C height width"]:
    """The inverse."""
    size = (spec.image_size, spec.image_size)
    whole: Tensor = F.fold(
        rows.transpose(1, 2), size, kernel_size=spec.patch_size, stride=spec.patch_size
    )
    return whole
