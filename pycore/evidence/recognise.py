"""The scenario's fields that a text tells: only those, and only values that Napkin reads."""

from dataclasses import dataclass, field
from typing import Final

from pycore.engine.versions import find_version
from pycore.errors import InvalidRequest
from pycore.evidence import identify
from pycore.evidence.reading.numbers import gib_text
from pycore.evidence.reading.readings import Findings, Reading
from pycore.hardware import accelerators
from pycore.model.catalogue import catalogue as models
from pycore.request import READERS
from pycore.scenario import Scenario
from pycore.sizing.note import Note, RunNoteKind

# Settings that are the scenario's own under the same name.
SETTINGS: Final = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "decode_context_parallel_size",
    "enable_expert_parallel",
    "dtype",
    "kv_cache_dtype",
    "mamba_ssm_cache_dtype",
    "block_size",
    "language_model_only",
    "gpu_memory_utilization",
    "kv_cache_memory_bytes",
    "max_model_len",
    "max_num_seqs",
    "max_num_batched_tokens",
    "enforce_eager",
    "enable_prefix_caching",
    "disable_hybrid_kv_cache_manager",
    "quantization",
)


@dataclass(slots=True)
class Recognised:
    """What a text says of the scenario, and what it says that Napkin could not use."""

    request: dict[str, object] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    model_name: str | None = None
    engine_version: str | None = None
    serves_other_model: bool = False
    """Whether the text names a model that is not the scenario's and not in the catalogue."""

    def note(self, kind: RunNoteKind, message: str) -> None:
        """Tell the reader something."""
        self.notes.append(Note(kind, message))

    def note_if(self, kind: RunNoteKind, message: str | None) -> None:
        """Tell the reader something, if there is something to tell."""
        if message is not None:
            self.note(kind, message)


def recognise(findings: Findings, scenario: Scenario) -> Recognised:
    """The request's fields that the text tells."""
    found = Recognised()
    take_model(findings, scenario, found)
    take_accelerator(findings, scenario, found)
    take_version(findings, found)
    for name in SETTINGS:
        take_setting(findings, name, found)
    ranks = counted_ranks(findings)
    if ranks > scenario.tensor_parallel_size and "tensor_parallel_size" not in found.request:
        found.request["tensor_parallel_size"] = ranks
    if findings.engine in {"sglang", "tensorrt_llm"}:
        found.request.pop("gpu_memory_utilization", None)
        found.note(
            "other_engine",
            "The log is not vLLM's: its figures are recognised, and its weights compared; the pool "
            "is laid out by another engine's rules.",
        )
    return found


def take_setting(findings: Findings, name: str, found: Recognised) -> None:
    """Take one setting, if it is a value that a request may have."""
    value = findings.setting(name)
    if value is None:
        return
    try:
        found.request[name] = READERS[name](name, value)
    except InvalidRequest as error:
        found.note("setting_not_used", f"The text says {name} = {value}: {error.message}.")


def counted_ranks(findings: Findings) -> int:
    """Tensor-parallel ranks that printed something; 0 where none gave its place."""
    ranks = [
        int(part.removeprefix("TP"))
        for start in findings.starts.values()
        for place in start.places
        for part in place.split()
        if part.startswith("TP")
    ]
    return max(ranks) + 1 if ranks else 0


def take_model(findings: Findings, scenario: Scenario, found: Recognised) -> None:
    """Take the model, if its name is one of the catalogue's."""
    name = findings.setting("model")
    if not isinstance(name, str):
        return
    found.model_name = name
    key = identify.model_of(name)
    served = findings.setting("served_model_name")
    if key is None and isinstance(served, str):
        key = identify.model_of(served)
    if key is not None:
        found.request["model"] = key
        if scenario.config is not None:
            found.request["config"] = None
        return
    own = models().get(scenario.model or "", {})
    same = str(own.get("hf_id", "")).rsplit("/", 1)[-1].lower() in name.lower() if own else False
    if scenario.config is not None or same:
        found.note("model_taken", f"{name} is taken to be the scenario's own model.")
        return
    found.serves_other_model = True
    found.note(
        "model_not_known",
        f"{name} is not in the catalogue: paste its config.json to hold the figures against it.",
    )


def take_accelerator(findings: Findings, scenario: Scenario, found: Recognised) -> None:
    """Take the GPU by its name, else by the size of its memory where that tells it."""
    named = {identify.accelerator_of(name) for name in findings.accelerator_names}
    told = named - {None}
    total = findings.deciding("total_bytes")
    if len(told) == 1:
        put_accelerator(found, scenario, str(told.pop()))
    elif len(told) > 1:
        found.note("several_accelerators", "The text names several kinds of GPU.")
    elif total is not None and total.value > 0:
        take_total(scenario, found, total)
    free = findings.deciding("accelerator_free_bytes")
    if free is not None and free.value > 0:
        # Of two GPUs of a kind one may have some more memory than the catalogue's.
        most = most_bytes_of(scenario, found) or int(free.value)
        found.request["accelerator_free_bytes"] = min(int(free.value), most)


def most_bytes_of(scenario: Scenario, found: Recognised) -> int | None:
    """The most memory that the accelerator may have; None where none is known."""
    own = found.request.get("accelerator_total_bytes", scenario.accelerator_total_bytes)
    if isinstance(own, int):
        return own
    key = found.request.get("accelerator", scenario.accelerator)
    row = accelerators.catalogue().get(str(key), {})
    return accelerators.find(str(key)).total_range_bytes[1] if row.get("total_bytes") else None


def put_accelerator(found: Recognised, scenario: Scenario, key: str) -> None:
    """Name the accelerator, in place of one of the user's own."""
    found.request["accelerator"] = key
    if scenario.accelerator_total_bytes is not None:
        found.request["accelerator_total_bytes"] = None


def take_total(scenario: Scenario, found: Recognised, total: Reading) -> None:
    """Tell the GPU by its memory: the scenario's own if it fits, else the kind that it must be."""
    fitting = identify.accelerators_with(total)
    if scenario.accelerator in fitting:
        return
    kinds = {kind_of(key) for key in fitting}
    if len(kinds) == 1:
        put_accelerator(found, scenario, fitting[0])
        found.note(
            "accelerator_by_memory",
            f"No GPU is named; {gib_text(total.value)} is the memory of "
            f"{' or '.join(accelerators.find(key).name for key in fitting)}.",
        )
        return
    found.request["accelerator"] = None
    found.request["accelerator_total_bytes"] = int(total.value)
    names = ", ".join(accelerators.find(key).name for key in fitting) or "none of the catalogue"
    found.note(
        "accelerator_not_known",
        f"No GPU is named; {gib_text(total.value)} could be: {names}.",
    )


def kind_of(key: str) -> tuple[object, bool]:
    """What sizing knows a GPU by besides its memory."""
    entry = accelerators.find(key)
    return entry.compute_capability, entry.small_batch_by_name


def take_version(findings: Findings, found: Recognised) -> None:
    """Take the engine's version, if it is one that Napkin knows."""
    version = findings.setting("engine_version")
    if version is None or findings.engine not in {"", "vllm"}:
        return
    found.engine_version = str(version)
    try:
        find_version(str(version))
    except InvalidRequest as error:
        found.note("version_not_known", f"{error.message}.")
        return
    found.request["engine_version"] = str(version)
