// Package drift has the statistics that watch a deployed policy: whether new inputs, decisions and outcomes still are
// those of a baseline.
//
// [Sample] and [Holm] compare features one by one, [MMD] compares whole feature vectors, [Homogeneity] and [ShareChanges]
// compare how often each pair is chosen, [ADWIN] finds changes in a stream of numbers, and [Alarm] rises when a mean
// exceeds a level, with a bounded chance that it ever rises by mistake. Everything that grows with a stream is a count or
// a sum, so memory does not depend on the number of rows. A random draw depends only on its seed.
package drift
