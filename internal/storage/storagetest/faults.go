package storagetest

import (
	"sync/atomic"

	"pipe/internal/storage"
)

// Every returns a Fault that lets every nth request fail for a reason that passes.
func Every(n int64) func(op, name string) error {
	var count atomic.Int64
	return func(string, string) error {
		if count.Add(1)%n == 0 {
			return &storage.Fault{Msg: "503 slow down", Passing: true}
		}
		return nil
	}
}

// CutEvery returns a Cut that breaks every nth read after some bytes.
func CutEvery(n int64, after int) func(name string) int {
	var count atomic.Int64
	return func(string) int {
		if count.Add(1)%n == 0 {
			return after
		}
		return -1
	}
}
