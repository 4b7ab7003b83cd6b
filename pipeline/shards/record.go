package shards

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"pipe/internal/digest"
	"pipe/internal/storage"
)

// format is the version of the files in a work folder.
const format = 1

// Machine says where a shard was made: for people, and for the error about other bits.
type Machine struct {
	Worker string `json:"worker"` // unique
	System string `json:"system"` // operating system and processor family
	CPU    string `json:"cpu,omitempty"`
	Go     string `json:"go"`
}

// String returns what bits may depend on.
func (m Machine) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", m.Worker, m.System, m.Go, m.CPU))
}

// thisMachine describes the machine, with a new name for the worker.
func thisMachine() Machine {
	host, _ := os.Hostname() // a name without it is unique, too
	return Machine{
		Worker: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), strings.ToLower(rand.Text()[:8])),
		System: runtime.GOOS + "/" + runtime.GOARCH, CPU: processor(), Go: runtime.Version(),
	}
}

// processor is the model of the processor where Linux says it, else "".
var processor = sync.OnceValue(func() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
})

// File is a file of a finished shard.
type File struct {
	Name   string `json:"name"` // in the folder of the shard
	Part   string `json:"part"` // in the work folder
	Size   int64  `json:"size"` // bytes
	Digest string `json:"digest"`
}

// Done records a finished shard.
type Done struct {
	Format   int              `json:"format"`
	Of       string           `json:"of"` // digest of the manifest
	Shard    int              `json:"shard"`
	Attempt  int              `json:"attempt"`
	Files    []File           `json:"files,omitempty"`
	Counts   map[string]int64 `json:"counts,omitempty"`
	Seconds  float64          `json:"seconds"`
	Finished time.Time        `json:"finished"`
	Machine  Machine          `json:"machine"`
}

// check reports a record that is not of this work and shard.
func (d *Done) check(of string, shard int) error {
	switch {
	case d.Format != format:
		return fmt.Errorf("it has format %d; this program reads %d", d.Format, format)
	case d.Of != of:
		return fmt.Errorf("it is of other work than manifest.json says")
	case d.Shard != shard:
		return fmt.Errorf("it is shard %d: it was copied or renamed", d.Shard)
	}
	seen := map[string]bool{}
	for _, f := range d.Files {
		at, _, ok := shardOf(f.Part, partsName)
		if !ok || at != shard || f.Size < 0 || !digest.Is(f.Digest) || f.Part != partOf(shard, f.Digest, f.Name) || !plain(f.Name) || seen[f.Name] {
			return fmt.Errorf("its file %q is not one of the shard", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// plain reports whether a name is that of a file in a folder.
func plain(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, `/\`)
}

// readSmall reads a small object that workers write.
func readSmall(ctx context.Context, folder *storage.Folder, name string) ([]byte, error) {
	b, err := folder.ReadFile(ctx, name, storage.MaxClaim)
	if errors.Is(err, storage.ErrLarge) {
		err = damaged(folder, name, "is damaged", err)
	}
	return b, err
}

// readDone reads the record of a shard.
func readDone(ctx context.Context, folder *storage.Folder, of string, shard int) (*Done, error) {
	name := doneOf(shard)
	b, err := readSmall(ctx, folder, name)
	if err != nil {
		return nil, err
	}
	d := &Done{}
	if err := json.Unmarshal(b, d); err != nil {
		return nil, damaged(folder, name, "is damaged", err)
	}
	if err := d.check(of, shard); err != nil {
		return nil, damaged(folder, name, "", err)
	}
	return d, nil
}

// DivergedError says that two runs of a shard made different bytes.
type DivergedError struct {
	Shard        int
	File         string
	First, Other Machine
}

// Error names the machines.
func (e *DivergedError) Error() string {
	return fmt.Sprintf("shard %d: file %q of worker %s has other bytes than that of worker %s, which was done first: they do not compute the same bits (%s; %s)",
		e.Shard, e.File, e.Other.Worker, e.First.Worker, e.Other, e.First)
}

// Hint returns a remedy.
func (e *DivergedError) Hint() string {
	return "use machines of one kind for one work folder: the first result is kept, and the shards of the other kind may differ in their last bits"
}

// failure records a failed attempt.
type failure struct {
	Error  string    `json:"error"`
	Worker string    `json:"worker"`
	Time   time.Time `json:"time"`
}

// writeJSON writes a small object.
func writeJSON(ctx context.Context, folder *storage.Folder, name string, v any, o storage.WriteOptions) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return folder.WriteFile(ctx, name, b, o)
}

// digestFile returns the digest and the size of a local file.
func digestFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := digest.New()
	size, err = io.Copy(h, f)
	return digest.Sum(h), size, err
}
