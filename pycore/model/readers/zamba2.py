"""Zamba 2: Mamba 2 in every layer, and a few shared blocks of attention that some layers call.

A block's weights are held once, however many layers call it; each call has small adapters of its
own, a projection into the layer, and its own keys and values.

Source: vLLM 0.33.0, model_executor/models/zamba2.py; transformers 5.24.0,
models/zamba2/configuration_zamba2.py.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pycore.model.completions import text_reader
from pycore.model.config_fields import ConfigReader
from pycore.model.feed_forward_parameters import gated_mlp_tensors
from pycore.model.layers import AnyMixer, Layer, ParallelMixers
from pycore.model.model import Model
from pycore.model.parameters import attention_tensors
from pycore.model.readers.assembly import Source, Surroundings, assemble
from pycore.model.readers.recurrent_mixers import read_zamba2
from pycore.model.rotary import RotaryTable, read_rotary_table
from pycore.model.tensors import Linear, OuterTensor, Rows, Split, Tensor, Vector


def zamba2(reader: ConfigReader, architecture: str, name: str) -> Model:
    """The model; the engine ties its head and does not deal it to the stages of a pipeline."""
    text = text_reader(reader)
    hidden_size = text.integer("hidden_size")
    wide = text.optional_integer("intermediate_size", minimum=0) or 4 * hidden_size
    mixers = read_zamba2(text)
    kinds = {id(mixer): read_layer(text, mixer, hidden_size, wide) for mixer in mixers}
    layers = tuple(kinds[id(mixer)] for mixer in mixers)
    blocks = text.integer("num_mem_blocks")
    shared = next((mixer for mixer in mixers if isinstance(mixer, ParallelMixers)), None)
    around = Surroundings(
        tie_word_embeddings=text.flag("tie_word_embeddings", default=True),
        rotary_tables=() if shared is None else read_tables(text, shared),
        outer_tensors=tuple(
            OuterTensor(tensor, blocks) for tensor in block_tensors(text, shared, wide)
        ),
        supports_pipeline=False,
    )
    return assemble(Source(reader, text, architecture, name), layers, around)


def read_layer(text: ConfigReader, mixer: AnyMixer, hidden_size: int, wide: int) -> Layer:
    """A layer with its norm, and what it needs to call a shared block."""
    extra: tuple[Tensor, ...] = ()
    if isinstance(mixer, ParallelMixers):
        extra = tuple(call_tensors(text, hidden_size, wide))
    return Layer(mixer, None, (hidden_size,), extra_tensors=extra)


def call_tensors(text: ConfigReader, hidden_size: int, wide: int) -> Iterator[Tensor]:
    """The projection into the layer, and the adapters of one call: into a low rank and out."""
    whole = (Rows(hidden_size, Split.REPLICATED),)
    yield Linear("attention", "linear", whole, hidden_size)
    rank = text.integer("adapter_rank")
    adapters: list[tuple[str, str, int, tuple[int, ...]]] = [
        ("mlp", "feed_forward.gate_up_proj_adapter", hidden_size, (wide, wide))
    ]
    if text.flag("use_shared_attention_adapter", default=False):
        adapters += [
            ("attention", f"linear_{own}_adapter", 2 * hidden_size, (2 * hidden_size,))
            for own in "qkv"
        ]
    for component, name, inputs, outputs in adapters:
        yield Linear(component, f"{name}.A", (Rows(rank),), inputs)
        yield Linear(component, f"{name}.B", tuple(map(Rows, outputs)), rank)


def block_tensors(text: ConfigReader, shared: ParallelMixers | None, wide: int) -> Iterator[Tensor]:
    """One shared block: attention over twice the width, a network, two norms."""
    if shared is None:
        return
    hidden_size = text.integer("hidden_size")
    attention = shared.attention
    for tensor in attention_tensors(attention, 2 * hidden_size):
        if isinstance(tensor, Linear) and tensor.columns_split:
            whole = (Rows(hidden_size, Split.REPLICATED),)
            yield Linear(tensor.component, tensor.name, whole, tensor.columns, columns_split=True)
        else:
            yield tensor
    bias = text.flag("add_bias_linear", default=False)
    yield from gated_mlp_tensors("mlp", "feed_forward", hidden_size, wide, bias=bias)
    yield Vector("norm", "norms", 3 * hidden_size)


def read_tables(text: ConfigReader, shared: ParallelMixers) -> tuple[RotaryTable, ...]:
    """The rotary table, where the shared blocks rotate."""
    if not text.flag("use_mem_rope", default=False):
        return ()
    positions = text.integer("max_position_embeddings")
    return (read_rotary_table(text, shared.attention.head_dim, positions),)


READERS: Final[Mapping[str, Callable[[ConfigReader, str, str], Model]]] = {
    "Zamba2ForCausalLM": zamba2,
}
