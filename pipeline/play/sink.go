package play

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/models/cascade"
	"pipe/pipeline/decide"
)

// line is what was done on one row. The accepted pair has the names that the decision of a policy that decides once has.
type line struct {
	ID           string   `json:"id" parquet:"id,plain"`
	Action       int32    `json:"action" parquet:"action"` // the accepted pair
	Expert       string   `json:"expert" parquet:"expert,dict"`
	Advice       string   `json:"advice" parquet:"advice,dict"`
	ExpertIndex  int32    `json:"expert_index" parquet:"expert_index"`
	AdviceIndex  int32    `json:"advice_index" parquet:"advice_index"`
	Stages       int32    `json:"stages" parquet:"stages"`
	Executed     []string `json:"executed" parquet:"executed,list"`      // pairs, in their order
	ExpectedLoss float32  `json:"expected_loss" parquet:"expected_loss"` // of the accepted answer
	ExpectedCost float32  `json:"expected_cost" parquet:"expected_cost"` // before the first pair was executed
	Fees         *float64 `json:"fees" parquet:"fees,optional"`          // of all executed pairs, those of advice times lambda; nil where a measured one is not known
	Accepted     *bool    `json:"accepted,omitempty" parquet:"-"`        // the guarantee of the cascade accepts the answer; nil: it has none
}

// guardedLine is a line with the column of a cascade with a guarantee.
type guardedLine struct {
	line
	Accepted bool `parquet:"accepted"`
}

// sink writes lines in one of the formats of decisions.
type sink struct {
	out     io.Writer
	commit  func() error
	abort   func()
	actions *costs.Actions
	lines   func([]line) error
}

// openSink starts the output that the options name.
func openSink(ctx context.Context, o decide.StreamOptions, info *cascade.Info, stdout io.Writer) (*sink, error) {
	s := &sink{out: stdout, commit: func() error { return nil }, abort: func() {}, actions: info.Actions}
	if o.Out.String() != "-" {
		file, err := atomicfile.CreateBufferedAt(ctx, o.Out)
		if err != nil {
			return nil, err
		}
		s.out, s.commit, s.abort = file, file.Commit, file.Abort
	}
	switch kind := o.Written(ctx); {
	case kind == "parquet" && info.Guarantee != nil:
		toParquet(s, func(l line) guardedLine { return guardedLine{l, *l.Accepted} })
	case kind == "parquet":
		toParquet(s, func(l line) line { return l })
	case kind == "jsonl":
		s.lines = s.toJSON
	default:
		s.toCSV(info.Stages, info.Guarantee != nil)
	}
	return s, nil
}

// write writes what was done on the rows of t.
func (s *sink) write(t *costs.Tensor, p *cascade.Played) error {
	lines := make([]line, len(p.Order))
	for n, pairs := range p.Order {
		j, k := s.actions.Pair(p.Accepted[n])
		l := line{
			ID: t.IDs[n], Action: int32(p.Accepted[n]), Expert: s.actions.Experts[j].Name, Advice: s.actions.Advice[k].Name,
			ExpertIndex: int32(j), AdviceIndex: int32(k), Stages: int32(len(pairs)), ExpectedLoss: p.Expected[n], ExpectedCost: p.Planned[n],
		}
		fees := 0.0
		for _, fee := range p.Fees[n] {
			fees += fee
		}
		if !math.IsNaN(fees) {
			l.Fees = &fees
		}
		if p.Guaranteed != nil {
			l.Accepted = &p.Guaranteed[n]
		}
		for _, i := range pairs {
			l.Executed = append(l.Executed, s.actions.Name(i))
		}
		lines[n] = l
	}
	if err := s.lines(lines); err != nil {
		return fmt.Errorf("write decisions: %w", err)
	}
	return nil
}

func toParquet[T any](s *sink, as func(line) T) {
	w := parquet.NewGenericWriter[T](s.out, parquet.CreatedBy("pipe", "1", "0"), parquet.MaxRowsPerRowGroup(1<<17),
		parquet.DataPageStatistics(false), parquet.KeyValueMetadata(costs.ActionsKey, string(s.actions.JSON())))
	s.lines = func(lines []line) error {
		rows := make([]T, len(lines))
		for n, l := range lines {
			rows[n] = as(l)
		}
		_, err := w.Write(rows)
		return err
	}
	commit := s.commit
	s.commit = func() error {
		if err := w.Close(); err != nil {
			s.abort()
			return fmt.Errorf("write decisions: %w", err)
		}
		return commit()
	}
}

func (s *sink) toJSON(lines []line) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, l := range lines {
		if err := e.Encode(l); err != nil {
			return err
		}
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// toCSV has a column for each of the pairs that may be executed, empty where fewer were, and with a guarantee one for what it accepts.
func (s *sink) toCSV(stages int, guarantee bool) {
	head := []string{"id", "action", "expert", "advice", "expert_index", "advice_index", "stages"}
	for n := range stages {
		head = append(head, fmt.Sprintf("executed_%d", n+1))
	}
	w := csv.NewWriter(s.out)
	head = append(head, "expected_loss", "expected_cost", "fees")
	if guarantee {
		head = append(head, "accepted")
	}
	_ = w.Write(head) // an error stays until it is asked for
	s.lines = func(lines []line) error {
		for _, l := range lines {
			_ = w.Write(l.cells(stages)) // likewise
		}
		w.Flush()
		return w.Error()
	}
}

func (l line) cells(stages int) []string {
	whole := func(v int32) string { return strconv.Itoa(int(v)) }
	number := func(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }
	out := []string{l.ID, whole(l.Action), l.Expert, l.Advice, whole(l.ExpertIndex), whole(l.AdviceIndex), whole(l.Stages)}
	out = append(append(out, l.Executed...), make([]string, stages-len(l.Executed))...)
	fees := ""
	if l.Fees != nil {
		fees = strconv.FormatFloat(*l.Fees, 'g', -1, 64)
	}
	out = append(out, number(l.ExpectedLoss), number(l.ExpectedCost), fees)
	if l.Accepted != nil {
		out = append(out, strconv.FormatBool(*l.Accepted))
	}
	return out
}
