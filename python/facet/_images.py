"""Images as people hold them (files, PIL images, arrays) to pixels [N, C, H, W] of a model's shape, and back."""

import os

import numpy as np

from ._facet import Error


def _is_path(image):
    return isinstance(image, (str, os.PathLike))


def _is_pil(image):
    return hasattr(image, "convert") and hasattr(image, "getbands")


def _fail(found, expected):
    raise Error(f"reading images: found {found}, expected {expected}")


def _shape_text(shape):
    channels, height, width = shape
    return f"{width}x{height} pixels (width x height) in {channels} channel{'' if channels == 1 else 's'}"


def _to_bytes(array):
    """Grey levels 0 to 255 from uint8, from booleans, or from floats between 0 and 1."""
    if array.dtype == np.uint8:
        return array
    if array.dtype == np.bool_:
        return array.astype(np.uint8) * 255
    if array.dtype.kind != "f":
        _fail(f"an array of {array.dtype}", "uint8, booleans, or floats between 0 and 1")
    if not np.isfinite(array).all() or array.min() < 0 or array.max() > 1:
        _fail("floats outside of 0 to 1", "floats between 0 and 1, or uint8 from 0 to 255")
    return np.round(array * 255).astype(np.uint8)


def _from_pil(image, shape):
    channels, height, width = shape
    if image.size != (width, height):
        _fail(f"a picture of {image.size[0]}x{image.size[1]}",
              _shape_text(shape) + "; model.read(files) crops and resizes")
    array = np.asarray(image.convert("L" if channels == 1 else "RGB"))
    return array.reshape(height, width, channels).transpose(2, 0, 1)


def _from_array(array, shape):
    """[N, C, H, W] from [H, W], [H, W, C], [N, H, W] or [N, H, W, C]; and whether it was one image."""
    channels, height, width = shape
    array = _to_bytes(array)
    if channels == 1 and array.shape == (height, width):
        return array[None, None], True
    if array.shape == (height, width, channels):
        return array.transpose(2, 0, 1)[None], True
    if channels == 1 and array.ndim == 3 and array.shape[1:] == (height, width):
        return array[:, None], False
    if array.ndim == 4 and array.shape[1:] == (height, width, channels):
        return array.transpose(0, 3, 1, 2), False
    of_one = f"[N, {height}, {width}]" if channels == 1 else f"[N, {height}, {width}, {channels}]"
    return _fail(f"an array of shape {list(array.shape)}", f"{of_one}, or one image")


def to_pixels(images, core):
    """Pixels uint8 [N, C, H, W] for the model `core`, and whether `images` was a single image."""
    shape = core.shape
    if _is_path(images):
        return core.read([os.fspath(images)], False), True
    if _is_pil(images):
        return _from_pil(images, shape)[None], True
    if not isinstance(images, np.ndarray) and hasattr(images, "__dlpack__"):
        images = np.from_dlpack(images)
    if isinstance(images, (list, tuple)):
        if not images:
            _fail("an empty list", "at least one image")
        if all(_is_path(image) for image in images):
            return core.read([os.fspath(image) for image in images], False), False
        return np.concatenate([to_pixels(image, core)[0] for image in images]), False
    if not isinstance(images, np.ndarray):
        _fail(f"an object of type {type(images).__name__}", "an array, a PIL image, a file name, or a list of these")
    pixels, single = _from_array(images, shape)
    if len(pixels) == 0:
        _fail("no image", "at least one")
    return pixels, single


def to_images(pixels, single=False):
    """Images uint8 [N, H, W, C], or [N, H, W] if they are grey, from pixels [N, C, H, W]; without N if single."""
    images = pixels[:, 0] if pixels.shape[1] == 1 else np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))
    return images[0] if single else images
