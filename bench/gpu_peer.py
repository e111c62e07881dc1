#!/usr/bin/env python3
"""The joint training step of `facet bench` on a GPU, written in PyTorch: the same networks, the same prior and the
same work (E-step, bound, Adam, E-step with the new encoder, natural-gradient step), TF32 or autocast to bfloat16 with
channels-last images, fused Adam, and either the whole step as one CUDA graph or torch.compile with its own graphs.
With --mode inference it is the work of `facet bench --inference` instead: codes of images, samples, the bound, draws of
importance bounds, with results on the host and pixels where Facet's commands have them, with the mixture's densities compiled.
    gpu_peer.py [--network paper28|paper64] [--mode graph|compile|inference] [--precision tf32|bf16] [--batch B]
                 [--components K] [--steps N]
Prints one JSON object with the milliseconds per step and the peak memory, or with the rates per second.
"""
import argparse, json, math, statistics, time
import torch, torch.nn as nn, torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--network", default="paper28", choices=["paper28", "paper64"])
parser.add_argument("--mode", default="graph", choices=["graph", "compile", "inference"])
parser.add_argument("--precision", default="tf32", choices=["tf32", "bf16"])
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--components", type=int, default=64)
parser.add_argument("--steps", type=int, default=1000)
options = parser.parse_args()
torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = True
large, bf16 = options.network == "paper64", options.precision == "bf16"
B, K, D = options.batch, options.components, 320 if large else 64
N = max(10000 if large else 50000, K)
m0, s0, a0, b0, c0 = 0.0, 1.0, 0.01, 0.01, 1.0
device = torch.device("cuda")

conv = lambda i, o, s: nn.Conv2d(i, o, 3, s, 1)
up = lambda i, o, pad: nn.ConvTranspose2d(i, o, 3, 2, 1, output_padding=pad)


def stack(layers):
    return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU(inplace=True))])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        if large:
            self.encoder = stack([conv(3, 128, 2), conv(128, 256, 2), conv(256, 512, 2), conv(512, 1024, 2)])
            self.decoder = nn.Sequential(stack([up(1024, 512, 1), up(512, 256, 1), up(256, 128, 1)]), up(128, 6, 1))
            self.channels = 1024
        else:
            self.encoder = stack([conv(1, 32, 1), conv(32, 32, 2), conv(32, 32, 1), conv(32, 64, 2),
                                  conv(64, 64, 1), conv(64, 64, 2), conv(64, 64, 1), conv(64, 64, 1)])
            self.decoder = nn.Sequential(
                stack([conv(64, 64, 1), conv(64, 64, 1), up(64, 64, 0), conv(64, 64, 1), up(64, 32, 1),
                       conv(32, 32, 1), up(32, 32, 1)]), conv(32, 1, 1))
            self.channels = 64
        features = self.channels * 16
        self.head = nn.Linear(features, 2 * D)
        self.stem = nn.Linear(D, features)

    def encode(self, x):
        with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
            mean, log_variance = self.head(self.encoder(x).flatten(1)).float().chunk(2, 1)
        return mean, log_variance.clamp(-12, 8)

    def decode(self, z):
        with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
            return self.decoder(F.relu(self.stem(z)).view(-1, self.channels, 4, 4)).float()


net = Net().to(device)
if bf16:
    net = net.to(memory_format=torch.channels_last)
assert sum(p.numel() for p in net.parameters()) == (28145158 if large else 567745)
adam = torch.optim.Adam(net.parameters(), lr=1e-4, fused=True, capturable=True)
shape = (3, 64, 64) if large else (1, 28, 28)
pixels = (torch.rand(N, *shape, device=device) > 0.87).to(torch.uint8) * 255

double = dict(dtype=torch.float64, device=device)
means = torch.randn(K, D, **double)
s = torch.full_like(means, s0 + N / K)
a = torch.full_like(means, a0 + 0.5 * N / K)
lam = [a - 0.5, -(a + 0.5 * s * means * means), s * means, -0.5 * s]
counts = torch.full((K,), c0 + N / K, **double)
rho = torch.full((), 0.01, **double)


def coefficients():
    s = -2 * lam[3]
    m = lam[2] / s
    a, b = lam[0] + 0.5, -lam[1] - 0.5 * s * m * m
    precision = a / b
    constant = 0.5 * (torch.digamma(a) - torch.log(b) - math.log(2 * math.pi) - 1 / s - precision * m * m).sum(1)
    weights = torch.digamma(counts) - torch.digamma(counts.sum())
    return [c.float() for c in (precision, precision * m, constant, weights)]


def expected_log(mean, log_variance, c):
    return c[2] + mean @ c[1].t() - 0.5 * (mean * mean + log_variance.exp()) @ c[0].t()


def batch():
    x = pixels[torch.randint(N, (B,), device=device)].float() / 255
    return 2 * x - 1 if large else x


def log_density(x, output):
    if not large:
        return -F.binary_cross_entropy_with_logits(output, x, reduction="none").sum((1, 2, 3))
    mean, raw = output.chunk(2, 1)
    stddev = 0.001 + 0.399 * torch.sigmoid(raw)
    return -(0.5 * ((x - mean) / stddev) ** 2 + torch.log(stddev) + 0.5 * math.log(2 * math.pi)).sum((1, 2, 3))


def loss_of(x):
    mean, log_variance = net.encode(x)
    z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
    c = coefficients()
    e = expected_log(mean, log_variance, c)
    gamma = torch.softmax((e + c[3]).detach(), 1)
    kl_z = -(gamma * e).sum(1) - 0.5 * (log_variance + math.log(2 * math.pi * math.e)).sum(1)
    kl_r = (torch.xlogy(gamma, gamma) - gamma * c[3]).sum(1)
    return -(log_density(x, net.decode(z)) - kl_z - kl_r).mean()


