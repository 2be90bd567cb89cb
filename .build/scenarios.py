"""Requests that reach every corner of the core: for finding its modules and comparing its answers."""

import json
from collections.abc import Iterator
from itertools import count

from pycore.data import rows

KV_CACHE_DTYPES = ("auto", "fp8")
TENSOR_PARALLEL_SIZES = (1, 2, 3, 4, 8)
CONTEXTS = (None, 2048, 32768, 131072)
ASKS = ("size", "size", "knobs", "frontier", "model")
UNREADABLE = (
    "",
    "{",
    "[]",
    "null",
    "{}",
    '{"model":"no-such-model","accelerator":"h100-sxm-80gb"}',
    '{"model":"llama-3.3-70b-instruct","accelerator":"no-such-accelerator"}',
    '{"model":"llama-3.3-70b-instruct","accelerator":"a100-sxm-80gb","tensor_parallel_size":"2"}',
    '{"model":"llama-3.3-70b-instruct","accelerator":"a100-sxm-80gb","concurrency":-1}',
    '{"model":"llama-3.3-70b-instruct","accelerator":"a100-sxm-80gb","max_model_len":1e400}',
    '{"model":"llama-3.3-70b-instruct","model":"phi-4","accelerator":"a100-sxm-80gb"}',
    '{"ask":"no-such-question"}',
    '{"config":"{\\"model_type\\": \\"no-such-type\\"}","accelerator":"h100-sxm-80gb"}',
    '{"config":"not JSON","accelerator":"h100-sxm-80gb"}',
)


def frozen_requests() -> list[str]:
    """Few requests that together use every module."""
    return [*UNREADABLE, '{"ask":"catalogue"}', *varied_requests(stride=17)]


def compared_requests() -> list[str]:
    """Several hundred requests over models, accelerators, shapes and questions."""
    return [*UNREADABLE, *varied_requests(stride=1)]


def varied_requests(stride: int) -> Iterator[str]:
    """Every ``stride``-th of a walk on which each model meets many accelerators and settings."""
    accelerators = [str(row["id"]) for row in rows("accelerators")]
    models = [str(row["id"]) for row in rows("models")]
    step = count()
    for lap in range(6):
        for model in models:
            i = next(step)
            if i % stride:
                continue
            yield json.dumps(
                {
                    "ask": ASKS[i % len(ASKS)],
                    "model": model,
                    "accelerator": accelerators[(i * 7 + lap) % len(accelerators)],
                    "tensor_parallel_size": TENSOR_PARALLEL_SIZES[(i + lap) % 5],
                    "pipeline_parallel_size": 1 + (i % 11 == 0),
                    "kv_cache_dtype": KV_CACHE_DTYPES[i % 2],
                    "max_model_len": CONTEXTS[(i + lap) % 4],
                    "input_tokens": 1000 + i,
                    "output_tokens": 500,
                    "concurrency": 1 + i % 9,
                    "figures": i % 3 == 0,
                }
            )
