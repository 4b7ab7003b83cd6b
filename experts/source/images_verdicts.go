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
	"pipe/internal/atomicfile"
	"pipe/internal/filelock"
)

// verdicts records, by content, which images are usable, so that a resumed
// build does not decode them again. They are kept in a file: a header line with
// the decoder and the limits, then a line for each image:
//
//	digest  CRC-32C of the rest  pixels  "" or why it cannot be used, as JSON
//
// Lines are only appended, under a lock on the file, so that builds may share
// it. An incomplete last line, left by a killed build, is removed by the next
// append. A line with a wrong checksum counts as absent. get is safe for
// concurrent use.
type verdicts struct {
	path string
	head string

	mu    sync.RWMutex
	known map[string]usability // by digest
}

// usability says whether the content of a file is a usable image.
type usability struct {
	pixels int    // width x height; 0 if it cannot be used
	reason string // why it cannot be used; "" if it can
}

// possible reports whether a usability is consistent: it has either pixels or a reason.
func (u usability) possible() bool { return u.pixels >= 0 && (u.pixels == 0) == (u.reason != "") }

// verdictFormat is the version of the file, and of what counts as an image.
const verdictFormat = 2

// openVerdicts reads the known verdicts; it creates the folder if necessary.
func openVerdicts(ctx context.Context, folder, decoder string, limits pixel.Limits) (*verdicts, error) {
	head, err := verdictHead(decoder, limits)
	if err != nil {
		return nil, err
	}
	v := &verdicts{head: head, known: make(map[string]usability)}
	v.path = filepath.Join(folder, fmt.Sprintf("images-%x", sha256.Sum256([]byte(v.head)))[:len("images-")+16])
	if _, err := atomicfile.MkdirAll(folder); err != nil {
		return nil, err
	}
	return v, v.locked(ctx, v.read)
}

// verdictHead is the header line.
func verdictHead(decoder string, limits pixel.Limits) (string, error) {
	l, err := json.Marshal(limits)
	return fmt.Sprintf("pipe images %d, decoder %s, limits %s\n", verdictFormat, decoder, l), err
}

// get returns the verdict on an image.
func (v *verdicts) get(sum string) (found usability, ok bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	found, ok = v.known[sum]
	return found, ok
}

// add appends the new verdicts in the order of the list.
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

// verdictRecord is the line of a digest and its verdict.
func verdictRecord(digest, text string) string {
	return fmt.Sprintf("%s %08x %s\n", digest, verdictSum(digest, text), text)
}

// verdictTable is that of CRC-32C.
var verdictTable = crc32.MakeTable(crc32.Castagnoli)

func verdictSum(digest, text string) uint32 {
	return crc32.Checksum([]byte(digest+" "+text), verdictTable)
}

// locked calls do while no other process changes the file.
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

// read loads the file into memory, or starts it anew if it is empty or has another header.
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

// keep keeps a line unless it is damaged.
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

// end removes an incomplete last line, and returns the end of the file.
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
	return 0, errors.New("its first line is missing")
}
