"""Checks ONNX files with ONNX's own checker and shape inference: python3 check_onnx.py FILE..."""

import json
import sys

import onnx


def shape_of(value):
    tensor = value.type.tensor_type
    return tensor.elem_type, [size.dim_param or size.dim_value for size in tensor.shape.dim]


def check(path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    declared = [(value.name, shape_of(value)) for value in model.graph.output]
    for value in model.graph.output:  # inferred without our own word
        value.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    found = [(value.name, shape_of(value)) for value in inferred.graph.output]
    assert found == declared, f"{path}: inferred {found}, declared {declared}"
    for value in list(model.graph.input) + list(model.graph.output):
        assert value.doc_string, f"{path}: {value.name} has no description"
        assert shape_of(value)[1][:1] in (["batch"], []), f"{path}: {value.name} has no free batch"
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert metadata["format"] == "facet-onnx-1"
    assert json.loads(metadata["model"])["factors"], f"{path}: no factors in the metadata"


for argument in sys.argv[1:]:
    check(argument)
print(f"{len(sys.argv) - 1} files checked")
