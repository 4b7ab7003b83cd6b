// Package expert has the kinds of experts that need no training. An expert answers for the instances of a build, under
// each level of advice, with a label or the probabilities of all labels.
//
// A kind is a file with its settings and its constructor, and a line in Kinds. The kinds onnx_image and onnx_table run a
// graph over images and numeric columns, onnx_causal and onnx_pair run language models over claims and passages, clip
// compares images with texts about the classes, endpoint asks a service, and precomputed reads answers from a file.
// Package experts/expert/trained has the experts that learn; it takes RowModel and Argmax from here.
//
// It imports the contracts of parts, costs for the errors of data, experts/chat and experts/language to ask models,
// experts/classlist for lists of labels, experts/embedding and featurize for the vectors of texts and images, featurize/pixel
// for views, featurize/tokenizer for pairs of texts, and onnx with its packages for graphs and their runtime.
package expert
