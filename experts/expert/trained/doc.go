// Package trained has the kinds of experts that are trained by the build. The other kinds are in package experts/expert.
//
// A kind is a file with its settings and its constructor, and a line in Kinds. Every kind is a learner with four parts:
// examples (the training rows of the build, or claims of a file), an encoder that turns them into rows of numbers, a
// trainer that fits classifiers to the rows, and the folds, which say which classifier answers for which instance. A
// classifier is kept as an ONNX file in the folder of experts, and a later build that depends on the same data and
// settings reads it.
//
// Networks are trained by package models, trees by models/lightgbm. Package experts/retrieval finds passages that do not
// settle a claim, and experts/embedding has the vectors of texts.
package trained
