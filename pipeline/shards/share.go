package shards

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"pipe/internal/digest"
	"pipe/internal/storage"
)

// Share returns what all workers of a work folder have under a name: the first one makes it, and the others get the
// value of the first. Two that make it at the same time agree on the one that is written first. It is for small things
// and for what differs from run to run, and has at most storage.MaxClaim bytes of JSON. valid says whether a value fits the
// work; one that was damaged or changed is a *DataError.
func Share[T any](ctx context.Context, work *storage.Folder, name string, valid func(*T) bool, make func() (*T, error)) (*T, error) {
	name = sharedName + name
	v, err := readShared(ctx, work, name, valid)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return v, err
	}
	if v, err = make(); err != nil {
		return nil, err
	}
	content, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	err = writeJSON(ctx, work, name, sealed{digest.Of(content), content}, storage.WriteOptions{IfNotExist: true})
	if errors.Is(err, fs.ErrExist) {
		return readShared(ctx, work, name, valid)
	}
	return v, err
}

// sealed is the form of a shared value: all shards depend on it, and nothing else would show that it was changed.
type sealed struct {
	Digest  string          `json:"digest"` // of the content
	Content json.RawMessage `json:"content"`
}

func readShared[T any](ctx context.Context, work *storage.Folder, name string, valid func(*T) bool) (*T, error) {
	b, err := readSmall(ctx, work, name)
	if err != nil {
		return nil, err
	}
	var s sealed
	v := new(T)
	if err = json.Unmarshal(b, &s); err == nil && digest.Of(s.Content) == s.Digest {
		if err = json.Unmarshal(s.Content, v); err == nil && valid(v) {
			return v, nil
		}
	}
	return nil, damaged(work, name, "is damaged, or was changed", err)
}

// Folder has a local folder filled with what all workers of a work folder need: the first worker makes the files, which
// must lie in the folder itself, and the others fetch them. If the first gives no sign of life for the time of a lease,
// another makes them; of two who made them, all use those of the first. made says that this worker made them.
func Folder(ctx context.Context, work *storage.Folder, name, folder string, lease time.Duration, make func() (files []string, err error)) (made bool, err error) {
	s := &shared{work: work, name: name, folder: folder}
	for wait := firstWait; ; wait = min(2*wait, lease/8) {
		there, err := s.fetch(ctx)
		if there || err != nil {
			return false, err
		}
		mine, attempt, err := s.claim(ctx, lease)
		if err != nil {
			return false, err
		}
		if mine {
			return s.claimed(ctx, attempt, lease, make)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// Fetch fills a local folder with what Folder has made before. there is false if that is nothing yet.
func Fetch(ctx context.Context, work *storage.Folder, name, folder string) (there bool, err error) {
	return (&shared{work: work, name: name, folder: folder}).fetch(ctx)
}

// firstWait is how long a worker waits for others before it looks again, twice as long each time.
const firstWait = 100 * time.Millisecond

// shared is a folder that workers share.
type shared struct {
	work   *storage.Folder
	name   string
	folder string
}

// sharedPart names a file by its content.
func sharedPart(sum string) string { return sharedName + strings.TrimPrefix(sum, "sha256:") }

func (s *shared) list() string { return sharedName + s.name + ".json" }

// fetch downloads the files, if they are there.
func (s *shared) fetch(ctx context.Context) (there bool, err error) {
	b, err := readSmall(ctx, s.work, s.list())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var files []File
	if err == nil {
		if err = json.Unmarshal(b, &files); err != nil {
			err = damaged(s.work, s.list(), "is damaged", err)
		}
	}
	for _, f := range files {
		if err != nil {
			break
		}
		if !plain(f.Name) || !digest.Is(f.Digest) || f.Part != sharedPart(f.Digest) {
			return true, damaged(s.work, s.list(), "is damaged", nil)
		}
		err = s.work.Download(ctx, f.Part, filepath.Join(s.folder, f.Name))
		if err == nil {
			err = s.compare(f)
		}
	}
	return true, err
}

// compare compares a downloaded file with its record.
func (s *shared) compare(f File) error {
	sum, size, err := digestFile(filepath.Join(s.folder, f.Name))
	if err == nil && (sum != f.Digest || size != f.Size) {
		err = damaged(s.work, f.Part, "its content has changed since it was made", nil)
	}
	return err
}

// claim claims the making. mine is false if a worker that is alive has it. The attempts are counted upwards, so of two
// workers that both find the last claim silent or given up only one wins.
func (s *shared) claim(ctx context.Context, lease time.Duration) (mine bool, attempt int, err error) {
	last, alive, givenUp := 0, time.Time{}, false
	for info, err := range s.work.List(ctx, s.claimName(0)) {
		if err != nil {
			return false, 0, err
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(info.Name, s.claimName(0))); err == nil && n > last {
			last, alive, givenUp = n, info.Modified, info.Size == 0
		}
	}
	if last > 0 && !givenUp {
		now, err := now(ctx, s.work, thisMachine().Worker)
		if err != nil || !silent(alive, now, lease) {
			return false, 0, err
		}
	}
	mine, err = take(ctx, s.work, s.claimName(last+1), thisMachine().Worker)
	return mine, last + 1, err
}

// claimName is the name of a claim, or the beginning of all of them for 0.
func (s *shared) claimName(attempt int) string {
	name := sharedName + s.name + ".claim."
	if attempt > 0 {
		name += strconv.Itoa(attempt)
	}
	return name
}

// claimed fetches the files if another worker made them just before the claim was won, and makes them otherwise. In the
// end the claims go, or after an error this one is given up, for others to try.
func (s *shared) claimed(ctx context.Context, attempt int, lease time.Duration, make func() ([]string, error)) (made bool, err error) {
	stop := beat(ctx, s.work, s.claimName(attempt), thisMachine().Worker, lease)
	defer func() {
		stop()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err != nil {
			err = errors.Join(err, s.work.WriteFile(last, s.claimName(attempt), nil, storage.WriteOptions{}))
			return
		}
		for ; attempt > 0; attempt-- {
			err = errors.Join(err, s.work.Delete(last, s.claimName(attempt)))
		}
	}()
	if there, err := s.fetch(ctx); there || err != nil {
		return false, err
	}
	names, err := make()
	if err != nil {
		return false, err
	}
	return s.publish(ctx, names)
}

// publish uploads the files, and their list if no other worker has written one.
func (s *shared) publish(ctx context.Context, names []string) (made bool, err error) {
	files := []File{}
	for _, name := range names {
		path := filepath.Join(s.folder, name)
		sum, size, err := digestFile(path)
		if err != nil {
			return false, err
		}
		f := File{Name: name, Part: sharedPart(sum), Size: size, Digest: sum}
		if err := s.work.Upload(ctx, f.Part, path); err != nil {
			return false, err
		}
		files = append(files, f)
	}
	err = writeJSON(ctx, s.work, s.list(), files, storage.WriteOptions{IfNotExist: true})
	if errors.Is(err, fs.ErrExist) {
		_, err = s.fetch(ctx)
		return false, err
	}
	return err == nil, err
}
