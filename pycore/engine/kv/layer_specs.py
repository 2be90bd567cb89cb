"""From a model's layers to the specs that its KV pool is planned from.

Three decisions of the whole model come first: which kernels read the cache (they know its format
and the least block), how many tokens a block has, and, where there are states of fixed size, how
far blocks are lengthened and states padded so that all pages are equal.

Source: vLLM 0.33.0, platforms/interface.py, update_block_size_for_backend.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pycore import dtypes
from pycore.engine.attention.backend_rules import (
    BLOCK_SPARSE,
    COMPRESSED,
    FLASHINFER,
    INDEXER,
    TRITON_FLASHINFER,
    Backend,
)
from pycore.engine.attention.backends import (
    DEFAULT_BLOCK_SIZE,
    NoAttentionBackendError,
    choose_backend,
    common_block_size,
    kv_cache_dtype_of,
    share_a_layout,
)
from pycore.engine.attention.rocm import ROCM_INDEXER
from pycore.engine.cache_settings import Blocks, CacheSettings
from pycore.engine.kv.dtypes import TURBOQUANT_BITS
from pycore.engine.kv.hybrid_blocks import align_hybrid_block_size, mixed_precision_block_size
from pycore.engine.kv.layers import LayerSpecs
from pycore.engine.kv.mixer_specs import (
    GDN_CHECKPOINT_ALIGNMENT,
    attention_of,
    bytes_per_token,
    leaves_checkpoints,
    needs_of,
    recurrent_of,
    specs_of,
)
from pycore.engine.kv.state_bytes import state_bytes
from pycore.model.latent import LatentAttention
from pycore.model.layers import AnyMixer, FullAttention, SlidingWindowAttention

READ_AT_ONCE: Final = (FLASHINFER, TRITON_FLASHINFER)
"""Backends whose block sizes are all that they read at once, and no multiples of them."""

TURBOQUANT_BOUNDARY_LAYERS: Final = 2
"""Layers at either end of the stack that TurboQuant leaves in the model's own width."""


@dataclass(frozen=True, slots=True)
class CacheLayers:
    """The specs of a model's layers, with the decisions behind them."""

    layers: tuple[LayerSpecs, ...]
    block_size: int
    kv_cache_dtype: str
    backends: tuple[str, ...]
    state_bytes: int = 0
    """One layer's state before padding; 0 where there is none."""
    block_outermost: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """Layers that share one mixer and one format, and how many of them each stage has."""

    mixer: AnyMixer
    num_layers_by_stage: tuple[int, ...]
    kv_cache_dtype: str
    backend: Backend | None = None


def cache_layers(
    mixers: Sequence[AnyMixer], layers_by_stage: Sequence[int], settings: CacheSettings
) -> CacheLayers:
    """What every layer keeps on one rank, and in blocks of how many tokens.

    Raises ``NoAttentionBackendError`` where no kernel of the GPU serves a layer.
    """
    runs, backends = with_backends(counted(mixers, layers_by_stage, settings), settings)
    states = [
        state_bytes(
            recurrent,
            tensor_parallel_size=settings.tensor_parallel_size,
            dtype=settings.dtype,
            ssm_cache_dtype=settings.mamba_ssm_cache_dtype,
        )
        for run in runs
        if (recurrent := recurrent_of(run.mixer))
    ]
    largest_state = max(states, default=0)
    blocks = blocks_of_model(runs, backends, largest_state, settings)
    return CacheLayers(
        layers=tuple(
            LayerSpecs(spec, run.num_layers_by_stage)
            for run in runs
            for spec in specs_of(run.mixer, run.kv_cache_dtype, settings, blocks_of(run, blocks))
        ),
        block_size=blocks.block_size,
        kv_cache_dtype=next(
            (run.kv_cache_dtype for run in runs if run.kv_cache_dtype != "auto"), "auto"
        ),
        backends=tuple(backend.name for backend in backends),
        state_bytes=largest_state,
        block_outermost=COMPRESSED in backends,
    )


