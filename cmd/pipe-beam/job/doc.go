// Package job has a Beam runner do the shards of a stage of package pipeline. The submitter opens the stage, gives the numbers of
// the shards that are not done to the runner, waits, and gathers. A worker opens the same stage once in its process, with its
// models and indexes, and makes the shards that it is given.
//
// Everything else goes through the work folder of package shards, which the submitter and all workers reach: finished shards, answers that were
// paid for, and why shards failed. So it does not matter whether a runner gives a shard to two workers, gives finished shards out again after it has lost a
// worker, or forgets a job.
package job
