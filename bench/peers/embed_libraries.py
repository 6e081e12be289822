"""Encoders like BERT through libraries that compute in 8 or 16 bits, as one sets them up by hand.

CTranslate2 converts the folder, the others are given torch's export of it; texts are cut by the
folder's tokenizer, sorted by length, padded in batches; mean over the tokens, length 1. Imported by
embed_measure.py in the environment of the library that is asked for.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

BATCH = 32  # texts of about one length
CUT = 256  # tokens, as all-MiniLM-L6-v2's folder says
CALIBRATION = (
    "A man is playing a guitar.",
    "Stocks fell sharply on Monday.",
    "Who wrote this book?",
)
# ids and mask (B, S) → the last layer's states (B, S, D)
States = Callable[[np.ndarray, np.ndarray], np.ndarray]


def embedder(folder: Path, states: States, workers: int) -> Callable[[list[str]], np.ndarray]:
    """What all of them share: everything but the layers."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(CUT)

    def of(rows: list[list[int]]) -> np.ndarray:
        width = max(map(len, rows))
        ids, mask = np.zeros((2, len(rows), width), np.int64)
        for line, real, row in zip(ids, mask, rows, strict=True):
            line[: len(row)], real[: len(row)] = row, 1
        shown = mask[:, :, None].astype(np.float32)
        mean = (states(ids, mask) * shown).sum(1) / shown.sum(1)
        return np.asarray(mean / np.linalg.norm(mean, axis=1, keepdims=True))

    def embed(texts: list[str]) -> np.ndarray:
        rows = [one.ids for one in tokenizer.encode_batch(texts)]
        order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
        parts = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
        with ThreadPoolExecutor(workers) as pool:
            answers = list(pool.map(lambda part: of([rows[i] for i in part]), parts))
        vectors = np.empty((len(rows), answers[0].shape[1]), np.float32)
        for part, answer in zip(parts, answers, strict=True):
            vectors[part] = answer
        return vectors

    return embed


def _threads() -> int:
    return len(os.sched_getaffinity(0))


def ctranslate2_states(folder: Path, options: dict[str, Any]) -> tuple[States, str]:
    """Its encoder, a batch on each core."""
    import ctranslate2

    kind = options["kind"]
    with TemporaryDirectory() as work:
        converter = ctranslate2.converters.TransformersConverter(str(folder))
        converter.convert(f"{work}/converted", quantization=kind)
        encoder = ctranslate2.Encoder(
            f"{work}/converted", compute_type=kind, inter_threads=_threads(), intra_threads=1
        )

    def states(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        rows = [line[: int(n)].tolist() for line, n in zip(ids, mask.sum(1), strict=True)]
        return np.array(encoder.forward_batch(rows).last_hidden_state, np.float32)

    return states, f"ctranslate2.Encoder, {encoder.compute_type}, {_threads()} workers of 1 thread"


def _exported(folder: Path, work: str) -> str:
    """The folder as a file of ONNX."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    ids = torch.ones(2, 8, dtype=torch.long)
    names, axes = ["input_ids", "attention_mask"], {0: "texts", 1: "tokens"}
    file = f"{work}/encoder.onnx"
    with torch.inference_mode():
        torch.onnx.export(
            model, (), file, kwargs=dict.fromkeys(names, ids), input_names=names,
            output_names=["states", "pooled"], dynamo=False,
            dynamic_axes={name: axes for name in (*names, "states")},
        )  # fmt: skip
    return file


def onnxruntime_states(folder: Path, options: dict[str, Any]) -> tuple[States, str]:
    """Weights quantised a column, inputs as they come."""
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with TemporaryDirectory() as work:
        file = _exported(folder, work)
        if options["kind"] == "int8":
            quantize_dynamic(
                file, f"{work}/int8.onnx", weight_type=QuantType.QInt8, per_channel=True,
                reduce_range=bool(options.get("reduce")),
            )  # fmt: skip
            file = f"{work}/int8.onnx"
        setup = onnxruntime.SessionOptions()
        setup.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(file, setup, providers=["CPUExecutionProvider"])

    def states(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        answer = session.run(["states"], {"input_ids": ids, "attention_mask": mask})[0]
        return np.asarray(answer)

    return states, f"onnxruntime {onnxruntime.__version__}, {_threads()} workers of 1 thread"


def openvino_states(folder: Path, options: dict[str, Any]) -> tuple[States, str]:
    """fp32, or weights and inputs of products in int8 as its quantiser calibrates them."""
    import openvino

    with TemporaryDirectory() as work:
        model = openvino.convert_model(_exported(folder, work))
        if options["kind"] == "int8":
            import nncf
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            rows = [
                {
                    "input_ids": np.array([one.ids]),
                    "attention_mask": np.ones((1, len(one.ids)), np.int64),
                }
                for one in map(tokenizer.encode, CALIBRATION)
            ]
            model = nncf.quantize(
                model, nncf.Dataset(rows), model_type=nncf.ModelType.TRANSFORMER, subset_size=3
            )
        exact = {"INFERENCE_PRECISION_HINT": "f32"}
        compiled = openvino.compile_model(
            model, "CPU", {**exact, "INFERENCE_NUM_THREADS": _threads()}
        )
    request = compiled.create_infer_request()

    def states(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        answer = request.infer({"input_ids": ids, "attention_mask": mask})
        return np.array(answer["states"])

    return states, f"openvino {openvino.__version__}, one request on {_threads()} threads"


LIBRARIES = {
    "ctranslate2": ctranslate2_states,
    "onnxruntime": onnxruntime_states,
    "openvino": openvino_states,
}


def library(
    name: str, folder: Path, options: dict[str, Any]
) -> tuple[Callable[[list[str]], np.ndarray], str]:
    """The embedding function of one library, and how it was set up."""
    states, layout = LIBRARIES[name](folder, options)
    workers = 1 if name == "openvino" else _threads()  # its request is not shared by threads
    return embedder(folder, states, workers), f"{layout}, batches of {BATCH} by length"
