// Package embedding gives texts their vectors for the parts of a build. Each text is embedded once: its vector stays in a
// file in the folder of experts, where later builds find it.
//
// A part opens an Embedder for the encoder that its configuration names (Open). Parts that name the same encoder share one.
// It imports costs/builder/part for Setup and Preparation, and featurize to open encoders.
package embedding
