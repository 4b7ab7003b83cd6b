// Package language runs language models that are ONNX graphs, laid out in folders as
// Hugging Face keeps them: causal models, which continue a text, and classifiers of
// pairs of texts. It also has conversations, the prompt about a claim and its
// passages, and the parser that reads a label from an answer.
//
// It imports experts/builder/part, whose Setup opens files and the runtime and records
// what a build depends on, featurize/tokenizer, which turns texts into tokens, and onnx,
// onnx/hf and onnx/ort, which read and run the graphs.
package language
