"""What the frozen layers of Retort's networks compute, as worker/models/features does: f32 [rows, values]."""
import functools
import math

import torch
from torch.nn import functional as F

MIN_SQUARE = 1e-12
PATCH_FLOOR = 0.01
STRIDE, BORDER = 4, 4  # of scattering, in pixels
WAVELET_WIDTH, AVERAGE_WIDTH = 0.8, 1.6


def normalise_rows(rows, norm=1.0):
    norms = (rows * rows).sum(1, keepdim=True).clamp_min(MIN_SQUARE).pow(0.5)
    return rows * (norm / norms)


def opponent_colours(images):
    """[rows, 3, height, width]: red against green, yellow against blue, brightness. Grey images stay."""
    if images.size(1) != 3:
        return images
    r, g, b = images[:, 0:1], images[:, 1:2], images[:, 2:3]
    return torch.cat([(r - g) * (1 / math.sqrt(2)), (r + g - b * 2) * (1 / math.sqrt(6)), (r + g + b) * (1 / math.sqrt(3))], 1)


# Orientations of gradients

def window_weights(pixels, kernel, stride, padding):
    """[pixels, windows]: what a pixel counts in each window, a tent around its middle."""
    windows = (pixels + 2 * padding - kernel) // stride + 1
    weights = torch.zeros(pixels, windows)
    for k in range(windows):
        for i in range(kernel):
            pixel = k * stride - padding + i
            if 0 <= pixel < pixels:
                weights[pixel, k] = 1 - abs(i - (kernel - 1) / 2) / (kernel / 2)
    return weights


def orientations(images, bins, kernel, stride, padding, norm):
    planes = opponent_colours(images)
    height, width = planes.shape[2:]
    wide = F.pad(planes, (1, 1, 1, 1), mode="replicate")
    x = (wide[:, :, 1:-1, 2:] - wide[:, :, 1:-1, :-2]) * 0.5
    y = (wide[:, :, 2:, 1:-1] - wide[:, :, :-2, 1:-1]) * 0.5
    size = (x * x + y * y).clamp_min(MIN_SQUARE).pow(0.5)
    angle = torch.atan2(y, x) * (bins / (2 * math.pi))
    apart = angle.unsqueeze(2) - torch.arange(bins, dtype=planes.dtype, device=planes.device).view(1, 1, bins, 1, 1)
    apart = apart - torch.round(apart.detach() * (1 / bins)) * bins
    shares = F.relu(1 - apart.abs()) * size.unsqueeze(2)
    across = shares @ window_weights(width, kernel, stride, padding).to(planes)
    down = window_weights(height, kernel, stride, padding).to(planes).t() @ across
    return normalise_rows(down.flatten(1).clamp_min(MIN_SQUARE).pow(0.5), norm)


# Strength of fitted filters in the quarters of an image

def quarters(images, filters, offset, threshold):
    kernel = filters.size(2)
    mean = F.avg_pool2d(images.mean(1, keepdim=True), kernel, 1)
    square = F.avg_pool2d((images * images).mean(1, keepdim=True), kernel, 1)
    variance = (square - mean * mean).clamp_min(0)
    seen = F.conv2d(images, filters) * variance.add(PATCH_FLOOR).rsqrt() - offset.view(1, -1, 1, 1)
    beyond = F.softshrink(seen, threshold)
    total, difference = F.adaptive_avg_pool2d(beyond.abs(), 2), F.adaptive_avg_pool2d(beyond, 2)
    return torch.cat([total + difference, total - difference], 1).flatten(1) * 0.5


def patches(images, filters, offset, threshold):
    found = quarters(images, filters, offset, threshold)
    if images.size(1) == 3:  # and its mirror image
        found = (found + quarters(images.flip(3), filters, offset, threshold)) * 0.5
    return normalise_rows(found)


# Wavelets: moduli of one and of two of them, averaged

