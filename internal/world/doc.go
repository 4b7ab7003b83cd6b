// Package world generates data with a known distribution: transactions for the benchmark fraud, a corpus of pages for
// searches, and the tensors of the benchmark synthetic. The optimal policy is known, so a learned one can be compared
// with it.
package world
