// Package world generates data with a known distribution: transactions for the benchmark fraud, a corpus of pages for
// searches, and the tensors of the benchmark synthetic. The best policy over them is known, so that a learned one can be
// compared with the optimum.
package world
