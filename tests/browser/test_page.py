"""The page itself: the sentence, the verdict, what is pressed and what comes of it."""

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.page_parts import (
    control,
    expect_figure,
    expect_search,
    figure,
    open_more,
    open_page,
    put,
)
from tests.browser.watching import wait_until_ready

FULL_LENGTH = "?max_model_len="
KIB = 1024
GIB = 2**30


def test_the_first_answer_needs_no_script(
    new_context: Callable[..., BrowserContext], base_url: str
) -> None:
    """The figures, the bars and the words are in the page as it is sent."""
    page = new_context(base_url=base_url, java_script_enabled=False).new_page()
    page.goto("./")
    assert figure(page, "weights_bytes_per_rank").get_attribute("value") == "70588581120"
    assert figure(page, "weights_bytes_per_rank").inner_text() == "65.74"
    assert page.locator(".bar").count() == 2
    assert "Llama-3.3-70B-Instruct" in page.locator(".sentence").inner_text()


def test_scripts_change_nothing_that_was_drawn_before_them(
    new_context: Callable[..., BrowserContext], base_url: str
) -> None:
    """The same widgets drew the page when it was built."""
    still = new_context(base_url=base_url, java_script_enabled=False).new_page()
    still.goto("./")
    drawn = still.locator("#answer").inner_text()
    live = new_context(base_url=base_url).new_page()
    open_page(live)
    assert drawn == live.locator("#answer").inner_text()


def test_a_knob_moves_the_figures_and_the_address(ready_page: Page) -> None:
    """Every control's name is its contract's key, in the form and in the link."""
    put(ready_page, "tensor_parallel_size", "4")
    expect_figure(ready_page, "num_accelerators", 4)
    expect_figure(ready_page, "weights_bytes_per_rank", 35312387328)
    expect_figure(ready_page, "kv_cache_bytes_per_token_per_rank", 80 * KIB)
    expect_search(ready_page, "?tensor_parallel_size=4")


def test_a_figure_follows_while_it_is_typed(ready_page: Page) -> None:
    """Nobody has to leave a field to see what it does."""
    control(ready_page, "tensor_parallel_size").fill("8")
    expect_figure(ready_page, "kv_cache_bytes_per_token_per_rank", 40 * KIB)


def test_counts_may_be_typed_as_people_write_them(ready_page: Page) -> None:
    """32k and 32,768 are the same length."""
    put(ready_page, "max_model_len", "16k")
    expect_search(ready_page, "?max_model_len=16384")
    shown = control(ready_page, "max_model_len").locator("+ .shown")
    expect(shown).to_have_text("16,384 tokens")


def test_an_empty_field_shows_what_the_engine_chose(ready_page: Page) -> None:
    """The model's own limit stands where no length is given."""
    put(ready_page, "max_model_len", "")
    expect_search(ready_page, FULL_LENGTH)
    expect(control(ready_page, "max_model_len")).to_have_attribute("placeholder", "131,072")


def test_a_refusal_shows_the_engines_words_and_a_cure_that_works(page: Page) -> None:
    """A press applies the change; the refusal is gone."""
    open_page(page, FULL_LENGTH)
    expect_figure(page, "verdict", "refused")
    error = page.locator(".error")
    expect(error).to_contain_text("To serve at least one request with the model's max seq len")
    expect(page.locator("#reason")).to_contain_text("131,072 tokens one request needs 20.00 GiB")
    cure = page.locator(".cures button").first
    cure.focus()
    page.keyboard.press("Enter")
    expect_figure(page, "verdict", "tight")
    expect(page.locator("#verdict")).to_be_focused()
    expect(error).to_have_count(0)
    assert re.search(r"max_model_len=\d+", page.url)


def test_a_size_that_does_not_divide_the_heads_is_refused_in_the_engines_words(
    ready_page: Page,
) -> None:
    """TP 3 on 64 heads is an answer, not an error of the page."""
    put(ready_page, "tensor_parallel_size", "3")
    expect_figure(ready_page, "verdict", "refused")
    expect(ready_page.locator(".error").first).to_contain_text(
        "Total number of attention heads (64) must be divisible by tensor parallel size (3)"
    )
    expect(ready_page.locator("#verdict")).to_contain_text("Would do: 1, 2, 4, 8, 16, 32, 64")
    expect(ready_page.locator("#bars")).to_be_hidden()


