"""facet.train and facet.write_pack."""

import json
import os

import numpy as np

from . import _facet
from ._facet import Error
from ._images import _to_bytes
from ._model import Model


def _config_text(config):
    if isinstance(config, dict):
        return json.dumps(config)
    try:
        with open(config, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise Error(f"reading the config '{os.fspath(config)}': found {error.strerror.lower()}") from None


def train(config, out, *, settings=None, device="auto", progress=None):
    """Trains a model and returns it; the run folder `out` holds all that `facet train` writes.

    config: a file, or a dict; None goes on with the run in `out`.
    settings: a dict of options that change the config, {"train.joint.steps": 1000}.
    progress: called with a dict every `train.log_every` steps (the line of metrics.jsonl), with an "evaluation" in it
        where the valid split was evaluated, and with {"notice": sentence}. An exception in it ends the run.
    Ctrl-C saves the run and raises KeyboardInterrupt; train(None, out) then goes on. Other Python threads run meanwhile.
    """
    given = [f"{key}={json.dumps(value) if not isinstance(value, str) else value}"
             for key, value in (settings or {}).items()]
    tell = None if progress is None else lambda record: progress(json.loads(record))
    _facet.train(None if config is None else _config_text(config), given, os.fspath(out), device, tell)
    return Model(out, device)


def _column(name, labels, count):
    """A property's values in their order, and the index of each image's value, -1 where it is None or empty."""
    labels = list(labels)
    if len(labels) != count:
        raise Error(f"writing a pack: found {len(labels)} labels of '{name}', expected one per image, {count}")
    texts = [None if label is None or label == "" or label != label else str(label) for label in labels]
    values = sorted({text for text in texts if text is not None})
    if not values:
        raise Error(f"writing a pack: found no label of '{name}', expected at least one")
    index = {value: i for i, value in enumerate(values)}
    return values, np.array([-1 if text is None else index[text] for text in texts], dtype=np.int32)


def _random_split(count, seed):
    """80 % of the images to train on (0), 10 % valid (1), 10 % test (2), as uint8 [count]."""
    order = np.random.default_rng(seed).permutation(count)
    split = np.zeros(count, dtype=np.uint8)
    split[order[:count // 10]] = 2
    split[order[count // 10:count // 5]] = 1
    return split


def write_pack(path, images, labels=None, *, split=None, seed=1):
    """Writes a pack: images uint8 or floats from 0 to 1, [N, H, W] or [N, H, W, C].

    labels: {property: one label per image}, None or "" where unknown.
    split: "train", "valid" or "test" (or 0, 1, 2) per image; without it 80, 10 and 10 % are drawn with the seed.
    """
    images = _to_bytes(np.asarray(images))
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.shape[3] not in (1, 3) or len(images) == 0:
        raise Error(f"writing a pack: found an array of shape {list(images.shape)}, expected [N, H, W], "
                    "[N, H, W, 1] or [N, H, W, 3]")
    count = len(images)
    columns = {name: _column(name, values, count) for name, values in (labels or {}).items()}
    table = (np.stack([column for _, column in columns.values()], axis=1) if columns
             else np.zeros((count, 0), dtype=np.int32))
    if split is None:
        split = _random_split(count, seed)
    else:
        names = {"train": 0, "valid": 1, "test": 2, 0: 0, 1: 1, 2: 2}
        try:
            split = np.array([names[part if isinstance(part, str) else int(part)] for part in split], dtype=np.uint8)
        except (KeyError, TypeError, ValueError):
            raise Error("writing a pack: found a split that is not known, expected train, valid or test") from None
        if len(split) != count:
            raise Error(f"writing a pack: found {len(split)} splits, expected one per image, {count}")
    _facet.write_pack(os.fspath(path), np.ascontiguousarray(images.transpose(0, 3, 1, 2)), table, split,
                      [(name, values) for name, (values, _) in columns.items()], "from Python")
