"""Logs made from figures, in each version's own words: what the reader is tested against.

The wordings are interface text of vLLM (0.5 to 0.33), SGLang and TensorRT-LLM; every figure that is
given is printed, nothing else.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.runs.records import RunRecord


@dataclass(frozen=True, slots=True)
class Message:
    """One logged message: who printed it, from which file."""

    process: str
    file: str
    text: str
    level: str = "INFO"


@dataclass(frozen=True, slots=True)
class Run:
    """What a log is made from: the version, what was asked for, and what was measured."""

    version: str | None
    model: str
    request: Mapping[str, Any]
    measured: Mapping[str, Any]
    by_rank: Mapping[str, list[Any]] = field(default_factory=dict)
    engine: str = "vllm"

    @property
    def minor(self) -> int:
        """The minor version of 0.x; where it is not known, one that fits the figures."""
        if self.version is not None:
            return int(self.version.split(".")[1])
        return 27 if "consumed_gib" in self.measured else 19

    @property
    def places(self) -> list[str]:
        """The ranks, as process names tell them; one empty name where there is a single one."""
        tp = self.request.get("tensor_parallel_size", 1)
        pp = self.request.get("pipeline_parallel_size", 1)
        if tp * pp == 1:
            return [""]
        return [
            (f"_PP{stage}" if pp > 1 else "") + (f"_TP{rank}" if tp > 1 else "")
            for stage in range(pp)
            for rank in range(tp)
        ]

    def of_rank(self, figure: str, index: int) -> Any:
        """A figure as a rank printed it; None where it was not."""
        ranks = self.by_rank.get(figure)
        return ranks[index % len(ranks)] if ranks else self.measured.get(figure)


def run_of(record: RunRecord) -> Run:
    """What a record's log is made from."""
    return Run(
        record.engine_version,
        record.model,
        record.request,
        record.measured,
        record.by_rank,
        record.engine,
    )


def messages(run: Run) -> list[Message]:
    """The log's messages, rank by rank, in the order of a start."""
    if run.engine == "sglang":
        return list(sglang(run))
    found = [*opening(run)]
    for index, place in enumerate(run.places):
        process = worker_name(run, place)
        old = run.minor < 8
        found += [*(old_memory(run, process, index) if old else memory(run, process, index))]
    found += [*pool(run)]
    for index, place in enumerate(run.places):
        found += [*closing(run, worker_name(run, place), index)]
    return found


def worker_name(run: Run, place: str) -> str:
    """The process name of a rank, as that version spells it."""
    if not place:
        return "EngineCore" if run.minor > 19 else "EngineCore_DP0" if run.minor > 9 else ""
    if run.minor < 8:
        return "" if place.endswith("0") else f"VllmWorkerProcess{place[-1]}"
    if run.minor < 10 and "PP" not in place:
        return f"VllmWorker rank={place.removeprefix('_TP')}"
    return f"Worker{place}"


def opening(run: Run) -> Iterator[Message]:
    """Version, arguments and the engine's config."""
    api = "APIServer" if run.minor > 9 else ""
    named = {"model": run.model, **run.request}
    named.pop("dtype", None)
    if run.version is not None:
        yield Message(api, "api_server.py:1711", f"vLLM API server version {run.version}")
    yield Message(api, "utils.py:233", f"non-default args: {named}")
    request = run.request
    config = ", ".join(
        [
            f"model={run.model!r}",
            "speculative_config=None",
            f"dtype=torch.{request.get('dtype', 'bfloat16')}",
            f"max_seq_len={request.get('max_model_len', 8192)}",
            f"tensor_parallel_size={request.get('tensor_parallel_size', 1)}",
            f"pipeline_parallel_size={request.get('pipeline_parallel_size', 1)}",
            "quantization=None",
            f"enforce_eager={request.get('enforce_eager', False)}",
            "compilation_config={'mode': 3, 'cudagraph_capture_sizes': [1, 2, 4]}",
        ]
    )
    if run.version is not None:
        kind = "a V1 LLM engine" if run.minor > 7 else "an LLM engine"
        core = "EngineCore" if run.minor > 9 else ""
        line = f"Initializing {kind} (v{run.version}) with config: {config}"
        yield Message(core, "core.py:97", line)


