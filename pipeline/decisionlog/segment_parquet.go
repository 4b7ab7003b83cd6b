package decisionlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/atomicfile"
	"pipe/internal/dataerror"
)

// Keys of the metadata of a Parquet file.
const (
	logKey      = "pipe.log"          // the head of the segment, a JSON object
	policiesKey = "pipe.log.policies" // the policies of its records, a JSON list
)

// Layout of the Parquet files. Row groups are read one at a time.
const (
	groupBytes   = 16 << 20
	maxGroupRows = 1 << 14
	pageBytes    = 1 << 18
)

// parquetWriter writes rows of one stream.
type parquetWriter[T any] struct {
	file    *atomicfile.File
	parquet *parquet.GenericWriter[T]
	rows    []T // that were not yet given to the library
	group   int // rows of the row group
	size    int // about its bytes
}

func newParquetWriter[T any](s *segment) (*parquetWriter[T], error) {
	file, err := atomicfile.Create(s.path(parquetEnding))
	if err != nil {
		return nil, err
	}
	options := []parquet.WriterOption{parquet.PageBufferSize(pageBytes), parquet.CreatedBy("pipe", "1", "0")}
	features := []string{"features", "list", "element"} // no query asks for a range of all features together
	options = append(options, parquet.SkipPageBounds(features...), parquet.SkipPageStatistics(features...))
	return &parquetWriter[T]{file: file, parquet: parquet.NewGenericWriter[T](file, options...)}, nil
}

// together is the number of rows that the library gets at once.
const together = 64

// add adds a row of about size bytes. What the row refers to must stay as it is until together more rows were added.
func (w *parquetWriter[T]) add(row T, size int) error {
	w.rows = append(w.rows, row)
	w.group++
	w.size += size
	full := w.group >= maxGroupRows || w.size >= groupBytes
	if len(w.rows) < together && !full {
		return nil
	}
	if err := w.pass(); err != nil || !full {
		return err
	}
	w.group, w.size = 0, 0
	return w.parquet.Flush()
}

// pass gives the rows to the library.
func (w *parquetWriter[T]) pass() error {
	_, err := w.parquet.Write(w.rows)
	clear(w.rows)
	w.rows = w.rows[:0]
	return err
}

// close writes the metadata and gives the file its name.
func (w *parquetWriter[T]) close(s *segment, policies []*PolicyInfo) error {
	if err := w.pass(); err != nil {
		return err
	}
	about, err := json.Marshal(head{"pipe " + s.stream, headVersion, s.number})
	if err != nil {
		return err
	}
	w.parquet.SetKeyValueMetadata(logKey, string(about))
	if s.stream == decisions {
		list, err := json.Marshal(policies)
		if err != nil {
			return err
		}
		w.parquet.SetKeyValueMetadata(policiesKey, string(list))
	}
	if err := w.parquet.Close(); err != nil {
		return err
	}
	return w.file.CloseAtomicallyReplace()
}

// writeParquet turns the lines of a segment into its Parquet file. Lines that are not whole are left out, and with repeats
// the decisions whose id came before.
func writeParquet(s *segment, repeats bool) error {
	if s.stream == outcomes {
		return writeRows(s, func(w *parquetWriter[Outcome]) ([]*PolicyInfo, error) {
			_, err := readLines(s, func(_ lineKind, body []byte) error {
				o, err := readOutcome(body)
				if err != nil {
					return err
				}
				return w.add(*o, 256+len(o.Comment))
			})
			return nil, err
		})
	}
	err := writeRecords(s, repeats, func(r *Record, p *PolicyInfo) (decisionRow, error) {
		if r.IsCascade() || r.UsagePrices != nil || r.TokenParts != nil || r.Masked != "" || r.Session != "" || r.Budgets != "" || r.AcceptedKnown {
			return decisionRow{}, errWide
		}
		return rowOf(r, p), nil
	})
	if errors.Is(err, errWide) {
		err = writeRecords(s, repeats, func(r *Record, p *PolicyInfo) (wideRow, error) {
			if r.IsCascade() {
				return wideRow{}, errWide
			}
			return wideRowOf(r, p), nil
		})
	}
	if errors.Is(err, errWide) {
		return writeRecords(s, repeats, func(r *Record, p *PolicyInfo) (stagedRow, error) { return stagedRowOf(r, p), nil })
	}
	return err
}

// errWide means that a record has values of columns that the rows of the segment do not have.
var errWide = errors.New("a record has values of columns that most segments lack")

func writeRecords[T any](s *segment, repeats bool, rowOf func(r *Record, p *PolicyInfo) (T, error)) error {
	return writeRows(s, func(w *parquetWriter[T]) ([]*PolicyInfo, error) {
		var list []*PolicyInfo
		seen := newSeen(repeats)
		_, err := recordsOfLines(s, newReusingReader(together), func(r *Record, p *PolicyInfo) error {
			if seen.again(r.ID) {
				return nil
			}
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
			row, err := rowOf(r, p)
			if err != nil {
				return err
			}
			return w.add(row, 1024+4*len(r.Features)+32*len(r.Propensity))
		})
		return list, err
	})
}

func writeRows[T any](s *segment, fill func(w *parquetWriter[T]) ([]*PolicyInfo, error)) error {
	w, err := newParquetWriter[T](s)
	if err != nil {
		return err
	}
	defer w.file.Cleanup()
	policies, err := fill(w)
	if err == nil {
		err = w.close(s, policies)
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", s.path(parquetEnding), err)
	}
	return nil
}

// recordsOfLines reads the records of a segment of lines. Those of a reader that uses memory again must not be kept.
func recordsOfLines(s *segment, reader *recordReader, use func(r *Record, p *PolicyInfo) error) (Damage, error) {
	known := map[string]*PolicyInfo{}
	return readLines(s, func(kind lineKind, body []byte) error {
		if kind == policyLine {
			p, err := readPolicy(body)
			if err == nil {
				known[p.Digest] = p
			}
			return err
		}
		r, err := reader.read(body)
		if err != nil {
			return err
		}
		if known[r.Digest] == nil {
			return errLost
		}
		p, err := policyOf(r, known)
		if err != nil {
			return err
		}
		return use(r, p)
	})
}

// policyOf returns the policy of a record that was read, after the check of the record.
func policyOf(r *Record, known map[string]*PolicyInfo) (*PolicyInfo, error) {
	p := known[r.Digest]
	if p == nil {
		return nil, &dataerror.Error{Msg: fmt.Sprintf("decision %q is of policy %s, which the segment does not describe", r.ID, r.Digest)}
	}
	return p, r.Check(p)
}
