package source

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"pipe/featurize/pixel"
	"pipe/internal/filelock"
)

// verdicts remembers, by content, which images can be used, so that a resumed
// build decodes none to find out. They lie in a file; after a line that says by
// which decoder and limits comes a line for each image:
//
//	digest  CRC-32C of the rest  pixels  "" or why it cannot be used, as JSON
//
// Lines are only appended, under a lock on the file, so that builds may share it.
// A line that was cut off by a kill is cut away by the next append; one that does
// not fit its checksum counts as absent. get is safe for concurrent use.
type verdicts struct {
	path string
	head string

	mu    sync.RWMutex
	known map[string]usability // by digest
}

// usability is what a file's content is good for.
type usability struct {
	pixels int    // width x height; 0 if it cannot be used
	reason string // why it cannot be used; "": it can
}

// possible reports whether an image can be so: it has pixels, or a reason why it cannot be used.
func (u usability) possible() bool { return u.pixels >= 0 && (u.pixels == 0) == (u.reason != "") }

// verdictFormat is the version of the file, and of what counts as an image.
const verdictFormat = 2

// openVerdicts reads what is known, in a folder that is made if need be.
func openVerdicts(ctx context.Context, folder, decoder string, limits pixel.Limits) (*verdicts, error) {
	l, err := json.Marshal(limits)
	if err != nil {
		return nil, err
	}
	v := &verdicts{head: fmt.Sprintf("pipe images %d, decoder %s, limits %s\n", verdictFormat, decoder, l), known: make(map[string]usability)}
	v.path = filepath.Join(folder, fmt.Sprintf("images-%x", sha256.Sum256([]byte(v.head)))[:len("images-")+16])
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	return v, v.locked(ctx, v.read)
}

// get returns what is known of an image.
func (v *verdicts) get(sum string) (found usability, ok bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	found, ok = v.known[sum]
	return found, ok
}

// add notes what is new in the order of the list.
func (v *verdicts) add(ctx context.Context, list []checkedImage) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var lines []byte
	for _, c := range list {
		if _, ok := v.known[c.sum]; ok || c.sum == "" {
			continue
		}
		v.known[c.sum] = c.usability
		line, err := verdictLine(c)
		if err != nil {
			return err
		}
		lines = append(lines, line...)
	}
	if len(lines) == 0 {
		return nil
	}
	return v.locked(ctx, func(f *os.File) error {
		end, err := v.end(f)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(lines, end)
		return err
	})
}

func verdictLine(c checkedImage) (string, error) {
	reason, err := json.Marshal(c.reason)
	return verdictRecord(c.sum, fmt.Sprintf("%d %s", c.pixels, reason)), err
}

// verdictRecord is the line of a digest with what is said of it.
func verdictRecord(digest, text string) string {
	return fmt.Sprintf("%s %08x %s\n", digest, verdictSum(digest, text), text)
}

// verdictTable is that of CRC-32C.
var verdictTable = crc32.MakeTable(crc32.Castagnoli)

func verdictSum(digest, text string) uint32 {
	return crc32.Checksum([]byte(digest+" "+text), verdictTable)
}

// locked calls do with the file while no other process changes it.
func (v *verdicts) locked(ctx context.Context, do func(*os.File) error) error {
	l, err := filelock.Wait(ctx, v.path, nil)
	if err == nil {
		err = errors.Join(do(l.File), l.Release())
	}
	if err != nil {
		return fmt.Errorf("checked images %q: %w", v.path, err)
	}
	return nil
}

// read takes the file into memory, or begins it where it is new or not ours.
func (v *verdicts) read(f *os.File) error {
	r := bufio.NewReader(f)
	head, err := r.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if head != v.head {
		if err := f.Truncate(0); err != nil {
			return err
		}
		_, err := f.WriteAt([]byte(v.head), 0)
		return err
	}
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		v.keep(line)
	}
}

// keep takes a line, unless it is damaged.
func (v *verdicts) keep(line string) {
	sum, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	check, text, _ := strings.Cut(rest, " ")
	if check != fmt.Sprintf("%08x", verdictSum(sum, text)) {
		return
	}
	var found usability
	pixels, reason, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(pixels)
	if found.pixels = n; err == nil && json.Unmarshal([]byte(reason), &found.reason) == nil && found.possible() {
		v.known[sum] = found
	}
}

// end cuts away what is no whole line, and returns where the file ends.
func (v *verdicts) end(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	const block = 4096
	for end := info.Size(); end > 0; {
		from := max(0, end-block)
		b := make([]byte, end-from)
		if _, err := f.ReadAt(b, from); err != nil {
			return 0, err
		}
		if i := strings.LastIndexByte(string(b), '\n'); i >= 0 {
			end = from + int64(i) + 1
			return end, f.Truncate(end)
		}
		end = from
	}
	return 0, errors.New("its first line is gone")
}