def test_what_cannot_be_read_is_said_beside_its_control_and_kept(ready_page: Page) -> None:
    """The core names the field; the page keeps what was typed and the last good answer."""
    failure = ready_page.locator("#failure")
    field = control(ready_page, "tensor_parallel_size")
    for typed in ("abc", "-1", "0", "1.5", "9" * 40):
        put(ready_page, "tensor_parallel_size", typed)
        expect(failure).to_contain_text("tensor_parallel_size")
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(field).to_have_value(typed)
        assert ready_page.locator(".sentence + #failure").count() == 1
        expect(ready_page.locator(".notice")).to_contain_text("before the last change")
        expect_figure(ready_page, "num_accelerators", 2)
        expect_figure(ready_page, "kv_cache_bytes_per_token_per_rank", 160 * KIB)
        put(ready_page, "tensor_parallel_size", "2")
        expect(failure).to_have_text("")
        expect(ready_page.locator(".notice")).to_have_text("")


def test_a_name_that_is_nearly_right_is_answered_with_those_that_are(page: Page) -> None:
    """The core knows its choices; the page names those that are like what was typed."""
    open_page(page, "?model=llama-3.3")
    expect(page.locator("#failure")).to_have_text(
        "no model is called 'llama-3.3': llama-3.3-70b-instruct"
    )
    expect(control(page, "model")).to_have_value("llama-3.3")


def test_a_failure_in_a_closed_drawer_opens_it(page: Page) -> None:
    """A link may hold nonsense for a field that is not in the sentence."""
    open_page(page, "?max_num_seqs=many")
    expect(control(page, "max_num_seqs")).to_be_visible()
    expect(control(page, "max_num_seqs")).to_have_value("many")
    expect(page.locator("label:has([name=max_num_seqs]) + #failure")).to_be_visible()


def test_an_unknown_key_of_a_link_is_not_passed_over(page: Page) -> None:
    """A misspelt key would otherwise show the figures of another deployment."""
    open_page(page, "?tensor_paralel_size=4")
    expect(page.locator("#failure")).to_contain_text("tensor_paralel_size")


def test_more_kv_heads_double_what_a_token_takes_and_can_be_taken_back(ready_page: Page) -> None:
    """The architecture's own numbers are open; a changed one is marked."""
    open_more(ready_page)
    expect_figure(ready_page, "kv_cache_bytes_per_token_per_rank", 160 * KIB)
    ready_page.get_by_label("×2 num_key_value_heads").click()
    expect_figure(ready_page, "kv_cache_bytes_per_token_per_rank", 320 * KIB)
    ready_page.get_by_label("×2 num_key_value_heads").click()
    expect_figure(ready_page, "kv_cache_bytes_per_token_per_rank", 640 * KIB)
    expect(ready_page.locator("label.changed")).to_have_count(1)
    summary = ready_page.locator("#more > summary")
    expect(summary).to_contain_text("1 changed")
    expect(summary).to_have_attribute("title", "num_key_value_heads")
    ready_page.get_by_label("reset num_key_value_heads").click()
    expect(ready_page.locator("#verdict")).to_be_focused()
    expect_figure(ready_page, "kv_cache_bytes_per_token_per_rank", 160 * KIB)
    expect_search(ready_page, "")


def test_another_model_forgets_what_was_changed_in_the_last(page: Page) -> None:
    """Sixteen KV heads were Llama's; the deployment stays."""
    open_page(page, "?num_key_value_heads=16&tensor_parallel_size=4")
    control(page, "model").click()
    control(page, "model").fill("qwen3-32b")
    page.keyboard.press("Enter")
    expect_search(page, "?model=qwen3-32b&tensor_parallel_size=4")
    expect(control(page, "model")).to_have_value("Qwen3-32B")