@torch.no_grad()
def move_prior(x):
    mean, log_variance = net.encode(x)
    c = coefficients()
    gamma = torch.softmax(expected_log(mean, log_variance, c) + c[3], 1).double().t() * (N / B)
    m8 = mean.double()
    taken = gamma.sum(1, keepdim=True)
    optimum = [a0 + 0.5 * taken - 0.5,
               -(b0 + 0.5 * s0 * m0 * m0 + 0.5 * gamma @ (m8 * m8 + log_variance.double().exp())),
               s0 * m0 + gamma @ m8, -0.5 * (s0 + taken)]
    for old, new in zip(lam, optimum):
        old.mul_(1 - rho).add_(rho * new)
    counts.mul_(1 - rho).add_(rho * (c0 + taken[:, 0]))


def log_student_t(z, m, spread, power):
    """The log densities of rows of z under every component but for a constant, [R, K]."""
    return -(power * torch.log1p((z[:, None] - m) ** 2 / spread)).sum(2)


@torch.no_grad()
def measure_inference():
    size = 2000 if large else 4000  # as many images as are computed at once
    encoded, sampled, evaluated, weighted, draws = (10000, 5000, 5000, 20, 5000) if large else (50000, 50000, 10000, 200, 5000)
    host = pixels.cpu()
    to_units = lambda u8: 2 * (u8.float() / 255) - 1 if large else u8.float() / 255
    c = coefficients()
    mixture_s = -2 * lam[3]
    m, shape_a = lam[2] / mixture_s, lam[0] + 0.5
    rate_b = -lam[1] - 0.5 * mixture_s * m * m
    spread, power = 2 * rate_b * (mixture_s + 1) / mixture_s, shape_a + 0.5
    constant = (torch.lgamma(power) - torch.lgamma(shape_a) - 0.5 * torch.log(math.pi * spread)).sum(1)
    constant = (constant + torch.log(counts / counts.sum())).float()
    numbers = [t.float() for t in (m, spread, power)]
    density = torch.compile(log_student_t, dynamic=False)
    predictive = lambda z: torch.logsumexp(constant + density(z, *numbers), 1)

    def encode():
        for begin in range(0, encoded, size):
            mean, log_variance = net.encode(to_units(host[begin:begin + size].to(device)))
            (expected_log(mean, log_variance, c) + c[3]).argmax(1).cpu()

    def sample():
        for begin in range(0, sampled, size):
            rows = min(size, sampled - begin)
            k = torch.multinomial(counts.float(), rows, replacement=True)
            z = m[k].float() + torch.randn(rows, D, device=device) * (spread[k] / (2 * power[k])).sqrt().float()
            output = net.decode(z)
            image = (output.chunk(2, 1)[0] + 1) / 2 if large else torch.sigmoid(output)
            (image.clamp(0, 1) * 255).round().byte().cpu()

    def evaluate():
        total = torch.zeros((), **double)
        for begin in range(0, evaluated, 500):
            x = to_units(pixels[begin:begin + 500])
            total -= loss_of(x).double() * len(x)
        total.item()

    def importance():
        for begin in range(0, weighted, 20):
            x = to_units(pixels[begin:begin + 20])
            mean, log_variance = net.encode(x)
            together = size // 20
            rows, row_mean, row_log_variance = (t.repeat(together, *[1] * (t.dim() - 1)) for t in (x, mean, log_variance))
            total = torch.full((20,), -math.inf, device=device)
            for _ in range(0, draws, together):
                noise = torch.randn_like(row_mean)
                z = row_mean + noise * torch.exp(0.5 * row_log_variance)
                weight = log_density(rows, net.decode(z)) + predictive(z)
                weight += 0.5 * (row_log_variance + math.log(2 * math.pi) + noise ** 2).sum(1)
                total = torch.logaddexp(total, torch.logsumexp(weight.view(together, 20), 0))
            total.sum().item()

    def rate(count, call):
        seconds = []
        for i in range(4):
            torch.cuda.synchronize()
            start = time.perf_counter()
            call()
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - start)
        return count / sorted(seconds[1:])[1]

    return {"encoded": rate(encoded, encode), "sampled": rate(sampled, sample), "evaluated": rate(evaluated, evaluate),
            "importance_draws": rate(weighted * draws, importance)}


if options.mode == "inference":
    print(json.dumps({"network": options.network, "mode": options.mode, "precision": options.precision,
                      "per_second": measure_inference(), "torch": torch.__version__}))
    raise SystemExit
if options.mode == "compile":
    loss_of = torch.compile(loss_of, mode="reduce-overhead")
    move_prior = torch.compile(move_prior)


def step():
    x = batch()
    adam.zero_grad(set_to_none=True)
    loss_of(x).backward()
    adam.step()
    move_prior(x)


def captured(call):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


run = captured(step) if options.mode == "graph" else step
for _ in range(30):
    run()
torch.cuda.synchronize()
times = []
for _ in range(10):
    count = max(1, options.steps // 10)
    start = time.perf_counter()
    for _ in range(count):
        run()
    torch.cuda.synchronize()
    times.append(1e3 * (time.perf_counter() - start) / count)
print(json.dumps({"network": options.network, "mode": options.mode, "precision": options.precision, "joint_ms": statistics.median(times),
                  "peak_memory_mb": torch.cuda.max_memory_reserved() / 2**20, "torch": torch.__version__}))
