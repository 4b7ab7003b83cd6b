"""Serves a small model of Qwen3's architecture by llama.cpp's own server, which speaks chat completions, Responses and Messages.

usage: model_server.py FOLDER

FOLDER has config.json, model.safetensors and tokenizer.json; the weights may be random. It needs xllamacpp, gguf, numpy and
safetensors. The address is printed when the server listens; the server stops at the end of its standard input."""
import json
import pathlib
import sys
import tempfile

import gguf
import numpy as np
import xllamacpp
from safetensors.numpy import load_file

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


def convert(folder, to):
    """convert writes the model as a file of llama.cpp."""
    config = json.loads((folder / "config.json").read_text())
    words = json.loads((folder / "tokenizer.json").read_text())
    out = gguf.GGUFWriter(to, "qwen3")
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(config["num_attention_heads"])
    out.add_head_count_kv(config["num_key_value_heads"])
    out.add_key_length(config["head_dim"])
    out.add_value_length(config["head_dim"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    tokens = [f"[unused{i}]" for i in range(config["vocab_size"])]
    types = [gguf.TokenType.UNUSED] * len(tokens)
    for text, i in words["model"]["vocab"].items():
        tokens[i], types[i] = text, gguf.TokenType.NORMAL
    for t in words["added_tokens"]:
        tokens[t["id"]], types[t["id"]] = t["content"], gguf.TokenType.CONTROL
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("qwen2")
    out.add_token_list(tokens)
    out.add_token_types(types)
    out.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in words["model"]["merges"]])
    out.add_eos_token_id(config["eos_token_id"])
    out.add_chat_template(CHATML)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, config["num_hidden_layers"])
    for name, values in load_file(folder / "model.safetensors").items():
        out.add_tensor(names.get_name(name, try_suffixes=(".weight",)), values.astype(np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.gguf"
        convert(pathlib.Path(sys.argv[1]), file)
        p = xllamacpp.CommonParams()
        p.model.path = str(file)
        p.hostnames, p.port = ["127.0.0.1"], 0
        p.n_ctx, p.n_parallel = 8192, 4
        p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1  # more would wait for each other, and the model is small
        p.use_jinja = True
        server = xllamacpp.Server(p)
        print(server.listening_address, flush=True)
        sys.stdin.read()


main()
