// Package shards has many machines do one piece of work, shard by shard, through a folder that all of them reach: a
// shared file system or a bucket. There is no server and no other connection between them.
//
// A work folder holds:
//
//	manifest.json            what the work is: the first worker writes it, the others compare
//	claims/000012.1          a worker is at shard 12, for the first time; rewritten while it is; stays if the attempt fails
//	parts/000012-DIGEST.EXT  a file of shard 12, named by its content
//	done/000012.json         shard 12 is done, and these are its files: written once, by the first who has them all
//	failed/000012.1.json     why the first attempt failed
//	shared/NAME              what all shards need, made by the first worker
//
// A claim only keeps workers that look for work from doing the same: a shard may run twice, also at the same time. The
// first to write done/ wins. As the same shard has the same bytes everywhere, a second run that has others is an error.
package shards
