package shards

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"pipe/internal/digest"
	"pipe/internal/storage"
)

// Stage is work that falls into shards. Its methods but Shard are called by one goroutine at a time.
type Stage interface {
	// Manifest says what the work is.
	Manifest() Manifest
	// Prepare makes what all shards need, such as trained experts, and shares it with the other workers by Share. It
	// is called once before the first Shard; other workers may call theirs at the same time.
	Prepare(ctx context.Context, work *storage.Folder) error
	// Shard makes one shard, from 0, as files in an empty local folder. The same shard has the same bytes in every run.
	// It is safe for concurrent use.
	Shard(ctx context.Context, shard int, folder string) (*Result, error)
	// Gather makes the output of all shards, with the bytes of a run on one machine. The report is printed for the user.
	Gather(ctx context.Context, parts *Parts) (report any, err error)
	// Close frees what the stage holds.
	Close() error
}

// stopper is a Stage that knows errors that every other shard would have too, such as a budget that is used up. They
// stop a worker, and do not count as a failure of the shard.
type stopper interface{ Stops(err error) bool }

// Result is a finished shard.
type Result struct {
	Files  []string         // names in the folder of the shard, without folders
	Counts map[string]int64 // what is counted over all shards, by name; rows are "rows"
}

// Manifest says what work is divided into shards. Work of different manifests does not mix.
type Manifest struct {
	Stage  string            `json:"stage"`  // such as "costs"
	Shards int               `json:"shards"` // at least 1
	Rows   int64             `json:"rows"`   // of all shards; 0: not known
	Inputs map[string]string `json:"inputs"` // digest or short text of everything that the bytes depend on, by name
}

// manifestFile is the content of manifest.json.
type manifestFile struct {
	Format int `json:"format"`
	Manifest
}

// digest identifies the work.
func (m Manifest) digest() (string, error) { return digest.JSON(m) }

// validate reports a manifest that no work can have.
func (m Manifest) validate() error {
	if m.Stage == "" || m.Shards < 1 || m.Shards > MaxShards || m.Rows < 0 {
		return fmt.Errorf("manifest of stage %q: %d shards of %d rows; there are 1 to %d shards", m.Stage, m.Shards, m.Rows, MaxShards)
	}
	return nil
}

// MaxShards is the largest number of shards.
const MaxShards = 1_000_000

// changes names what differs in another manifest, sorted.
func (m Manifest) changes(is Manifest) (list []string) {
	if m.Stage != is.Stage {
		list = append(list, fmt.Sprintf("the stage was %s, is %s", m.Stage, is.Stage))
	}
	if m.Shards != is.Shards {
		list = append(list, fmt.Sprintf("there were %d shards, are %d", m.Shards, is.Shards))
	}
	if m.Rows != is.Rows {
		list = append(list, fmt.Sprintf("there were %d rows, are %d", m.Rows, is.Rows))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Inputs)) {
		was := m.Inputs[name]
		now, ok := is.Inputs[name]
		switch {
		case !ok:
			list = append(list, name+" is gone")
		case now != was && digest.Is(now):
			list = append(list, name+" changed")
		case now != was:
			list = append(list, fmt.Sprintf("%s was %s, is %s", name, was, now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is.Inputs)) {
		if _, ok := m.Inputs[name]; !ok {
			list = append(list, name+" is new")
		}
	}
	return list
}

// readManifest reads what the work of a folder is.
func readManifest(ctx context.Context, folder *storage.Folder) (Manifest, error) {
	b, err := readSmall(ctx, folder, manifestName)
	if err != nil {
		return Manifest{}, err
	}
	var m manifestFile
	if err := json.Unmarshal(b, &m); err != nil || m.Format != format || m.validate() != nil {
		return Manifest{}, damaged(folder, manifestName, "is damaged, or of another version of this program", err)
	}
	return m.Manifest, nil
}
