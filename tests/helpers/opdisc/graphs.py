"""A card's ONNX model run by two evaluators that we did not write."""

import numpy as np
import pandas as pd


def by_runtime(content):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"]).run


def by_reference(content):
    import onnx.reference

    return onnx.reference.ReferenceEvaluator(onnx.load_from_string(content)).run


def fed(content, rows):
    """Return cells by input: doubles with NaN, or texts of which the empty one is missing."""
    import onnx

    graph, found = onnx.load_from_string(content).graph, {}
    for one in graph.input:
        cells = [row[one.name] for row in rows]
        if one.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE:
            numbers = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce")
            found[one.name] = numbers.to_numpy(dtype=float)
        else:
            found[one.name] = np.array([cell or "" for cell in cells], dtype=object)
    return found


def readable(row, schema):
    """Return a row without texts in columns of numbers, which no double holds."""
    numeric = {f.column for f in schema.features if f.kind == "thresholds"}
    return {n: None if n in numeric and cell == "text" else cell for n, cell in row.items()}
