package decide

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
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

// columns are what a sink writes of every decision.
type columns struct {
	actions   *costs.Actions
	scores    bool // of every pair; with estimates also those of every pair
	estimates bool // expected loss and cost of the chosen pair
	accepted  bool // whether the guarantee of the policy is about the decision
}

// columnsOf are those of a policy.
func columnsOf(info *policy.Info, scores bool) columns {
	return columns{actions: info.Actions, scores: scores, estimates: info.Decoder == policy.DecoderEstimate, accepted: info.Guarantee != nil}
}

// estimate is one of the two estimates of decisions, under the name that files have for it.
type estimate struct {
	name, plural string
	of           func(d *policy.Decisions) []float32 // rows x actions
}

var estimates = []estimate{
	{policy.LossOutput, "expected_losses", func(d *policy.Decisions) []float32 { return d.Loss }},
	{policy.CostOutput, "expected_costs", func(d *policy.Decisions) []float32 { return d.Cost }},
}

// exists reports whether v is an estimate. Pairs that do not exist have a value above 1e29 instead.
func exists(v float32) bool { return v < -policy.ExcludedBelow }

// openSink starts the output at path, "-" for stdout, in a format.
func openSink(ctx context.Context, path storage.Location, format string, c columns, stdout io.Writer) (decisionSink, error) {
	var out output = streamOutput{stdout}
	if path.String() != "-" {
		file, err := atomicfile.CreateBufferedAt(ctx, path)
		if err != nil {
			return nil, err
		}
		out = file
	}
	switch written(ctx, path, format) {
	case formatParquet:
		return newParquetSink(out, c), nil
	case formatJSONL:
		return newTextSink(out, jsonlRows(c)), nil
	default:
		return newTextSink(out, csvRows(c)), nil
	}
}

// written is the format of decisions: parquet, jsonl or csv.
func written(ctx context.Context, path storage.Location, format string) string {
	if format == formatAuto && path.String() != "-" {
		format = formatOf(ctx, path)
	}
	if format == formatAuto {
		return formatCSV
	}
	return format
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

// csvRows is id, action, expert, advice, expert_index, advice_index, the estimates of the chosen pair, accepted, then a column
// "score EXPERT/ADVICE" per pair, and so on for the estimates. A pair that does not exist has empty estimates.
func csvRows(c columns) rowFormat {
	a := c.actions
	head := "id,action,expert,advice,expert_index,advice_index"
	middle := make([]string, a.Len())
	for i := range middle {
		j, k := a.Pair(i)
		middle[i] = fmt.Sprintf(",%d,%s,%s,%d,%d", i, quoteCSV(a.Experts[j].Name), quoteCSV(a.Advice[k].Name), j, k)
	}
	perPair := func(name string) {
		for _, pair := range a.Names() {
			head += "," + quoteCSV(name+" "+pair)
		}
	}
	if c.estimates {
		head += "," + policy.LossOutput + "," + policy.CostOutput
	}
	if c.accepted {
		head += "," + policy.AcceptedOutput
	}
	if c.scores {
		perPair("score")
	}
	if c.scores && c.estimates {
		perPair(policy.LossOutput)
		perPair(policy.CostOutput)
	}
	return rowFormat{head + "\n", func(dst []byte, id string, d *policy.Decisions, n int) []byte {
		dst = append(append(dst, quoteCSV(id)...), middle[d.Action[n]]...)
		first, end := n*d.Actions, (n+1)*d.Actions
		if c.estimates {
			for _, e := range estimates {
				dst = appendNumber(append(dst, ','), e.of(d)[first+int(d.Action[n])])
			}
		}
		if c.accepted {
			dst = strconv.AppendBool(append(dst, ','), d.Accepted[n])
		}
		if !c.scores {
			return append(dst, '\n')
		}
		for _, v := range d.Scores[first:end] {
			dst = appendNumber(append(dst, ','), v)
		}
		if c.estimates {
			for _, e := range estimates {
				dst = appendEstimates(append(dst, ','), e.of(d)[first:end], "")
			}
		}
		return append(dst, '\n')
	}}
}

func appendNumber(dst []byte, v float32) []byte {
	return strconv.AppendFloat(dst, float64(v), 'g', -1, 32)
}

// appendEstimates writes estimates with commas between them, and missing in place of those of pairs that do not exist.
func appendEstimates(dst []byte, values []float32, missing string) []byte {
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if exists(v) {
			dst = appendNumber(dst, v)
		} else {
			dst = append(dst, missing...)
		}
	}
	return dst
}

func quoteCSV(s string) string {
	if s != "" && !strings.ContainsAny(s, "\",\r\n") && s[0] != ' ' && s[0] != '\t' {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// jsonlRows writes the same as one object per line, with the scores and the estimates as lists in the order of the
// actions. A pair that does not exist has the estimate null.
func jsonlRows(c columns) rowFormat {
	a := c.actions
	middle := make([]string, a.Len())
	for i := range middle {
		j, k := a.Pair(i)
		middle[i] = fmt.Sprintf(`,"action":%d,"expert":%s,"advice":%s,"expert_index":%d,"advice_index":%d`,
			i, quoteJSON(a.Experts[j].Name), quoteJSON(a.Advice[k].Name), j, k)
	}
	return rowFormat{"", func(dst []byte, id string, d *policy.Decisions, n int) []byte {
		dst = append(append(append(dst, `{"id":`...), quoteJSON(id)...), middle[d.Action[n]]...)
		first, end := n*d.Actions, (n+1)*d.Actions
		if c.estimates {
			for _, e := range estimates {
				dst = appendNumber(append(dst, `,"`+e.name+`":`...), e.of(d)[first+int(d.Action[n])])
			}
		}
		if c.accepted {
			dst = strconv.AppendBool(append(dst, `,"`+policy.AcceptedOutput+`":`...), d.Accepted[n])
		}
		if c.scores {
			dst = append(dst, `,"scores":[`...)
			for i, v := range d.Scores[first:end] {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = appendNumber(dst, v)
			}
			dst = append(dst, ']')
		}
		if c.scores && c.estimates {
			for _, e := range estimates {
				dst = append(appendEstimates(append(dst, `,"`+e.plural+`":[`...), e.of(d)[first:end], "null"), ']')
			}
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
