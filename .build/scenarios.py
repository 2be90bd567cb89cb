"""Requests that reach every corner of the core: for finding its modules and comparing its answers."""

import json
from collections.abc import Iterator
from itertools import count

from pycore.data import rows
from pycore.request import ASKS

KV_CACHE_DTYPES = ("auto", "fp8")
TENSOR_PARALLEL_SIZES = (1, 2, 3, 4, 8)
CONTEXTS = (None, 2048, 32768, 131072)
QUESTIONS = ("size", "size", *(ask for ask in ASKS if ask not in {"size", "catalogue"}))
RUN = """\
INFO 10-01 12:00:00 [gpu_model_runner.py:2653] Model loading took 65.7400 GiB and 20.1 seconds
INFO 10-01 12:00:40 [gpu_worker.py:298] Available KV cache memory: 5.63 GiB
INFO 10-01 12:00:41 [kv_cache_utils.py:1087] GPU KV cache size: 36,896 tokens
INFO 10-01 12:00:41 [kv_cache_utils.py:1091] Maximum concurrency for 8,192 tokens per request: 4.50x
vllm:num_preemptions_total{model_name="m"} 136.0
"""
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
            ask = QUESTIONS[i % len(QUESTIONS)]
            yield json.dumps(
                ({"text": RUN} if ask == "check_run" else {})
                | {
                    "ask": ask,
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
