"""Who embeds, with which settings, and which ratios are the goals: all of it data."""

from contender import Contender

OURS, AS_USED = "regard", "as-used"
TUNED = ("batch-8", "batch-64", "batch-128", "pool")
LIBRARIES = ("ct2-int8", "ct2-int16", "ort-int8", "ort-reduced", "ov-fp32", "ov-int8")
RATIO_GOAL = 2.5  # times the sentences per second of the peer as people use it
MEAN_GOAL, LEAST_GOAL = 0.9999, 0.999  # cosine with the peer's vectors


def usual(rows: list[Contender], bf16_pays: bool) -> list[Contender]:
    """Those that run when nobody is named: bf16 only where the processor is faster in it."""
    left_out = {*LIBRARIES, *(() if bf16_pays else ("bf16",))}
    return [row for row in rows if row.key not in left_out]


def contenders(cores: int) -> list[Contender]:
    """Ours, the peer with its defaults, the peer tuned by hand, libraries for integers."""
    peer = "sentence-transformers"
    sizes = {f"batch-{size}": {"batch_size": size} for size in (8, 64, 128)}
    return [
        Contender(OURS, "regard", "regard", {}),
        Contender("fp32", "regard, fp32", "regard", {"precision": "fp32"}),
        Contender("bf16", "regard, bf16", "regard", {"precision": "bf16"}),
        Contender(AS_USED, peer, peer, {"batch_size": 32}),
        *(
            Contender(key, f"{peer}, batches of {options['batch_size']}", peer, options)
            for key, options in sizes.items()
        ),
        Contender("pool", f"{peer}, {cores} processes", peer, {"processes": cores}),
        Contender("ct2-int8", "CTranslate2, int8", "ctranslate2", {"kind": "int8"}),
        Contender("ct2-int16", "CTranslate2, int16", "ctranslate2", {"kind": "int16"}),
        Contender("ort-int8", "ONNX Runtime, int8", "onnxruntime", {"kind": "int8"}),
        Contender(
            "ort-reduced",
            "ONNX Runtime, int8 of 7 bits",
            "onnxruntime",
            {"kind": "int8", "reduce": True},
        ),
        Contender("ov-fp32", "OpenVINO, fp32", "openvino", {"kind": "fp32"}),
        Contender("ov-int8", "OpenVINO, int8", "openvino", {"kind": "int8"}),
    ]
