import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__version__: str

_Path = str | os.PathLike[str]
# uint8 or floats from 0 to 1, [N, H, W, C] or [N, H, W]; one image; PIL images; files; lists of these
_Images = Any
_Pixels = npt.NDArray[np.uint8]
_Floats = npt.NDArray[np.float64]

class Error(ValueError): ...

@dataclass(frozen=True)
class Factor:
    name: str
    components: int
    dimensions: int
    property: str | None
    values: list[str]
    weights: _Floats
    images: _Floats

@dataclass(frozen=True)
class Encoding:
    mean: npt.NDArray[np.float32]
    variance: npt.NDArray[np.float32]
    probabilities: dict[str, _Floats]
    @property
    def codes(self) -> npt.NDArray[np.int64]: ...

class Model:
    factors: list[Factor]
    def __init__(self, path: _Path, device: str = "auto") -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def device(self) -> str: ...
    def read(self, files: _Path | Sequence[_Path], resize: bool = True) -> _Pixels: ...
    def encode(self, images: _Images) -> Encoding: ...
    def decode(self, z: npt.ArrayLike, seed: int | None = None) -> _Pixels: ...
    def sample(self, count: int | None = None, *, seed: int = 1, values: Mapping[str, str | int] | None = None,
               **more: str | int) -> _Pixels: ...
    def sample_latents(self, count: int, *, seed: int = 1, values: Mapping[str, str | int] | None = None,
                       **more: str | int) -> tuple[_Floats, npt.NDArray[np.int64]]: ...
    def edit(self, images: _Images, *, keep_offset: bool = True, values: Mapping[str, str | int] | None = None,
             **more: str | int) -> _Pixels: ...
    def predict_proba(self, images: _Images) -> dict[str, _Floats]: ...
    def predict(self, images: _Images) -> dict[str, npt.NDArray[Any]]: ...
    def score(self, images: _Images, seed: int = 1) -> _Floats: ...
    def evaluate(self, split: str = "test", *, pack: _Path | None = None, samples: int = 1) -> dict[str, Any]: ...

def load(run: _Path, device: str = "auto") -> Model: ...
def train(config: _Path | dict[str, Any] | None, out: _Path, *, settings: Mapping[str, Any] | None = None,
          device: str = "auto", progress: Callable[[dict[str, Any]], Any] | None = None) -> Model: ...
def write_pack(path: _Path, images: npt.ArrayLike, labels: Mapping[str, Sequence[Any]] | None = None, *,
               split: Sequence[str | int] | None = None, seed: int = 1) -> None: ...
