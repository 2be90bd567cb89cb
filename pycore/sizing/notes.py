"""What a reader should know before trusting the figures."""

from pycore.sizing.deployment import Deployment


def notes_of(deployment: Deployment) -> tuple[dict[str, str], ...]:
    """What a reader should know before trusting the figures."""
    notes = []
    accelerator, model, scenario = deployment.accelerator, deployment.model, deployment.scenario
    if not accelerator.total_is_measured and scenario.measured.total_bytes is None:
        notes.append(
            {
                "kind": "assumed_total_bytes",
                "message": f"The memory of {accelerator.name} is assumed, not read off a real "
                "one: no public log that prints it was found.",
            }
        )
    # An absent flag that is off says nothing new; any other default decides a figure.
    decisive = {name: value for name, value in model.defaulted.items() if value is not False}
    if decisive:
        named = ", ".join(f"{name} = {value}" for name, value in decisive.items())
        notes.append(
            {
                "kind": "defaulted_fields",
                "message": f"The config leaves out: {named} (transformers' own default).",
            }
        )
    if not deployment.settings.version.established:
        notes.append(
            {
                "kind": "version_not_established",
                "message": f"No record of vLLM {scenario.engine_version} was seen: its overheads "
                "are taken from the versions around it.",
            }
        )
    if deployment.workload_tokens > deployment.settings.max_model_len:
        notes.append(
            {
                "kind": "workload_longer_than_max_model_len",
                "message": f"A request of {deployment.workload_tokens} tokens is longer than "
                f"max_model_len ({deployment.settings.max_model_len}): the engine rejects it.",
            }
        )
    return tuple(notes)