def counted(
    mixers: Sequence[AnyMixer], layers_by_stage: Sequence[int], settings: CacheSettings
) -> list[Run]:
    """Layers counted by mixer, in order of first appearance."""
    boundary = 0
    if settings.kv_cache_dtype in TURBOQUANT_BITS and not any(map(recurrent_of, mixers)):
        boundary = min(TURBOQUANT_BOUNDARY_LAYERS, len(mixers) // 2)
    if not boundary and mixers.count(mixers[0]) == len(mixers):
        dtype = asked_of(mixers[0], settings.kv_cache_dtype)
        return [Run(mixers[0], tuple(layers_by_stage), dtype)]
    counts: dict[tuple[int, bool], list[int]] = {}
    kinds: dict[int, AnyMixer] = {}
    layer = 0
    for stage, num_layers in enumerate(layers_by_stage):
        for mixer in mixers[layer : layer + num_layers]:
            keeps_width = not boundary <= layer < len(mixers) - boundary
            kinds[id(mixer)] = mixer
            key = (id(mixer), keeps_width)
            counts.setdefault(key, [0] * len(layers_by_stage))[stage] += 1
            layer += 1
    return [
        Run(kinds[kind], tuple(count), "auto" if keeps_width else settings.kv_cache_dtype)
        for (kind, keeps_width), count in counts.items()
    ]


def asked_of(mixer: AnyMixer, kv_cache_dtype: str) -> str:
    """The cache's type that a mixer hears of.

    Source: vLLM 0.33.0, model_executor/models/falcon.py, which hands no cache_config on.
    """
    attention = attention_of(mixer)
    return "auto" if attention and attention.keeps_model_dtype else kv_cache_dtype


def with_backends(runs: Sequence[Run], settings: CacheSettings) -> tuple[list[Run], list[Backend]]:
    """The backend of each run, and the runs in the formats that their backends really keep."""
    asked = [needs_of(run.mixer, run.kv_cache_dtype, settings) for run in runs]
    widths = {needs.head_size for needs in asked if needs and needs.kind == "grouped"}
    backends: list[Backend] = []
    resolved: list[Run] = []
    for run, needs in zip(runs, asked, strict=True):
        if needs is None:
            resolved.append(run)
            continue
        asks = replace(needs, uneven_heads=len(widths) > 1)
        backend = choose_backend(
            asks, settings.compute_capability, settings.block_size, settings.cdna_generation
        )
        dtype = kv_cache_dtype_of(backend, run.kv_cache_dtype)
        resolved.append(Run(run.mixer, run.num_layers_by_stage, dtype, backend))
        backends.append(backend)
        if isinstance(run.mixer, LatentAttention) and run.mixer.indexer:
            backends.append(ROCM_INDEXER if settings.cdna_generation else INDEXER)
        if isinstance(run.mixer, FullAttention) and run.mixer.block_indexer:
            backends.append(BLOCK_SPARSE)
        if not share_a_layout(backends, settings.compute_capability):
            raise NoAttentionBackendError(asks)
    return resolved, list(dict.fromkeys(backends))


def blocks_of_states(settings: CacheSettings) -> Blocks:
    """Blocks where nothing but states is kept: no prefixes of them, and one block a request."""
    block_size = settings.block_size or DEFAULT_BLOCK_SIZE
    return Blocks(
        block_size=block_size, state_block_size=settings.max_model_len, keeps_prefixes=False
    )


def blocks_of_attention(runs: Sequence[Run], block_size: int, settings: CacheSettings) -> Blocks:
    """Blocks where no states are kept: larger ones where caches differ in their element type."""
    if len({run.kv_cache_dtype for run in runs}) > 1:
        element_bytes = dtypes.element_bytes(settings.dtype)
        block_size = mixed_precision_block_size(block_size=block_size, element_bytes=element_bytes)
    return Blocks(block_size=block_size, state_block_size=block_size)


def blocks_of(run: Run, blocks: Blocks) -> Blocks:
    """The blocks of one kind of layer: a window's are no larger than FlashInfer reads at once.

    Blocks of full attention are as asked for; the kernels read them in parts.

    Source: vLLM 0.33.0, layers/attention/attention.py, _largest_kernel_block_within.
    """
    if run.backend not in READ_AT_ONCE or not isinstance(run.mixer, SlidingWindowAttention):
        return blocks
    fitting = [size for size in run.backend.block_sizes if size <= blocks.block_size]
    return replace(blocks, block_size=max(fitting, default=min(run.backend.block_sizes)))


def blocks_of_model(
    runs: Sequence[Run], backends: Sequence[Backend], largest_state: int, settings: CacheSettings
) -> Blocks:
    """How many tokens a block has, and how far states are padded."""
    if not backends:
        return blocks_of_states(settings)
    block_size = settings.block_size or common_block_size(backends)
    if not largest_state:
        return blocks_of_attention(runs, block_size, settings)
    token_bytes = next(
        num_bytes
        for run in runs
        if (num_bytes := bytes_per_token(run.mixer, run.kv_cache_dtype, settings))
    )
    checkpoints = settings.enable_prefix_caching and all(
        leaves_checkpoints(recurrent, settings)
        for run in runs
        if (recurrent := recurrent_of(run.mixer))
    )
    block_size = align_hybrid_block_size(
        block_size=block_size,
        state_bytes=largest_state,
        attention_bytes_per_token=token_bytes,
        kernel_block_size=min(backends[0].block_sizes),
        checkpoint_alignment=GDN_CHECKPOINT_ALIGNMENT if checkpoints else 1,
        is_latent=any(isinstance(run.mixer, LatentAttention) for run in runs),
    )
    return Blocks(
        block_size=block_size,
        state_page_bytes=block_size * token_bytes,
        state_block_size=block_size if settings.enable_prefix_caching else settings.max_model_len,
        keeps_prefixes=settings.enable_prefix_caching,
    )
