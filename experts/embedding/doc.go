// Package embedding computes vectors of texts for the parts of a build. Each text is embedded once: its vector is
// stored in a file in the folder of experts, where later builds find it.
//
// A part opens an Embedder for the encoder that its configuration names (Open). Parts that name the same encoder share one.
// It imports experts/builder/part for Setup and Preparation, and featurize to open encoders.
package embedding
