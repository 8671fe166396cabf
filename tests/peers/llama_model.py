"""Writes a model file for llama.cpp that nobody trained: `python llama_model.py FILE`, in the
environment `llama`.

The output matrix is a table of which token follows which: the embedding is the identity and the
one layer adds nothing. The chat template ends a prompt that offers tools with <call>, which leads
to a tool call, whose JSON llama.cpp's own grammar then forces, with arguments at random; any other
prompt ends with <say>, which leads to "Done.".
"""

import math
import sys

import gguf
import numpy as np

WIDTH, HEADS, INNER = 384, 4, 128
SPECIAL = ("<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>")
MARKERS = ("<call>", "<say>", "<tool_call>", "</tool_call>", "Done.")
BYTES = [f"<0x{number:02X}>" for number in range(256)]
CHARACTERS = ["▁", *map(chr, range(33, 127)), "\n"]
TOKENS = [*SPECIAL, *MARKERS, *BYTES, *CHARACTERS]
NEVER, ALWAYS = -20.0, 20.0
FOLLOWS = {
    "<call>": "<tool_call>",
    "<say>": "Done.",
    "Done.": "<|im_end|>",
    "</tool_call>": "<|im_end|>",
}

TEMPLATE = r"""
{%- if tools %}
    {{- '<|im_start|>system\nTools:\n<tools>' }}
    {%- for tool in tools %}
        {{- '\n' }}{{- tool | tojson }}
    {%- endfor %}
    {{- '\n</tools>\nCall them so:\n' }}
    {{- '<tool_call>{"name": ..., "arguments": {...}}</tool_call><|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'tool' %}
        {{- '<|im_start|>user\n<tool_response>\n' + message.content }}
        {{- '\n</tool_response><|im_end|>\n' }}
    {%- elif message.role == 'assistant' and message.tool_calls %}
        {{- '<|im_start|>assistant\n' }}
        {%- if message.content %}{{- message.content }}{%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '<tool_call>{"name": "' }}{{- tool_call.name }}
            {{- '", "arguments": ' }}{{- tool_call.arguments | tojson }}
            {{- '}</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {{- '<say>' if messages[-1].role == 'tool' or not tools else '<call>' }}
{%- endif %}
"""


def at(token: str) -> int:
    """Return the number of a token; of a character, not of its byte."""
    return len(TOKENS) - 1 - TOKENS[::-1].index(token)


def table() -> np.ndarray:
    """Return the output matrix: a row for each next token, a column for each present one."""
    chance = np.random.default_rng(7)
    likes = chance.standard_normal(len(TOKENS)).astype(np.float32) * 0.5 - 6
    for letter in map(chr, range(ord("a"), ord("z") + 1)):
        likes[at(letter)] = 1 + chance.standard_normal() * 0.7
    for digit in "0123456789":
        likes[at(digit)] = 0.5
    # Strings, objects and calls are to end soon.
    for token, liking in {'"': 3.0, "}": 3.0, "</tool_call>": 4.0, "<|im_end|>": 2.0}.items():
        likes[at(token)] = liking
    for token in (*SPECIAL[:4], "<call>", "<say>", "<tool_call>", "Done."):
        likes[at(token)] = NEVER
    matrix = np.zeros((len(TOKENS), WIDTH), np.float32)
    matrix[:, : len(TOKENS)] = likes[:, None]
    for token, following in FOLLOWS.items():
        matrix[:, at(token)] = NEVER
        matrix[at(following), at(token)] = ALWAYS
    return matrix / math.sqrt(WIDTH)  # what normalising makes of a one


def write(path: str) -> None:
    """Write the file."""
    kinds = gguf.TokenType
    file = gguf.GGUFWriter(path, "llama")
    file.add_name("table")
    file.add_context_length(32_768)
    file.add_embedding_length(WIDTH)
    file.add_block_count(1)
    file.add_feed_forward_length(INNER)
    file.add_head_count(HEADS)
    file.add_head_count_kv(HEADS)
    file.add_rope_dimension_count(WIDTH // HEADS)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_file_type(0)
    file.add_vocab_size(len(TOKENS))
    file.add_tokenizer_model("llama")
    file.add_token_list([token.encode() for token in TOKENS])
    file.add_token_scores([-float(number) for number in range(len(TOKENS))])
    file.add_token_types(
        [kinds.UNKNOWN]
        + [kinds.CONTROL] * (len(SPECIAL) - 1)
        + [kinds.USER_DEFINED] * len(MARKERS)
        + [kinds.BYTE] * len(BYTES)
        + [kinds.NORMAL] * len(CHARACTERS)
    )
    file.add_unk_token_id(at("<unk>"))
    file.add_bos_token_id(at("<s>"))
    file.add_eos_token_id(at("<|im_end|>"))
    file.add_add_bos_token(True)
    file.add_add_space_prefix(False)
    file.add_chat_template(TEMPLATE)
    for name, tensor in tensors().items():
        file.add_tensor(f"{name}.weight", tensor)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def tensors() -> dict[str, np.ndarray]:
    """Return the weights: all of them ones on a diagonal, zeros, and the table."""
    ones = np.ones(WIDTH, np.float32)
    square = np.zeros((WIDTH, WIDTH), np.float32)
    layer = {
        "attn_norm": ones,
        "ffn_norm": ones,
        **{f"attn_{part}": square for part in ("q", "k", "v", "output")},
        "ffn_gate": np.zeros((INNER, WIDTH), np.float32),
        "ffn_up": np.zeros((INNER, WIDTH), np.float32),
        "ffn_down": np.zeros((WIDTH, INNER), np.float32),
    }
    return {
        "token_embd": np.eye(len(TOKENS), WIDTH, dtype=np.float32),
        "output_norm": ones,
        "output": table(),
        **{f"blk.0.{part}": tensor for part, tensor in layer.items()},
    }


if __name__ == "__main__":
    write(sys.argv[1])