def old_memory(run: Run, process: str, index: int) -> Iterator[Message]:
    """What the V0 engine says of one rank's memory."""
    get = {name: run.of_rank(name, index) for name in run.measured}
    weights = get.get("loaded_weights_gib_per_rank")
    if weights is not None:
        yield Message(process, "model_runner.py:1097", f"Loading model weights took {weights} GB")
    if "total_gib" in get:
        share = run.request.get("gpu_memory_utilization", 0.9)
        line = (
            f"the current vLLM instance can use total_gpu_memory ({get['total_gib']}GiB) x "
            f"gpu_memory_utilization ({share:.2f}) = {get['total_gib'] * share:.2f}GiB"
        )
        yield Message(process, "worker.py:241", line)
    parts = [
        f"{words}{get[name]}GiB{end}"
        for name, words, end in (
            ("loaded_weights_gib_per_rank", "model weights take ", "; "),
            ("non_torch_gib", "non_torch_memory takes ", "; "),
            ("activation_gib", "PyTorch activation peak memory takes ", "; "),
            ("available_kv_cache_gib", "the rest of the memory reserved for KV Cache is ", "."),
        )
        if name in get
    ]
    if parts:
        yield Message(process, "worker.py:241", "".join(parts))


def memory(run: Run, process: str, index: int) -> Iterator[Message]:
    """What the V1 engine says of one rank's memory before the pool is laid out."""
    get = {name: run.of_rank(name, index) for name in {*run.measured, *run.by_rank}}
    weights = get.get("loaded_weights_gib_per_rank")
    if weights is not None:
        word = "GiB memory and" if run.minor > 10 else "GiB and"
        line = f"Model loading took {weights} {word} 30.123456 seconds"
        yield Message(process, "gpu_model_runner.py:5089", line)
    estimated = get.get("cuda_graph_estimated_gib")
    if estimated is not None:
        line = f"Estimated CUDA graph memory: {estimated:.2f} GiB total"
        yield Message(process, "gpu_model_runner.py:6042", line)
    if "total_non_kv_cache_gib" in get and "consumed_gib" not in get:
        line = (
            "Memory profiling takes 11.22 seconds. Total non KV cache memory: "
            f"{get['total_non_kv_cache_gib']}GiB; torch peak memory increase: "
            f"{get.get('activation_gib', 0.0)}GiB; non-torch forward increase memory: "
            f"{get.get('non_torch_gib', 0.0)}GiB; weights memory: {weights}GiB."
        )
        yield Message(process, "gpu_worker.py:298", line, "DEBUG")
    if "available_kv_cache_gib" in get:
        line = f"Available KV cache memory: {get['available_kv_cache_gib']} GiB"
        yield Message(process, "gpu_worker.py:440", line)


def pool(run: Run) -> Iterator[Message]:
    """What the engine says that the pool holds, or why it does not start."""
    measured, core = run.measured, "EngineCore" if run.minor > 9 else ""
    if "block_size" in measured:
        line = f"Setting attention block size to {measured['block_size']} tokens to ensure that"
        yield Message(core, "config.py:1", line)
    yield from block_lines(run, core)
    yield from refusal(run, core)
    sizes = run.by_rank.get("kv_cache_size_tokens") or [measured.get("kv_cache_size_tokens")]
    concurrency = measured.get("kv_cache_max_concurrency")
    length = measured.get("kv_cache_max_concurrency_at_tokens")
    last = ""
    if length:
        last = f"Maximum concurrency for {length:,} tokens per request: {concurrency:.2f}x"
    for tokens in sizes:
        if tokens is None or run.minor < 8:
            continue
        line = f"GPU KV cache size: {tokens:,} tokens"
        joined = run.minor > 32 and last
        yield Message(core, "kv_cache_utils.py:1711", f"{line}, {last}" if joined else line)
    if last and run.minor < 33:
        yield Message(core, "kv_cache_utils.py:1716", last)


def block_lines(run: Run, core: str) -> Iterator[Message]:
    """The blocks: a line of V0's log, a series of V1's metrics."""
    blocks = run.measured.get("num_gpu_blocks")
    if run.minor < 8:
        if blocks is None and "kv_cache_size_tokens" in run.measured:
            blocks = run.measured["kv_cache_size_tokens"] // 16
        if blocks is not None:
            line = f"# GPU blocks: {blocks}, # CPU blocks: 2048"
            yield Message(core, "gpu_executor.py:122", line)
    elif blocks is not None:
        series = f'vllm:cache_config_info{{num_gpu_blocks="{blocks}",engine="0"}} 1.0'
        yield Message("", "", series)


