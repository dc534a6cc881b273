"""A network of Retort as an nn.Module: built from the list of layers that `retort export` writes with its state."""
import torch
from torch import nn
from torch.nn import functional as F

from retort import features

IMAGES = -1  # as an input: the images themselves


class UnknownLayer(ValueError):
    """The file has a layer that this version does not know."""


class Holder(nn.Module):
    """Parameters and buffers under the dotted names that the state has."""

    def put(self, name, value, buffer=False):
        first, dot, rest = name.partition(".")
        if dot:
            if first not in self._modules:
                self.add_module(first, Holder())
            self._modules[first].put(rest, value, buffer)
        elif buffer:
            self.register_buffer(first, value)
        else:
            self.register_parameter(first, nn.Parameter(value, requires_grad=value.is_floating_point()))


BUFFERS = {"batch_norm": ("running_mean", "running_var", "num_batches_tracked"), "whiten": ("mean", "components"),
           "patches": ("filters", "offset")}


def buffer_names(layers):
    return {f"{layer['name']}.{part}" for layer in layers for part in BUFFERS.get(layer["kind"], ())}


class Network(Holder):
    """Answers f32 [rows, channels, height, width] with logits [rows, classes].

    layers: a list of dicts with `kind`, `name` and what differs from the defaults of worker/models/layer.h.
    state: tensors by name, as exported; a state that lacks one of a layer that runs is an error.
    facts: what the file says besides: `network`, `image` [C, H, W], `classes`, `mean`, `std`, `trial`.
    """

    def __init__(self, layers, state, facts=None):
        super().__init__()
        self._layers = [dict(layer) for layer in layers]
        self.facts = dict(facts or {})
        for index, layer in enumerate(self._layers):
            layer["inputs"] = self._inputs(index, layer)
            if layer["kind"] not in KINDS:
                raise UnknownLayer(f"layer {index} is of the kind {layer['kind']!r}, which this version of the Python package "
                                   "does not know: the file was written by another version of retort")
        buffers = buffer_names(self._layers)
        for name, value in state.items():
            self.put(name, value.detach().clone(), name in buffers)
        self._needed = self._needed_layers()
        for index in self._needed:
            for name in KINDS[self._layers[index]["kind"]][1](self._layers[index]):
                if self._find(name) is None:
                    raise KeyError(f"the state lacks {name}, which layer {index} ({self._layers[index]['kind']}) needs")

    @staticmethod
    def _inputs(index, layer):
        if layer["kind"] == "class_token":
            return []
        return list(layer.get("inputs") or [index - 1])

    def _needed_layers(self):
        needed, ahead = set(), [len(self._layers) - 1]
        while ahead:
            index = ahead.pop()
            if index == IMAGES or index in needed:
                continue
            needed.add(index)
            ahead += self._layers[index]["inputs"]
        return sorted(needed)

    def _find(self, name):
        """The entry of the state, or None."""
        *path, last = name.split(".")
        holder = self
        for part in path:
            holder = holder._modules.get(part)
            if holder is None:
                return None
        found = holder._parameters.get(last)
        return holder._buffers.get(last) if found is None else found

    def forward(self, images):
        expected = self.facts.get("image")
        if images.dim() != 4 or (expected and list(images.shape[1:]) != list(expected)):
            raise ValueError(f"images are [rows, {', '.join(map(str, expected or ('channels', 'height', 'width')))}]; "
                             f"these are {list(images.shape)}")
        results = {IMAGES: images}
        for index in self._needed:
            layer = self._layers[index]
            results[index] = KINDS[layer["kind"]][0](self, layer, [results[i] for i in layer["inputs"]])
        return results[self._needed[-1]]

    def prepare(self, pixels):
        """Pixels of 0 to 1, [rows, channels, height, width], as the network was trained to see them."""
        if "mean" not in self.facts:
            raise ValueError("the file does not say how its images were normalised")
        mean, std = (torch.tensor(self.facts[key], dtype=pixels.dtype, device=pixels.device).view(1, -1, 1, 1) for key in ("mean", "std"))
        return (pixels - mean) / std

    def entry(self, layer, part):
        return self._find(layer["name"] + layer.get("joint", ".") + part)

    def extra_repr(self):
        facts = self.facts
        return ", ".join(f"{key}={facts[key]}" for key in ("network", "image", "classes") if key in facts)


# What each kind computes, and which entries of the state it needs.

def weighted(layer):
    joint = layer.get("joint", ".")
    return [layer["name"] + joint + "weight"] + ([layer["name"] + joint + "bias"] if layer.get("bias", True) else [])


def normed(layer):
    return weighted(layer) + [layer["name"] + ".running_mean", layer["name"] + ".running_var"]


def nothing(layer):
    return []


def conv(net, layer, inputs):
    return F.conv2d(inputs[0], net.entry(layer, "weight"), net.entry(layer, "bias"), layer.get("stride", 1),
                    layer.get("padding", 0), layer.get("dilation", 1), layer.get("groups", 1))


def linear(net, layer, inputs):
    return F.linear(inputs[0], net.entry(layer, "weight"), net.entry(layer, "bias"))


