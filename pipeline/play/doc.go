// Package play plays the rows of a cost tensor through a cascade file, and writes what was done. What a cascade would have cost is a
// part of package eval.
package play
