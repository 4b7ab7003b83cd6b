// Package stage has what the stages of the pipeline share: their errors, the check that no output replaces an input,
// the lock of an output folder, and steps that are skipped if their files are complete.
package stage