def refusal(run: Run, core: str) -> Iterator[Message]:
    """The refusal of a pool that is too small."""
    measured = run.measured
    needed, longest = measured.get("needed_kv_cache_gib"), run.request.get("max_model_len", 131072)
    estimate = measured.get("estimated_max_model_len")
    if needed is not None:
        line = (
            f"ValueError: To serve at least one request with the models's max seq len ({longest}), "
            f"({needed:.2f} GiB KV cache is needed, which is larger than the available KV cache "
            f"memory ({measured.get('available_kv_cache_gib', 0.0):.2f} GiB). Based on the "
            f"available memory, the estimated maximum model length is {estimate}. Try increasing"
        )
        yield Message(core, "core.py:700", line, "ERROR")
    elif estimate is not None:
        line = (
            f"ValueError: The model's max seq len ({longest}) is larger than the maximum number of "
            f"tokens that can be stored in KV cache ({estimate}). Try increasing"
        )
        yield Message(core, "engine.py:387", line, "ERROR")


def closing(run: Run, process: str, index: int) -> Iterator[Message]:
    """CUDA graphs, and the summary that ends a start."""
    get = {name: run.of_rank(name, index) for name in {*run.measured, *run.by_rank}}
    graphs = get.get("cuda_graph_gib")
    if graphs is not None:
        line = f"Graph capturing finished in 20 secs, took {graphs:.2f} GiB"
        yield Message(process, "gpu_model_runner.py:6517", line)
    free, total = get.get("accelerator_free_gib"), get.get("total_gib")
    share = run.request.get("gpu_memory_utilization")
    parts = []
    if run.minor > 7 and total is not None:
        parts.append(
            f"Free memory on device ({total if free is None else free}/{total} GiB) on startup."
        )
    if run.minor > 7 and total is not None and share is not None:
        parts.append(f"Desired GPU memory utilization is ({share}, {round(total * share, 2)} GiB).")
    parts += usage(run, get)
    if parts:
        yield Message(process, "gpu_worker.py:857", " ".join(parts))


def usage(run: Run, get: Mapping[str, Any]) -> list[str]:
    """The terms of the summary, in the words of before and after 0.27."""
    if run.minor < 8:
        return []
    words = {
        "consumed_gib": "GiB for consumed memory (weights + non-torch),",
        "loaded_weights_gib_per_rank": "GiB for weight,",
        "activation_gib": "GiB for peak activation,",
        "printed_peak_activation_gib": "GiB for peak activation,",
        "non_torch_gib": "GiB for non-torch memory.",
    }
    if "consumed_gib" in get:
        # What 0.27 and later do not print follows from what they do.
        for name in ("loaded_weights_gib_per_rank", "activation_gib", "non_torch_gib"):
            del words[name]
    return [f"{get[name]} {said}" for name, said in words.items() if name in get]


def sglang(run: Run) -> Iterator[Message]:
    """SGLang's start, K and V in pools of their own; its lines have no header."""
    yield from (Message("", "", line) for line in sglang_lines(run))


def sglang_lines(run: Run) -> Iterator[str]:
    """The lines themselves."""
    get, tokens = run.measured, run.measured.get("kv_cache_size_tokens")
    ranks = run.request.get("tensor_parallel_size", 1)
    yield f"server_args=ServerArgs(model_path={run.model!r}, tp_size={ranks}, device='cuda')"
    if "loaded_weights_gib_per_rank" in get:
        weights = f"{get['loaded_weights_gib_per_rank']:.2f} GB."
        yield f"Load weight end. elapsed=3.2 s, type=X, avail mem=60.00 GB, mem usage={weights}"
    if "available_kv_cache_gib" in get:
        half = round(get["available_kv_cache_gib"] / 2, 2)
        sizes = f"K size: {half:.2f} GB, V size: {get['available_kv_cache_gib'] - half:.2f} GB"
        yield f"KV Cache is allocated. #tokens: {tokens}, {sizes}"
    if "cuda_graph_gib" in get:
        graphs = f"{get['cuda_graph_gib']:.2f} GB. avail mem=6.51 GB."
        yield f"Capture cuda graph end. Time elapsed: 3.11 s. mem usage={graphs}"
    if tokens is not None:
        yield (
            f"max_total_num_tokens={tokens}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
            "context_len=32768, available_gpu_mem=6.51 GB"
        )
