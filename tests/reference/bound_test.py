#!/usr/bin/env python3
"""The bounds of models/mnist, computed anew in NumPy from the model's file, against `facet eval`.

    tests/reference/bound_test.py FACET

Nothing here is taken from the library: the file is read by its format, the networks are loops over their kernels in
float64, the terms are those of docs/mathematics.md, and the draws of z are the numbers that a Mersenne twister of the
evaluation's seed gives. Ends with 77 where SciPy is missing.
"""
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    from scipy.special import digamma, gammaln, logsumexp
except ImportError:
    print("*** NOTICE: no SciPy: the bound was not computed anew")
    sys.exit(77)

MODEL = Path(__file__).resolve().parent.parent.parent / "models/mnist"
IMAGES, SEED = 40, 5
LAYERS = [(32, 1), (32, 2), (32, 1), (64, 2), (64, 1), (64, 2), (64, 1), (64, 1)]  # channels and strides, table 4
SIZES = [28, 28, 14, 14, 7, 7, 4, 4, 4]
TYPES = {"F64": np.float64, "F32": np.float32}
ALL = (1 << 64) - 1


def read_tensors(path):
    content = path.read_bytes()
    length, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__")
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = np.frombuffer(content[8 + length + begin:8 + length + end], TYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"]).astype(np.float64)
    return tensors


def write_pack(path, images):
    count = len(images)
    parts = {"images": ("U8", images), "labels": ("I32", np.zeros((count, 0), np.int32)),
             "split": ("U8", np.full(count, 2, np.uint8))}
    header, data = {"__metadata__": {"format": "facet-pack-1", "properties": "[]", "origin": "drawn for a test"}}, b""
    for name, (kind, values) in parts.items():
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def drawn_images():
    """Strokes: what is near a random curve is white."""
    random = np.random.default_rng(3)
    rows, columns = np.mgrid[0:28, 0:28]
    images = np.zeros((IMAGES, 1, 28, 28), np.uint8)
    for image in images:
        start, middle, end = random.uniform(5, 23, (3, 2))
        for t in np.linspace(0, 1, 40):
            y, x = (1 - t) ** 2 * start + 2 * t * (1 - t) * middle + t ** 2 * end
            image[0][(rows - y) ** 2 + (columns - x) ** 2 < 2.3] = 255
    return images


def convolution(x, weight, bias, stride):
    """Padding 1, kernel 3."""
    size = (x.shape[2] - 1) // stride + 1
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    result = np.zeros((len(x), weight.shape[0], size, size))
    for i in range(3):
        for j in range(3):
            window = padded[:, :, i:i + stride * size:stride, j:j + stride * size:stride][:, :, :size, :size]
            result += np.einsum("bchw,oc->bohw", window, weight[:, :, i, j], optimize=True)
    return result + bias[None, :, None, None]


def transposed(x, weight, bias, stride, size):
    """The transpose of that convolution: pixel y of the input adds to pixels stride y + i - 1."""
    result = np.zeros((len(x), weight.shape[1], size + 4, size + 4))
    for i in range(3):
        for j in range(3):
            part = np.einsum("bchw,co->bohw", x, weight[:, :, i, j], optimize=True)
            result[:, :, i:i + stride * x.shape[2]:stride, j:j + stride * x.shape[3]:stride] += part
    return result[:, :, 1:size + 1, 1:size + 1] + bias[None, :, None, None]


def encode(model, x):
    for i, (_, stride) in enumerate(LAYERS):
        name = f"encoder.convolution{i}."
        x = np.maximum(convolution(x, model[name + "weight"], model[name + "bias"], stride), 0)
    head = x.reshape(len(x), -1) @ model["encoder.head.weight"].T + model["encoder.head.bias"]
    latents = head.shape[1] // 2
    return head[:, :latents], np.clip(head[:, latents:], -12, 8)


def decode(model, z):
    x = np.maximum(z @ model["decoder.stem.weight"].T + model["decoder.stem.bias"], 0).reshape(len(z), 64, 4, 4)
    for i, (_, stride) in enumerate(reversed(LAYERS)):
        weight, bias = (model[f"decoder.convolution{i}.{part}"] for part in ("weight", "bias"))
        x = convolution(x, weight, bias, 1) if stride == 1 else transposed(x, weight, bias, stride, SIZES[7 - i])
        if i + 1 < len(LAYERS):
            x = np.maximum(x, 0)
    return x


def mixed(x):
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9 & ALL
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb & ALL
    return x ^ (x >> 31)


def key(seed):
    return mixed(seed + 0x9e3779b97f4a7c15 & ALL)


def fold(state, purpose):
    if isinstance(purpose, str):
        number = 0xcbf29ce484222325
        for letter in purpose.encode():
            number = (number ^ letter) * 0x100000001b3 & ALL
        purpose = number
    return key(state ^ mixed(purpose + 0x632be59bd9b4e019 & ALL))


def normal(state, shape):
    """LibTorch's float32 draws on a CPU: uniform numbers of 24 bits, sixteen at a time by Box and Muller."""
    count = int(np.prod(shape))
    assert count % 16 == 0, "other counts are drawn otherwise at their end"
    twister = np.random.RandomState(state & 0xffffffff)
    bits = twister.randint(0, 1 << 32, count, dtype=np.uint64)
    uniform = ((bits & 0xffffff) / (1 << 24)).reshape(-1, 2, 8)
    radius, angle = np.sqrt(-2 * np.log(1 - uniform[:, 0])), 2 * np.pi * uniform[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(shape)


def bounds(model, pixels):
    """The paper's bound and the predictive one, of every image."""
    x = pixels / 255.0
    mean, log_variance = encode(model, x)
    variance = np.exp(log_variance)
    state = fold(fold(fold(key(SEED), "evaluate"), 0), 0)
    z = mean + np.exp(0.5 * log_variance) * normal(state, mean.shape)
    logits = decode(model, z)
    reconstruction = (x * logits - np.logaddexp(0, logits)).sum((1, 2, 3))
    entropy = 0.5 * (log_variance + np.log(2 * np.pi) + 1).sum(1)
    m, s, a, b, c = (model[f"prior.digit.{name}"] for name in "msabc")
    # E[ln pi_k] + E[ln N(z | mu_k, 1 / lambda_k)], over q(pi), q(mu, lambda) and q(z|x)
    distance = (mean[:, None] - m) ** 2 + variance[:, None] + 1 / (s * a / b)
    expected = digamma(c) - digamma(c.sum()) + 0.5 * (digamma(a) - np.log(b) - np.log(2 * np.pi) - a / b * distance).sum(2)
    elbo = reconstruction + entropy + logsumexp(expected, axis=1)
    # Student-t components with 2 a degrees of freedom
    scale = b * (s + 1) / (a * s)
    student = (gammaln(a + 0.5) - gammaln(a) - 0.5 * np.log(2 * a * np.pi * scale)
               - (a + 0.5) * np.log1p((z[:, None] - m) ** 2 / (2 * a * scale))).sum(2)
    predictive = reconstruction + entropy + logsumexp(np.log(c / c.sum()) + student, axis=1)
    return elbo.mean(), predictive.mean()


def main():
    images = drawn_images()
    with tempfile.TemporaryDirectory() as folder:
        pack = Path(folder) / "strokes.safetensors"
        write_pack(pack, images)
        answer = subprocess.run([sys.argv[1], "eval", str(MODEL), "--pack", str(pack), "--seed", str(SEED), "--json"],
                                capture_output=True, text=True)
    if answer.returncode != 0:
        sys.exit(answer.stderr)
    measured = json.loads(answer.stdout)
    elbo, predictive = bounds(read_tensors(MODEL / "model.safetensors"), images)
    failed = False
    for name, value in {"elbo": elbo, "predictive_bound": predictive}.items():
        off = abs(measured[name] - value) / abs(value)
        print(f"{name}: facet {measured[name]:.6f}, here {value:.6f}, relative difference {off:.1e}")
        failed |= not off < 1e-6
    sys.exit(1 if failed else 0)


main()
