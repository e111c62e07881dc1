#!/usr/bin/env python3
"""The joint training step of bench/step.cpp, written in PyTorch: the same network, the same prior and
the same work (E-step, bound, Adam, E-step with the new encoder, natural-gradient step).
    step_peer.py [STEPS]    prints one JSON object with the median milliseconds per step
"""
import json, math, os, resource, statistics, sys, time
import torch, torch.nn as nn, torch.nn.functional as F

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 40
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", os.cpu_count())))
torch.manual_seed(1)
N, B, K, D = 50000, 64, 64, 64
m0, s0, a0, b0, c0 = 0.0, 1.0, 0.01, 0.01, 1.0

conv = lambda i, o, s: nn.Conv2d(i, o, 3, s, 1)
up = lambda i, o, pad: nn.ConvTranspose2d(i, o, 3, 2, 1, output_padding=pad)


def stack(layers):
    return nn.Sequential(*[part for layer in layers for part in (layer, nn.ReLU(inplace=True))])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = stack([conv(1, 32, 1), conv(32, 32, 2), conv(32, 32, 1), conv(32, 64, 2),
                              conv(64, 64, 1), conv(64, 64, 2), conv(64, 64, 1), conv(64, 64, 1)])
        self.head = nn.Linear(1024, 2 * D)
        self.stem = nn.Linear(D, 1024)
        self.decoder = nn.Sequential(
            stack([conv(64, 64, 1), conv(64, 64, 1), up(64, 64, 0), conv(64, 64, 1), up(64, 32, 1),
                   conv(32, 32, 1), up(32, 32, 1)]), conv(32, 1, 1))

    def encode(self, x):
        mean, log_variance = self.head(self.encoder(x).flatten(1)).chunk(2, 1)
        return mean, log_variance.clamp(-12, 8)

    def decode(self, z):
        return self.decoder(F.relu(self.stem(z)).view(-1, 64, 4, 4))


net = Net()
assert sum(p.numel() for p in net.parameters()) == 567745
adam = torch.optim.Adam(net.parameters(), lr=1e-4)
pixels = (torch.rand(N, 1, 28, 28) > 0.87).to(torch.uint8) * 255

mean = torch.randn(K, D, dtype=torch.float64)
s = torch.full_like(mean, s0 + N / K)
a = torch.full_like(mean, a0 + 0.5 * N / K)
lam = [a - 0.5, -(a + 0.5 * s * mean * mean), s * mean, -0.5 * s]
counts = torch.full((K,), c0 + N / K, dtype=torch.float64)


def coefficients():
    s = -2 * lam[3]
    m = lam[2] / s
    a, b = lam[0] + 0.5, -lam[1] - 0.5 * s * m * m
    precision = a / b
    constant = 0.5 * (torch.digamma(a) - torch.log(b) - math.log(2 * math.pi) - 1 / s - precision * m * m).sum(1)
    return precision, precision * m, constant, torch.digamma(counts) - torch.digamma(counts.sum())


def expected_log(mean, variance, c):
    return c[2] + mean @ c[1].t() - 0.5 * (mean * mean + variance) @ c[0].t()


def step(rho=0.01):
    x = pixels[torch.randint(N, (B,))].float() / 255
    mean, log_variance = net.encode(x)
    z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
    reconstruction = -F.binary_cross_entropy_with_logits(net.decode(z), x, reduction="none").sum((1, 2, 3))
    c = coefficients()
    m8, v8 = mean.double(), log_variance.exp().double()
    e = expected_log(m8, v8, c)
    gamma = torch.softmax((e + c[3]).detach(), 1)
    kl_z = -(gamma * e).sum(1) - 0.5 * (torch.log(v8) + math.log(2 * math.pi * math.e)).sum(1)
    kl_r = (torch.xlogy(gamma, gamma) - gamma * c[3]).sum(1)
    loss = -(reconstruction.mean() - kl_z.mean() - kl_r.mean())
    adam.zero_grad(set_to_none=True)
    loss.backward()
    adam.step()
    with torch.no_grad():
        mean, log_variance = net.encode(x)
        m8, v8 = mean.double(), log_variance.exp().double()
        gamma = torch.softmax(expected_log(m8, v8, c) + c[3], 1).t() * (N / B)
        taken = gamma.sum(1, keepdim=True)
        optimum = [a0 + 0.5 * taken - 0.5, -(b0 + 0.5 * s0 * m0 * m0 + 0.5 * gamma @ (m8 * m8 + v8)),
                   s0 * m0 + gamma @ m8, -0.5 * (s0 + taken)]
        for old, new in zip(lam, optimum):
            old.mul_(1 - rho).add_(rho * new)
        counts.mul_(1 - rho).add_(rho * (c0 + taken[:, 0]))
    return loss.item()


for _ in range(5):
    step()
times = []
for _ in range(steps):
    start = time.perf_counter()
    step()
    times.append(1e3 * (time.perf_counter() - start))
print(json.dumps({"threads": torch.get_num_threads(), "joint_ms": statistics.median(times),
                  "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
