"""facet.Model: a trained model."""

import json
import os
from dataclasses import dataclass

import numpy as np

from . import _facet
from ._facet import Error
from ._images import to_images, to_pixels


@dataclass(frozen=True)
class Factor:
    """One block of the latent vector with its own mixture."""

    name: str
    components: int  #: K
    dimensions: int  #: D
    property: str | None  #: the labelled property that names it; None for a free factor
    values: list  #: names of the first components of a named factor
    weights: np.ndarray  #: expected weights of the components, float64 [K]
    images: np.ndarray  #: expected number of training images per component, float64 [K]


@dataclass(frozen=True)
class Encoding:
    """What the encoder says of N images."""

    mean: np.ndarray  #: float32 [N, Z]; the blocks are in the order of the factors
    variance: np.ndarray  #: float32 [N, Z]
    probabilities: dict  #: factor name -> assignment probabilities, float64 [N, K]

    @property
    def codes(self):
        """The most likely component of every factor, int64 [N, I]."""
        return np.stack([p.argmax(1) for p in self.probabilities.values()], axis=1)


def _settings(values, more):
    """"name=value" for every factor; `values` is a dict for names that are no Python words, or None."""
    return [f"{name}={value}" for name, value in {**(values or {}), **more}.items()]


class Model:
    """A trained model; made by facet.load or facet.train.

    Images are uint8 arrays [N, H, W, C], or [N, H, W] if the model's are grey; one image [H, W, C]; floats from 0 to 1;
    PIL images; file names; lists of these. A call with one image returns one. Several threads may use a model: calls
    wait for each other.
    """

    def __init__(self, path, device="auto", precision="tf32"):
        self._core = _facet.Model(os.fspath(path), device, precision)
        self.factors = [Factor(**entry) for entry in self._core.factors]

    def __repr__(self):
        channels, height, width = self._core.shape
        factors = ", ".join(f"{factor.name} {factor.components}" for factor in self.factors)
        return f"facet.Model({width}x{height}x{channels}; {factors})"

    @property
    def shape(self):
        """The shape of an image, (H, W) or (H, W, C)."""
        channels, height, width = self._core.shape
        return (height, width) if channels == 1 else (height, width, channels)

    @property
    def device(self):
        """"cpu" or "cuda:0"."""
        return self._core.device

    def _factor(self, name):
        for factor in self.factors:
            if factor.name == name:
                return factor
        raise Error(f"choosing a factor '{name}': found no such factor, expected one of "
                    + ", ".join(factor.name for factor in self.factors))

    def read(self, files, resize=True):
        """Pictures from files as images of the model's shape, cropped and resized where `resize` is true."""
        one = isinstance(files, (str, os.PathLike))
        names = [os.fspath(name) for name in ([files] if one else files)]
        return to_images(self._core.read(names, resize), one)

    def encode(self, images):
        """The Encoding of images: mean and variance of q(z|x), and the assignment probabilities of every factor."""
        found = self._core.encode(to_pixels(images, self._core)[0])
        names = [factor.name for factor in self.factors]
        return Encoding(found["mean"], found["variance"], dict(zip(names, found["probabilities"])))

    def decode(self, z, seed=None):
        """Images for latent vectors [N, Z] or one [Z]: the means of p(x|z), or draws from it with a seed."""
        z = np.asarray(z)
        single = z.ndim == 1
        return to_images(self._core.decode(z[None] if single else z, seed), single)

    def sample(self, count=None, *, refined=False, refine_steps=8, refine_guidance=None, seed=1, values=None, **more):
        """Draws images, `count` or one, with factors at the given values: sample(16, glasses="with", first=3).

        `values` is a dict of such values, for factors whose names are no Python words. With `refined` the run's refiner,
        which `facet refine` trains, makes the images sharp in so many steps, with a guidance of its own or the given one.
        """
        z, components = self.sample_latents(1 if count is None else count, seed=seed, values=values, **more)
        pixels = (self._core.refine(z, components, seed, refine_steps, 0 if refine_guidance is None else refine_guidance)
                  if refined else self._core.decode(z, None))
        return to_images(pixels, count is None)

    def sample_latents(self, count, *, seed=1, values=None, **more):
        """Draws latent vectors: z float64 [count, Z], and the component of every factor, int64 [count, I]."""
        if count < 1:
            raise Error(f"sampling: found a count of {count}, expected at least 1")
        return self._core.sample(count, _settings(values, more), seed)

    def edit(self, images, *, keep_offset=True, values=None, **more):
        """Images with factors moved to other values: edit(images, smile="smiling"). All else stays.

        With keep_offset an image keeps its place within the component, so that it stays an individual.
        """
        pixels, single = to_pixels(images, self._core)
        z = self._core.edit(pixels, _settings(values, more), keep_offset)
        return to_images(self._core.decode(z, None), single)

    def predict_proba(self, images):
        """Probabilities by factor name: of a named factor's values, float64 [N, V], of a free one's components, [N, K].

        They are the model's own; `facet label` calibrates them on the valid split.
        """
        result = {}
        for name, probabilities in self.encode(images).probabilities.items():
            values = len(self._factor(name).values)
            if values:
                probabilities = probabilities[:, :values]
                probabilities = probabilities / np.maximum(probabilities.sum(1, keepdims=True), 1e-300)
            result[name] = probabilities
        return result

    def predict(self, images):
        """By factor name: the most probable value of a named factor, the most probable component of a free one, [N]."""
        result = {}
        for name, probabilities in self.predict_proba(images).items():
            best, values = probabilities.argmax(1), self._factor(name).values
            result[name] = np.asarray(values)[best] if values else best
        return result

    def score(self, images, seed=1):
        """The bound on log p(x) of every image in nats, float64 [N], with one draw of z."""
        return self._core.score(to_pixels(images, self._core)[0], seed)

    def evaluate(self, split="test", *, pack=None, samples=1):
        """What `facet eval --json` prints, as a dict, for the run's own data or for another pack."""
        return json.loads(self._core.evaluate(split, "" if pack is None else os.fspath(pack), samples))


def load(run, device="auto", precision="tf32"):
    """The model of a run folder (or of one of its model files) on "auto", "cpu" or "cuda".

    On a GPU networks multiply in "tf32", "bf16", which is the fastest, or "fp32".
    """
    return Model(run, device, precision)
