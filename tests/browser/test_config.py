"""A config.json by paste, by drop and by file: its text goes to the core as it is."""

import json
import time
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.page_parts import control, expect_figure, open_page

SMALL = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "rms_norm_eps": 1e-05,
}
KV_BYTES = 16 * 2 * 8 * 64 * 2
"""Layers × K and V × KV heads × head_dim × bytes, on one GPU."""
DROP = """
({ selector, files }) => {
  const data = new DataTransfer();
  for (const [name, text] of Object.entries(files)) data.items.add(new File([text], name));
  const options = { bubbles: true, cancelable: true, dataTransfer: data };
  const target = document.querySelector(selector);
  target.dispatchEvent(new DragEvent("dragover", options));
  target.dispatchEvent(new DragEvent("drop", options));
}
"""
PASTE = """
(field, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text", text);
  const options = { bubbles: true, cancelable: true, clipboardData };
  field.dispatchEvent(new ClipboardEvent("paste", options));
}
"""
LONGEST_FRAME = """
() => {
  const seen = { longest: 0, last: performance.now() };
  const look = (now) => {
    seen.longest = Math.max(seen.longest, now - seen.last);
    seen.last = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  window.frames_seen = seen;
}
"""
ONE_GPU = "?tensor_parallel_size=1"


def open_dialog(page: Page) -> None:
    """Open the dialog as a person does."""
    control(page, "model").click()
    page.locator("#config-open").click()
    expect(page.locator("#config-dialog")).to_be_visible()


def use(page: Page) -> None:
    """Press the dialog's button."""
    page.get_by_role("button", name="Use this config").click()


def expect_small_model(page: Page) -> None:
    """Wait until the small model is the one that is sized."""
    expect(page.locator("#config-dialog")).to_be_hidden()
    expect_figure(page, "kv_cache_bytes_per_token_per_rank", KV_BYTES)


def test_a_pasted_config_is_sized_and_goes_into_the_link(page: Page) -> None:
    """Only the fields that were read: a link does not carry six megabytes."""
    open_page(page, ONE_GPU)
    open_dialog(page)
    page.locator("textarea[name=config]").fill(json.dumps(SMALL | {"unused": "x" * 5000}, indent=2))
    use(page)
    expect_small_model(page)
    assert "unused" not in page.url
    assert len(page.url) < 2500
    link = page.url
    page.goto("about:blank")
    open_page(page, link)
    expect_figure(page, "kv_cache_bytes_per_token_per_rank", KV_BYTES)


def test_a_config_pasted_over_the_models_name_finds_its_way(page: Page) -> None:
    """That is where people paste it."""
    open_page(page, ONE_GPU)
    control(page, "model").evaluate(PASTE, json.dumps(SMALL))
    expect(page.locator("#config-dialog")).to_be_visible()
    use(page)
    expect_small_model(page)


def test_a_config_may_be_dropped_anywhere(page: Page) -> None:
    """With its hf_quant_config.json, if it has one."""
    open_page(page, ONE_GPU)
    files = {"config.json": json.dumps(SMALL), "hf_quant_config.json": "{}"}
    page.evaluate(DROP, {"selector": "#bars", "files": files})
    expect(page.locator("#config-dialog")).to_be_visible()
    expect(page.locator("#config-dialog .row .hint")).to_contain_text("hf_quant_config.json")
    page.evaluate(DROP, {"selector": "#config-dialog", "files": {"config.json": json.dumps(SMALL)}})
    expect(page.locator("textarea[name=config]")).to_have_value(json.dumps(SMALL))


def test_a_config_may_be_chosen_as_a_file(page: Page, tmp_path: Path) -> None:
    """By the system's own dialog."""
    file = tmp_path / "config.json"
    file.write_text(json.dumps(SMALL))
    open_page(page, ONE_GPU)
    open_dialog(page)
    page.locator("#config-dialog input[type=file]").set_input_files(file)
    use(page)
    expect_small_model(page)


def test_a_config_with_nan_is_read(page: Page) -> None:
    """Published ones hold it where nobody reads; a browser's own parser would refuse it."""
    open_page(page, ONE_GPU)
    open_dialog(page)
    text = json.dumps(SMALL)[:-1] + ', "attention_temperature": NaN, "limit": Infinity}'
    page.locator("textarea[name=config]").fill(text)
    use(page)
    expect_small_model(page)


def test_what_is_wrong_with_a_config_is_said_beside_it_and_nothing_is_lost(page: Page) -> None:
    """The text stays, and so does the model that was there."""
    open_page(page)
    open_dialog(page)
    area = page.locator("textarea[name=config]")
    for text, said in (
        ('{"architectures": [', "not JSON"),
        ('{"architectures": ["NoSuchModel"]}', "NoSuchModel"),
        (json.dumps(SMALL | {"num_hidden_layers": "many"}), "num_hidden_layers"),
    ):
        area.fill(text)
        use(page)
        expect(page.locator("#config-dialog .failure")).to_contain_text(said)
        expect(area).to_have_value(text)
    page.get_by_role("button", name="Cancel").click()
    expect(control(page, "model")).to_have_value("Llama-3.3-70B-Instruct")


def test_six_megabytes_are_read_within_a_second_without_freezing_the_page(page: Page) -> None:
    """Some published configs list thousands of ignored modules."""
    ignored = [f"model.layers.{index}.mlp.experts.{index}.gate_proj" for index in range(120_000)]
    text = json.dumps(SMALL | {"ignored_modules": ignored})
    assert len(text) > 6_000_000
    open_page(page, ONE_GPU)
    open_dialog(page)
    page.evaluate(LONGEST_FRAME)
    page.locator("textarea[name=config]").evaluate(PASTE, text)
    started = time.monotonic()
    use(page)
    expect_small_model(page)
    elapsed = time.monotonic() - started
    assert page.evaluate("() => window.frames_seen.longest") < 500
    assert elapsed < 5, "a second on a quiet machine; tests share theirs"
    assert "ignored" not in page.url
