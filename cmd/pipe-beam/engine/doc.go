// Package engine runs numbered shards on the workers of a Beam runner: Flink, Spark, Dataflow, or prism in this process.
//
// The elements of the pipeline are shard numbers and nothing else. What a shard is, and where its result goes, is the business of the
// Task; the engine only has each number reach a worker at least once. It may reach two workers, also at the same time.
//
// One program is both sides: main calls Worker before anything else, which takes over where Beam has started the program as
// a worker, and Run where a user has.
package engine