def test_a_measured_figure_is_typed_in_gib_and_kept_in_bytes(ready_page: Page) -> None:
    """The reference case's own pool gives the reference case's own tokens."""
    open_more(ready_page)
    put(ready_page, "measured.available_kv_cache_bytes", "5.63")
    expect_search(ready_page, "?measured.available_kv_cache_bytes=6045166469")
    expect_figure(ready_page, "longest_request_tokens", 36880)
    expect_figure(ready_page, "available_kv_cache_bytes", 6045166469)


def test_a_gpu_that_is_in_no_list_is_given_by_its_memory(ready_page: Page) -> None:
    """Choosing "another" leads to the field; choosing from the list leads back."""
    control(ready_page, "accelerator").select_option("other")
    memory = control(ready_page, "accelerator_total_bytes")
    expect(memory).to_be_focused()
    memory.fill("100")
    memory.press("Tab")
    expect_figure(ready_page, "total_bytes", 100 * GIB)
    expect(control(ready_page, "accelerator").locator("+ .shown")).to_have_text("100 GiB GPU")
    control(ready_page, "accelerator").select_option("h100-sxm-80gb")
    expect_search(ready_page, "?accelerator=h100-sxm-80gb")


def test_an_accelerator_that_is_not_sized_cannot_be_chosen_and_a_link_says_why(page: Page) -> None:
    """A TPU is a failure with a reason, never a number."""
    open_page(page, "?accelerator=tpu-v5e")
    expect(page.locator("#failure")).to_be_visible()
    expect(control(page, "accelerator")).to_have_attribute("aria-invalid", "true")
    option = page.locator("option[value=tpu-v5e]")
    expect(option).to_be_disabled()
    expect(option).to_have_text("TPU v5e (not sized yet)")


def test_a_name_that_matches_nothing_is_answered_with_the_nearest_and_goes_nowhere(
    ready_page: Page,
) -> None:
    """Neither into the scenario nor into the history."""
    field = control(ready_page, "model")
    field.click()
    field.fill("qwen3-33b")
    expect(ready_page.locator("#no-model")).to_contain_text("No model matches “qwen3-33b”")
    expect(ready_page.locator("#model-list li").first).to_contain_text("Qwen3")
    ready_page.keyboard.press("Enter")
    ready_page.keyboard.press("Tab")
    ready_page.locator("h1").click()
    expect(ready_page.locator("#model-popup")).to_be_hidden()
    expect(field).to_have_value("Llama-3.3-70B-Instruct")
    expect_search(ready_page, "")
    field.click()
    field.fill("zzz")
    expect(ready_page.locator("#no-model")).to_be_visible()
    expect(ready_page.locator("#model-list li").first).to_be_visible()


def test_one_press_goes_back_to_where_the_page_began(page: Page) -> None:
    """As one step of the history."""
    open_page(page, "?tensor_parallel_size=4&concurrency=9")
    page.get_by_role("link", name="Reset").click()
    expect_search(page, "")
    expect(control(page, "tensor_parallel_size")).to_have_value("2")
    page.go_back()
    expect(control(page, "tensor_parallel_size")).to_have_value("4")


def test_a_switch_goes_into_the_link_only_when_it_is_moved(ready_page: Page) -> None:
    """Eager mode is off by itself, prefix caching on."""
    open_more(ready_page)
    control(ready_page, "enforce_eager").check()
    expect_search(ready_page, "?enforce_eager=true")
    expect_figure(ready_page, "cuda_graph_bytes", 0)
    control(ready_page, "enforce_eager").uncheck()
    expect_search(ready_page, "")
    control(ready_page, "enable_prefix_caching").uncheck()
    expect_search(ready_page, "?enable_prefix_caching=false")


def test_what_is_changed_before_python_is_ready_is_answered_after(page: Page) -> None:
    """Knobs work at once; until then the page says whose figures it shows."""
    page.goto("./")
    put(page, "tensor_parallel_size", "4")
    expect_figure(page, "num_accelerators", 4)
    wait_until_ready(page)
    expect_figure(page, "kv_cache_bytes_per_token_per_rank", 80 * KIB)
    expect(page.locator(".notice")).to_have_text("")
