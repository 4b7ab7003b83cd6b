package builder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/internal/atomicfile"
	"pipe/internal/dataerror"
	"pipe/internal/digest"
	"pipe/internal/filelock"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// work is the folder next to the output in which a build keeps finished work:
//
//	bad-images.txt images that cannot be used, if there are any
//	lock           held while a build runs
//	manifest.json  the inputs that the shards were made from
//	training       half-trained experts
//	part-*.parquet finished shards
//	part-*.jsonl.gz what their instances were shown, if that is kept
//	part-*.json    what was counted of the answers in a shard, if it has any
//	final*         the output and its audit, until they get their names
//
// Every file but the lock appears under its name only when it is complete, so
// that the folder can be left at any moment.
type work struct {
	out    string // final file
	folder string
	lock   *filelock.Lock
}

// manifest is the content of manifest.json.
type manifest struct {
	Format int         `json:"format"`
	Inputs part.Inputs `json:"inputs"`
	Done   *done       `json:"done,omitempty"` // the output is written, here or under its name

	Latency []PairLatency `json:"latency,omitempty"` // that the fees of the shards were made of
}

// done records which final file was written.
type done struct {
	File    string `json:"file"`            // digest of the final file
	Actions string `json:"actions"`         // digest of the actions in it, fees included
	Audit   string `json:"audit,omitempty"` // digest of the audit; "": there is none

	Answers []chat.AnswerCount `json:"answers,omitempty"` // of the whole tensor
}

const (
	manifestFormat = 1
	manifestName   = "manifest.json"
	lockName       = "lock"
	finalName      = "final.parquet"
	trainingName   = "training"
)

// ChangedError says that the inputs are not those that the finished shards were
// made from.
type ChangedError struct {
	Folder  string
	Changes []string // "model of expert ... changed", sorted
}

// Error names the first few changes.
func (e *ChangedError) Error() string {
	const most = 5
	list := strings.Join(e.Changes[:min(most, len(e.Changes))], "; ")
	if more := len(e.Changes) - most; more > 0 {
		list += fmt.Sprintf("; and %d more", more)
	}
	return fmt.Sprintf("resume %q: the inputs have changed since it was started: %s", e.Folder, list)
}

// Hint returns a remedy.
func (e *ChangedError) Hint() string {
	return "restore the inputs, or start over with --restart, which drops finished work"
}

// workFolder is the work folder of the build with this output.
func workFolder(out string) string { return out + ".work" }

// openWork makes the folder and takes its lock.
func openWork(out string) (*work, error) {
	w := &work{out: out, folder: workFolder(out)}
	if _, err := atomicfile.MkdirAll(w.folder); err != nil {
		return nil, fmt.Errorf("make work folder: %w", err)
	}
	var err error
	if w.lock, err = filelock.Take(filepath.Join(w.folder, lockName)); err != nil {
		return nil, fmt.Errorf("work folder %q: %w", w.folder, err)
	}
	return w, nil
}

// Close releases the lock.
func (w *work) Close() error { return w.lock.Release() }

// resume compares the manifest with the inputs of this run. It returns what was
// done before; nil is a fresh start, for which the manifest has been written.
func (w *work) resume(ctx context.Context, in part.Inputs, restart bool) (*manifest, error) {
	m, err := w.read()
	if err != nil && !restart {
		return nil, err
	}
	if m != nil && !restart {
		if changes := difference(m.Inputs, in); len(changes) > 0 {
			return nil, &ChangedError{w.folder, changes}
		}
		return m, w.sweep(false)
	}
	if _, err := os.Lstat(w.out); err == nil && m == nil && !restart {
		return nil, fmt.Errorf("output %q exists and was not built here; remove it, or start over with --restart", w.out)
	}
	if err := errors.Join(w.dropAudit(ctx, m), w.sweep(true), w.forget(finalName), w.forget(finalAuditName), os.RemoveAll(w.training())); err != nil {
		return nil, err
	}
	return nil, w.write(&manifest{Inputs: in})
}

// read returns the manifest, nil if there is none.
func (w *work) read() (*manifest, error) {
	b, err := textfile.ReadFile(w.file(manifestName), textfile.MaxWhole)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := &manifest{}
	switch {
	case err != nil:
		err = dataerror.FromText(err)
	case json.Unmarshal(b, m) != nil || m.Format != manifestFormat:
		err = &costs.DataError{File: w.file(manifestName), Msg: fmt.Sprintf("is damaged or of another version (format %d, this program writes %d); start over with --restart", m.Format, manifestFormat)}
	case m.Done != nil:
		err = faultOf(m.Done.Answers, w.file(manifestName))
	}
	if err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	return m, nil
}

