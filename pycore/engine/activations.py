"""The memory that a profiling run takes at its peak, each candidate for the peak as a formula.

The engine runs its largest batch through the model once, and samples once for every sequence. The
peak is the largest of: the widest point of a layer, the sampler's matrices of logits, the copy of
the embedding that the compiler times a kernel on, and the tower that reads pictures.
"""


def sampler_bytes(
    *,
    logit_copies: float,
    max_num_seqs: int,
    buffer_rows: int,
    vocab_size: int,
    hidden_state_bytes: int,
) -> int:
    """The sampler: so many matrices of float32 logits, a row for every sequence.

    They do not shrink with TP. The logits in the model's own type, a float32 copy, probabilities
    and noise make 3.5; up to vLLM 0.16 the logits were sorted, which takes far more. Triton's
    kernel (0.17 to 0.21) has a row for each multiprocessor besides. The hidden states of the
    whole batch are kept meanwhile.

    Source: vLLM 0.19.0, v1/sample/sampler.py and ops/topk_topp_sampler.py; what sorting takes is
    fitted to public start-up records of 0.10 to 0.16.
    """
    return int((logit_copies * max_num_seqs + buffer_rows) * vocab_size * 4) + hidden_state_bytes


def forward_bytes(
    *,
    max_num_batched_tokens: int,
    widest_rows: int,
    hidden_size: int,
    hidden_copies: float,
    element_bytes: int,
) -> int:
    """A layer at its widest point, for every token of the batch.

    Its widest product, half of that once activated, and a few rows of hidden_size. The widest product is gate and up together, or queries, keys and values; TP divides it.
    Source: vLLM 0.33.0, layers/activation.py; the rows of hidden_size are fitted to pipeline
    stages without a sampler.
    """
    return int(
        max_num_batched_tokens * element_bytes * (1.5 * widest_rows + hidden_copies * hidden_size)
    )


def embedding_copy_bytes(
    *, embedding_rows: int, max_num_batched_tokens: int, hidden_size: int, element_bytes: int
) -> int:
    """A copy of the rank's embedding, and what comes of it for the largest batch.

    From vLLM 0.12 on the compiler times fused kernels on random copies of all that they read; the
    first one of a text model reads the embedding. A start that finds the compiled model in its
    cache skips this.
    Source: vLLM 0.33.0, config/compilation.py (benchmark_combo_kernel).
    """
    return (embedding_rows + max_num_batched_tokens) * hidden_size * element_bytes


def picture_tower_bytes(
    *,
    num_patches: int,
    widest_rows: int,
    activated_rows: int,
    hidden_size: int,
    element_bytes: int,
) -> int:
    """The tower that reads pictures, on as many as the largest batch holds.

    Its widest product before and after activation, which halves it where one half gates the
    other, and four rows of its own hidden size: what comes in, its norm, what attention reads and
    what it gives.
    Source: vLLM 0.33.0, multimodal/encoder_budget.py; counted, not fitted.
    """
    return num_patches * element_bytes * (widest_rows + activated_rows + 4 * hidden_size)


def kept_picture_bytes(
    *,
    num_picture_tokens: int,
    hidden_size: int,
    num_patches: int,
    patch_elements: int,
    element_bytes: int,
) -> int:
    """What is kept of profiled pictures while text runs: their tokens, and their pixels.

    Source: vLLM 0.33.0, v1/worker/gpu/mm/encoder_runner.py, profile_encoder_cache.
    """
    return (num_picture_tokens * hidden_size + num_patches * patch_elements) * element_bytes


def expert_workspace_bytes(
    *,
    max_num_batched_tokens: int,
    num_experts_per_tok: int,
    hidden_size: int,
    expert_width: int,
    element_bytes: int,
) -> int:
    """What routed experts work in: what goes into and comes out of each product, kept for good.

    Every token goes to several experts, so there are as many rows for each.
    Source: vLLM 0.19.0, fused_moe/fused_moe.py, TritonExperts.workspace_shapes.
    """
    return (
        max_num_batched_tokens
        * num_experts_per_tok
        * (max(expert_width, hidden_size) + max(2 * expert_width, hidden_size))
        * element_bytes
    )


def sampler_state_bytes(*, max_num_seqs: int, vocab_size: int) -> int:
    """What vLLM's V2 runner keeps to penalise repetition: a count for each sequence and token.

    Source: vLLM 0.33.0, v1/worker/gpu/sample/penalties.py, PenaltiesState.
    """
    return max_num_seqs * (vocab_size + (vocab_size + 31) // 32) * 4


def activation_bytes(
    *,
    sampler_bytes: int,
    forward_bytes: int,
    embedding_copy_bytes: int,
    picture_tower_bytes: int,
    kept_picture_bytes: int,
    expert_workspace_bytes: int,
    base_bytes: int,
) -> int:
    """Activation peak of the profiling run: its largest candidate, and what is there throughout.

    Pictures come first; then the compiler times its kernels; then the batch runs and is sampled
    from, and from the first layer on routed experts keep their workspace.

    Source: vLLM 0.33.0, v1/worker/gpu/model_runner.py, profile_run; checked on public start-up
    records of 0.10 to 0.31.
    """
    return (
        max(
            max(sampler_bytes, forward_bytes) + kept_picture_bytes + expert_workspace_bytes,
            picture_tower_bytes + kept_picture_bytes,
            embedding_copy_bytes,
        )
        + base_bytes
    )
