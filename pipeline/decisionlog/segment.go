package decisionlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The two streams of a log, which are the first word of the names of their files.
const (
	decisions = "decisions"
	outcomes  = "outcomes"
)

// Endings of the files of a segment.
const (
	linesEnding   = ".jsonl"
	parquetEnding = ".parquet"
	indexEnding   = ".ids"
)

// segment is a part of a stream. Its files are named by its stream and number. If there is a Parquet file, it is complete,
// and the lines are a leftover.
type segment struct {
	folder  string
	stream  string
	number  int
	parquet bool // there is a Parquet file
	lines   bool // there are lines
}

func (s *segment) path(ending string) string {
	return filepath.Join(s.folder, fmt.Sprintf("%s-%08d%s", s.stream, s.number, ending))
}

// listSegments lists the segments of a stream by number. Other files are ignored.
func listSegments(folder, stream string) ([]*segment, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	found := map[int]*segment{}
	for _, file := range files {
		number, ending, ok := parseName(file.Name(), stream)
		if !ok || file.IsDir() {
			continue
		}
		s := found[number]
		if s == nil {
			s = &segment{folder: folder, stream: stream, number: number}
			found[number] = s
		}
		s.parquet = s.parquet || ending == parquetEnding
		s.lines = s.lines || ending == linesEnding
	}
	var list []*segment
	for _, s := range found {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *segment) int { return a.number - b.number })
	return list, nil
}

// parseName reads the name of a file of a segment.
func parseName(name, stream string) (number int, ending string, ok bool) {
	rest, ok := strings.CutPrefix(name, stream+"-")
	if !ok {
		return 0, "", false
	}
	ending = filepath.Ext(rest)
	digits := strings.TrimSuffix(rest, ending)
	number, err := strconv.Atoi(digits)
	known := ending == linesEnding || ending == parquetEnding || ending == indexEnding
	return number, ending, err == nil && number > 0 && len(digits) == 8 && known
}

// IsLog reports whether a folder holds a decision log.
func IsLog(folder string) bool {
	list, err := listSegments(folder, decisions)
	return err == nil && len(list) > 0
}

// gone reports whether a file vanished, because its segment became Parquet or was removed.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