func (w *work) write(m *manifest) error {
	m.Format = manifestFormat
	b, err := json.MarshalIndent(m, "", " ")
	if err == nil {
		err = atomicfile.WriteFile(w.file(manifestName), b)
	}
	if err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// settle completes a build that is done according to the manifest, in case it
// was killed in the last steps. It reports whether the output exists.
func (w *work) settle(ctx context.Context, m *manifest) (bool, error) {
	if m == nil || m.Done == nil {
		return false, errors.Join(w.forget(finalName), w.forget(finalAuditName))
	}
	sum, err := costs.FileDigest(ctx, storage.File(w.out))
	switch {
	case err == nil && sum == m.Done.File:
		// The killed run may have renamed the file and not synced the folder.
		return true, errors.Join(w.auditSettled(ctx, m), atomicfile.SyncFolder(filepath.Dir(w.out)), w.forget(finalName), w.sweep(true))
	case ctx.Err() != nil:
		return false, err
	}
	if sum, _ := costs.FileDigest(ctx, storage.File(w.file(finalName))); sum == m.Done.File {
		return true, errors.Join(w.auditSettled(ctx, m), w.publish())
	}
	if err == nil {
		return false, fmt.Errorf("output %q is not the file that was built here; remove it, or start over with --restart", w.out)
	}
	return false, errors.Join(w.forget(finalName), w.forget(finalAuditName))
}

// publish renames the output and its audit to their paths and drops the shards.
func (w *work) publish() error {
	if err := w.publishAudit(); err != nil {
		return err
	}
	if err := atomicfile.Rename(w.file(finalName), w.out); err != nil {
		return err
	}
	return w.sweep(true)
}

// sweep removes incomplete files of a killed run, and the shards if they are no
// longer needed.
func (w *work) sweep(shards bool) error {
	files, err := os.ReadDir(w.folder)
	if err != nil {
		return fmt.Errorf("work folder: %w", err)
	}
	for _, f := range files {
		name := f.Name()
		shard := strings.HasPrefix(name, "part-") && (strings.HasSuffix(name, ".parquet") || strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".gz"))
		if isTemp(name) || shards && shard {
			if err := w.forget(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// isTemp reports whether a name is that of a temporary file of the folder: the
// name of the file between a dot and a number.
func isTemp(name string) bool {
	stem := strings.TrimRight(name, "0123456789")
	return stem != name && strings.HasPrefix(stem, ".") && (strings.HasSuffix(stem, ".parquet") || strings.HasSuffix(stem, ".json") || strings.HasSuffix(stem, ".gz") || strings.HasSuffix(stem, ".txt"))
}

// forget removes a file of the folder if it exists.
func (w *work) forget(name string) error {
	if err := os.Remove(w.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("work folder: %w", err)
	}
	return nil
}

// training is the folder of half-trained experts.
func (w *work) training() string { return w.file(trainingName) }

func (w *work) file(name string) string { return filepath.Join(w.folder, name) }

// difference names the inputs that differ, sorted.
func difference(was, is part.Inputs) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(was)) {
		now, ok := is[name]
		switch {
		case !ok:
			list = append(list, name+" is gone")
		case now != was[name] && digest.Is(now):
			list = append(list, name+" changed")
		case now != was[name]:
			list = append(list, fmt.Sprintf("%s was %s, is %s", name, was[name], now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, ok := was[name]; !ok {
			list = append(list, name+" is new")
		}
	}
	return specific(list)
}

// specific omits the digest of all images if single images are named.
func specific(changes []string) []string {
	named := slices.ContainsFunc(changes, func(s string) bool { return strings.HasPrefix(s, part.ImagePrefix) })
	if !named {
		return changes
	}
	return slices.DeleteFunc(changes, func(s string) bool { return s == "images changed" })
}

// part returns the file of a shard.
func (w *work) part(shard int) string {
	return w.file(fmt.Sprintf("part-%06d.parquet", shard))
}

// save writes a finished shard.
func (w *work) save(ctx context.Context, shard int, t *costs.Tensor, o costs.WriterOptions) error {
	return writeTensors(ctx, w.part(shard), t.Actions, o, func(add func(*costs.Tensor) error) error { return add(t) })
}

// writeTensors writes batches into one file, which appears only when it is complete.
func writeTensors(ctx context.Context, path string, a *costs.Actions, o costs.WriterOptions, batches func(add func(*costs.Tensor) error) error) error {
	f, err := costs.NewWriter(ctx, storage.File(path), a, o)
	if err != nil {
		return err
	}
	if err := batches(f.Append); err != nil {
		f.Abort()
		return err
	}
	return f.Close()
}

// load reads a shard back and checks that it holds the given instances.
func (w *work) load(ctx context.Context, p *plan, shard int) (*costs.Tensor, error) {
	t, err := costs.Read(ctx, storage.File(w.part(shard)), costs.ReadOptions{})
	if err != nil {
		return nil, err
	}
	want := p.blank(p.rows(shard))
	same := slices.Equal(t.IDs, want.IDs) && slices.Equal(t.Splits, want.Splits) && slices.Equal(t.Groups, want.Groups) && slices.Equal(t.Labels, want.Labels) &&
		t.Dim == want.Dim && (t.Fee == nil) == (want.Fee == nil) && t.Actions.SameSet(want.Actions) == nil
	if !same {
		return nil, &costs.DataError{File: w.part(shard), Msg: "is not the shard that it should be"}
	}
	p.complete(t)
	t.Actions = p.actions // the fees of this run
	return t, nil
}