def wavelet(height, width, scale, angle, slant):
    """The transform of a Morlet wavelet of scale 2^scale, f64 [height, width]."""
    deviation, frequency = WAVELET_WIDTH * 2**scale, 0.75 * math.pi / 2**scale
    c, s = math.cos(angle), math.sin(angle)

    def gaussian(y, x, shift):
        along, across = x * c + y * s - shift, (y * c - x * s) * (1 / slant)
        return torch.exp((along * along + across * across) * (-deviation * deviation / 2))

    around = torch.zeros(height, width, dtype=torch.float64)
    mean = torch.zeros_like(around)
    for down in (-1, 0, 1):
        for across in (-1, 0, 1):
            y = ((torch.fft.fftfreq(height, dtype=torch.float64) + down) * (2 * math.pi)).unsqueeze(1)
            x = ((torch.fft.fftfreq(width, dtype=torch.float64) + across) * (2 * math.pi)).unsqueeze(0)
            around += gaussian(y, x, frequency)
            mean += gaussian(y, x, 0)
    return around - mean * (around[0, 0] / mean[0, 0])


@functools.lru_cache(maxsize=16)
def wavelets(height, width, scale, count):
    """f32 [count, height, width, 2]: both parts of a pair alike."""
    bank = [wavelet(height, width, scale, k * math.pi / count, 4.0 / count) for k in range(count)]
    bank = torch.stack(bank).float()
    return torch.stack([bank, bank], -1)


def averages(places, samples, apart):
    """f32 [places, samples]: how much each sample, `apart` pixels from the next, counts at each place."""
    centre = (torch.arange(places, dtype=torch.float64) * STRIDE + (STRIDE - 1) / 2 + BORDER).unsqueeze(1)
    away = (torch.arange(samples, dtype=torch.float64) * apart).unsqueeze(0) - centre
    weights = torch.exp(away * away * (-1 / (2 * AVERAGE_WIDTH * AVERAGE_WIDTH)))
    return (weights / weights.sum(1, keepdim=True)).float()


def modulus(transform):
    return torch.fft.ifft2(torch.view_as_complex(transform)).abs()


def quarter(of, down, across):
    height, width = of.size(-3) // 2, of.size(-2) // 2
    return of.narrow(-3, down * height, height).narrow(-2, across * width, width)


def halved_modulus(transform, bank):
    """The modulus of what a wavelet lets through, at every second sample down and across."""
    total = quarter(transform, 0, 0) * quarter(bank, 0, 0)
    for down, across in ((0, 1), (1, 0), (1, 1)):
        total = torch.addcmul(total, quarter(transform, down, across), quarter(bank, down, across))
    return modulus(total.contiguous()) * 0.25


def scattering(images, count):
    planes = opponent_colours(images)
    height, width = planes.shape[2:]
    down, across = -(-height // STRIDE), -(-width // STRIDE)
    wide = F.pad(planes, (BORDER, BORDER + width % 2, BORDER, BORDER + height % 2), mode="replicate")
    fine, coarse = (wavelets(wide.size(2), wide.size(3), scale, count).to(wide) for scale in (0, 1))

    def at_places(maps, apart):
        rows, columns = (averages(n, maps.size(dim), apart).to(maps) for n, dim in ((down, -2), (across, -1)))
        return rows @ (maps @ columns.t())

    transform = torch.view_as_real(torch.fft.fft2(wide)).unsqueeze(2)
    first, second = modulus(transform * fine), halved_modulus(transform, coarse)
    both = halved_modulus(torch.view_as_real(torch.fft.fft2(first)).unsqueeze(3), coarse).flatten(2, 3)
    parts = [at_places(wide.unsqueeze(2), 1), at_places(first, 1), at_places(second, 2), at_places(both, 2)]
    return normalise_rows(torch.cat(parts, 2).flatten(1))


def whitened(values, mean, components, constant):
    """The first directions of public pictures, and a constant."""
    along = normalise_rows(normalise_rows(values - mean) @ components.t())
    return torch.cat([along, along.new_full((along.size(0), 1), constant)], 1)
