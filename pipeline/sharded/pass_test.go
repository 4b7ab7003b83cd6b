package sharded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pipe/experts/builder/part"
	"pipe/internal/progress"
	"pipe/internal/storage"
	"pipe/pipeline/shards"
)

// numbers is a pass over many items; made counts the items that were made.
func numbers(items int, made *atomic.Int64, fails func(from int) error) part.Pass {
	return part.Pass{Name: "numbers", Items: items, Inputs: map[string]string{"what": "numbers"}, Make: func(_ context.Context, from, to int) ([]byte, error) {
		if fails != nil {
			if err := fails(from); err != nil {
				return nil, err
			}
		}
		made.Add(int64(to - from))
		return fmt.Appendf(nil, "%d-%d ", from, to), nil
	}}
}

func passesAt(work string) *passes {
	return &passes{work: storage.File(work), lease: shards.MinLease, progress: progress.Silent{}}
}

// TestPassIsShared: workers that open a build at once make every item of its pass once, all of them get all results, and
// whoever gathers needs the results and makes none.
func TestPassIsShared(t *testing.T) {
	const items = 5000
	work := t.TempDir()
	gatherer := passesAt(work)
	gatherer.gathers = true
	var made atomic.Int64
	if _, err := gatherer.divide(t.Context(), numbers(items, &made, nil)); err == nil || !strings.Contains(err.Error(), "no worker has begun") {
		t.Errorf("gathering before any worker: %v", err)
	}
	var broken atomic.Bool
	once := func(from int) error { // a failure is tried again
		if from > 2000 && broken.CompareAndSwap(false, true) {
			return errors.New("fails once")
		}
		return nil
	}
	all := make([]string, 5)
	var workers sync.WaitGroup
	for i := range 4 {
		workers.Go(func() {
			results, err := passesAt(work).divide(t.Context(), numbers(items, &made, once))
			if err != nil {
				t.Error(err)
			}
			all[i] = fmt.Sprintf("%s", results)
		})
	}
	workers.Wait()
	results, err := gatherer.divide(t.Context(), numbers(items, &made, nil))
	if err != nil {
		t.Fatal(err)
	}
	all[4] = fmt.Sprintf("%s", results)
	for i, got := range all {
		if got != all[0] || !strings.HasPrefix(got, "[0-") || !strings.HasSuffix(got, "-5000 ]") {
			t.Errorf("worker %d has %s, want %s", i, got, all[0])
		}
	}
	if n := made.Load(); n != items {
		t.Errorf("%d items made, want %d", n, items)
	}

	var changed *shards.ChangedError
	other := numbers(items, &made, nil)
	other.Inputs["what"] = "others"
	if _, err := passesAt(work).divide(t.Context(), other); !errors.As(err, &changed) {
		t.Errorf("other items: %v", err)
	}
	done, err := filepath.Glob(filepath.Join(work, "numbers", "done", "*"))
	if err != nil || len(done) != shardsOf(items) {
		t.Fatal(done, err)
	}
	if err := os.RemoveAll(filepath.Join(work, "numbers", "shared")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(done[1]); err != nil {
		t.Fatal(err)
	}
	var missing *shards.MissingError
	if _, err := gatherer.divide(t.Context(), numbers(items, &made, nil)); !errors.As(err, &missing) || fmt.Sprint(missing.Shards) != "[1]" {
		t.Errorf("gathering without all results: %v", err)
	}
}

// TestPassThatFails: an item that fails every time is one error of the worker, with its cause.
func TestPassThatFails(t *testing.T) {
	var made atomic.Int64
	_, err := passesAt(t.TempDir()).divide(t.Context(), numbers(2000, &made, func(from int) error {
		if from > 0 {
			return errors.New("the disk is on fire")
		}
		return nil
	}))
	var failed *shards.FailedError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "the disk is on fire") {
		t.Error(err)
	}
}

func TestShardsOfPass(t *testing.T) {
	for items, want := range map[int]int{1: 1, 512: 1, 513: 2, 2000: 4, 600_000: 1000, 10_000_000: 1221} {
		if got := shardsOf(items); got != want {
			t.Errorf("%d items: %d shards, want %d", items, got, want)
		}
	}
}
