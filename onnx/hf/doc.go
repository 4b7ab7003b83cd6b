// Package hf reads models in the layout of Hugging Face: it finds the folder of a model by name in the local cache, and
// builds the ONNX graph of known architectures from config.json and safetensors files. Nothing is downloaded.
//
// An architecture is one file: its configuration, the names of its weights and its graph; architectures lists them by
// the model_type of config.json.
package hf
