package decide

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/models/policy"
)

// output is the destination of a sink's bytes: a file that appears when complete, or a stream that is not closed here.
type output interface {
	io.Writer
	Commit() error
	Abort()
}

type streamOutput struct{ io.Writer }

func (streamOutput) Commit() error { return nil }
func (streamOutput) Abort()        {}

// decisionSink receives decisions in order. commit completes the output, abort discards it.
type decisionSink interface {
	write(ids []string, d *policy.Decisions) error
	commit() error
	abort()
}

// openSink starts the output at path, "-" for stdout, in a format.
func openSink(path, format string, scores bool, stdout io.Writer, a *costs.Actions) (decisionSink, error) {
	if format == formatAuto && path != "-" {
		format = formatOf(path)
	}
	var out output = streamOutput{stdout}
	if path != "-" {
		file, err := atomicfile.CreateBuffered(path)
		if err != nil {
			return nil, err
		}
		out = file
	}
	switch format {
	case formatParquet:
		return newParquetSink(out, a, scores), nil
	case formatJSONL:
		return newTextSink(out, jsonlRows(a, scores)), nil
	default:
		return newTextSink(out, csvRows(a, scores)), nil
	}
}

// rowFormat appends rows to a buffer: a header once, then one row per call.
type rowFormat struct {
	head string
	row  func(dst []byte, id string, d *policy.Decisions, n int) []byte
}

// textSink writes rows of text.
type textSink struct {
	out    output
	format rowFormat
	buf    []byte
}

func newTextSink(out output, f rowFormat) *textSink {
	return &textSink{out: out, format: f, buf: []byte(f.head)}
}

func (s *textSink) write(ids []string, d *policy.Decisions) error {
	for n, id := range ids {
		s.buf = s.format.row(s.buf, id, d, n)
	}
	return s.flush()
}

func (s *textSink) flush() error {
	_, err := s.out.Write(s.buf)
	s.buf = s.buf[:0]
	if err != nil {
		return fmt.Errorf("write decisions: %w", err)
	}
	return nil
}

// commit writes the rest, which is only the header if there were no rows.
func (s *textSink) commit() error {
	if err := s.flush(); err != nil {
		s.abort()
		return err
	}
	return s.out.Commit()
}

func (s *textSink) abort() { s.out.Abort() }

// csvRows is id, action, expert, advice, expert_index, advice_index, then a column "score EXPERT/ADVICE" per pair.
func csvRows(a *costs.Actions, scores bool) rowFormat {
	head := "id,action,expert,advice,expert_index,advice_index"
	middle := make([]string, a.Len())
	for i := range middle {
		j, k := a.Pair(i)
		middle[i] = fmt.Sprintf(",%d,%s,%s,%d,%d", i, quoteCSV(a.Experts[j].Name), quoteCSV(a.Advice[k].Name), j, k)
		if scores {
			head += "," + quoteCSV("score "+a.Name(i))
		}
	}
	return rowFormat{head + "\n", func(dst []byte, id string, d *policy.Decisions, n int) []byte {
		dst = append(append(dst, quoteCSV(id)...), middle[d.Action[n]]...)
		if scores {
			for _, v := range d.Scores[n*d.Actions : (n+1)*d.Actions] {
				dst = strconv.AppendFloat(append(dst, ','), float64(v), 'g', -1, 32)
			}
		}
		return append(dst, '\n')
	}}
}

func quoteCSV(s string) string {
	if s != "" && !strings.ContainsAny(s, "\",\r\n") && s[0] != ' ' && s[0] != '\t' {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// jsonlRows writes the same as one object per line, with the scores as a list in the order of the actions.
func jsonlRows(a *costs.Actions, scores bool) rowFormat {
	middle := make([]string, a.Len())
	for i := range middle {
		j, k := a.Pair(i)
		middle[i] = fmt.Sprintf(`,"action":%d,"expert":%s,"advice":%s,"expert_index":%d,"advice_index":%d`,
			i, quoteJSON(a.Experts[j].Name), quoteJSON(a.Advice[k].Name), j, k)
	}
	return rowFormat{"", func(dst []byte, id string, d *policy.Decisions, n int) []byte {
		dst = append(append(append(dst, `{"id":`...), quoteJSON(id)...), middle[d.Action[n]]...)
		if scores {
			dst = append(dst, `,"scores":[`...)
			for i, v := range d.Scores[n*d.Actions : (n+1)*d.Actions] {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = strconv.AppendFloat(dst, float64(v), 'g', -1, 32)
			}
			dst = append(dst, ']')
		}
		return append(dst, '}', '\n')
	}}
}

func quoteJSON(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic("pipeline: a string has no JSON form: " + err.Error())
	}
	return b
}
