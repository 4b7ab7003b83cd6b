// Package cluster starts a Flink session cluster and Beam's job server on one machine, for tests: a JobManager, TaskManagers
// in processes of their own, and the job server, all from jars. It needs no containers.
//
// The job server listens on all addresses whatever it is told, so a cluster starts only in a network namespace whose one device is
// the loopback device. Command flink makes such a namespace.
package cluster
