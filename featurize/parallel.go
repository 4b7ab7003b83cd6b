package featurize

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// sideBySide calls task for every number below n on all cores. Tasks share
// nothing that they write, so the number of cores changes no result.
func sideBySide(n int, task func(i int)) {
	_ = inOrder(n, func(i int) error { // no task fails
		task(i)
		return nil
	})
}

// inOrder runs tasks on all cores, started in their order; after an error no
// further ones start. It returns the error of the earliest task, which is the
// same one however many cores there are.
func inOrder(n int, task func(i int) error) error {
	return workInOrder(runtime.GOMAXPROCS(0), n, task)
}

// workInOrder is inOrder for a number of workers.
func workInOrder(workers, n int, task func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	var wg sync.WaitGroup
	for range min(n, workers) {
		wg.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[i] = task(i); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
