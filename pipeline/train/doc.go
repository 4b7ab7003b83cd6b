// Package train is the stage train: it learns policies from a cost tensor, of a file or in memory. The engine is in package
// models and those below; this package adds recipes, files, and going on after an interruption.
package train