def batch_norm(net, layer, inputs):
    x = inputs[0]
    of_batch = net.training and x.numel() > x.size(1)
    return F.batch_norm(x, net.entry(layer, "running_mean"), net.entry(layer, "running_var"), net.entry(layer, "weight"),
                        net.entry(layer, "bias"), of_batch, layer.get("momentum", 0.1), layer.get("epsilon", 1e-5))


def group_norm(net, layer, inputs):
    return F.group_norm(inputs[0], layer.get("groups", 1), net.entry(layer, "weight"), net.entry(layer, "bias"), layer.get("epsilon", 1e-5))


def layer_norm(net, layer, inputs):
    x = inputs[0]
    return F.layer_norm(x, (x.size(-1),), net.entry(layer, "weight"), net.entry(layer, "bias"), layer.get("epsilon", 1e-5))


def max_pool(net, layer, inputs):
    return F.max_pool2d(inputs[0], layer["kernel"], layer.get("stride", 1), layer.get("padding", 0), 1, layer.get("ceil", False))


def attention(net, layer, inputs):
    rows, tokens, triple = inputs[0].shape
    heads, width = layer.get("groups", 1), triple // 3
    q, k, v = inputs[0].view(rows, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(rows, tokens, width)


def tokens(net, layer, inputs):
    patches, first = inputs
    rest = patches.flatten(2).transpose(1, 2)
    return torch.cat([first.expand(patches.size(0), -1, -1), rest], 1) + net._find(layer["name"])


def channel_slice(net, layer, inputs):
    return inputs[0].narrow(1, layer.get("first", 0), layer["out"])


def affine(net, layer, inputs):
    scale, shift = (torch.tensor(layer[key]).to(inputs[0]).view(1, -1, 1, 1) for key in ("scale", "shift"))
    return inputs[0] * scale + shift


def hog(net, layer, inputs):
    return features.orientations(inputs[0], layer["out"], layer["kernel"], layer.get("stride", 1), layer.get("padding", 0), layer["rate"])


def patches(net, layer, inputs):
    return features.patches(inputs[0], net.entry(layer, "filters"), net.entry(layer, "offset"), layer["rate"])


def whiten(net, layer, inputs):
    return features.whitened(inputs[0], net.entry(layer, "mean"), net.entry(layer, "components"), layer.get("spread", 0.0))


def pad_shortcut(net, layer, inputs):
    x, step = inputs[0], layer.get("stride", 1)
    added = (layer["out"] - x.size(1)) // 2
    return F.pad(x[:, :, ::step, ::step], (0, 0, 0, 0, added, added))


def of_input(function):
    return lambda net, layer, inputs: function(inputs[0])


KINDS = {
    "conv": (conv, weighted),
    "linear": (linear, weighted),
    "relu": (of_input(F.relu), nothing),
    "tanh": (of_input(torch.tanh), nothing),
    "sigmoid": (of_input(torch.sigmoid), nothing),
    "relu6": (of_input(F.relu6), nothing),
    "gelu": (of_input(F.gelu), nothing),
    "leaky": (lambda net, layer, inputs: F.leaky_relu(inputs[0], layer.get("rate", 0.0)), nothing),
    "max_pool": (max_pool, nothing),
    "avg_pool": (lambda net, layer, inputs: F.avg_pool2d(inputs[0], layer["kernel"], layer.get("stride", 1)), nothing),
    "adaptive_avg_pool": (lambda net, layer, inputs: F.adaptive_avg_pool2d(inputs[0], layer["out"]), nothing),
    "spatial_mean": (of_input(lambda x: x.mean((2, 3))), nothing),
    "dropout": (lambda net, layer, inputs: F.dropout(inputs[0], layer.get("rate", 0.0), net.training), nothing),
    "flatten": (of_input(lambda x: x.flatten(1)), nothing),
    "batch_norm": (batch_norm, normed),
    "group_norm": (group_norm, weighted),
    "layer_norm": (layer_norm, weighted),
    "attention": (attention, nothing),
    "class_token": (lambda net, layer, inputs: net._find(layer["name"]), lambda layer: [layer["name"]]),
    "tokens": (tokens, lambda layer: [layer["name"]]),
    "first_token": (of_input(lambda x: x.select(1, 0)), nothing),
    "add": (lambda net, layer, inputs: inputs[0] + inputs[1], nothing),
    "concat": (lambda net, layer, inputs: torch.cat(inputs, 1), nothing),
    "channel_slice": (channel_slice, nothing),
    "channel_shuffle": (lambda net, layer, inputs: torch.channel_shuffle(inputs[0], layer.get("groups", 1)), nothing),
    "affine": (affine, nothing),
    "hog": (hog, nothing),
    "patches": (patches, lambda layer: [layer["name"] + ".filters", layer["name"] + ".offset"]),
    "scattering": (lambda net, layer, inputs: features.scattering(inputs[0], layer["out"]), nothing),
    "pad_shortcut": (pad_shortcut, nothing),
    "whiten": (whiten, lambda layer: [layer["name"] + ".mean", layer["name"] + ".components"]),
}
