package fromlog

import (
	"bufio"
	"context"
	"encoding/json"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// dsjson writes decisions as Vowpal Wabbit's DSJSON: a JSON object per line.
type dsjson struct {
	file *atomicfile.File
	out  *bufio.Writer
	rows int
}

func newDSJSON(ctx context.Context, path storage.Location) (*dsjson, error) {
	file, err := atomicfile.CreateAt(ctx, path)
	if err != nil {
		return nil, err
	}
	return &dsjson{file: file, out: bufio.NewWriterSize(file, 1<<18)}, nil
}

func (c *dsjson) abort() { c.file.Cleanup() }

// dsjsonRow is one decision. Actions are those that were available, numbered from 1; the chosen one is first in A and P.
type dsjsonRow struct {
	Cost        float64       `json:"_label_cost"`
	Probability float64       `json:"_label_probability"`
	Action      int           `json:"_label_Action"`
	Index       int           `json:"_labelIndex"`
	Timestamp   string        `json:"Timestamp"`
	Version     string        `json:"Version"`
	EventID     string        `json:"EventId"`
	PDrop       float64       `json:"pdrop"`
	A           []int         `json:"a"`
	Context     dsjsonContext `json:"c"`
	P           []float64     `json:"p"`
	State       dsjsonState   `json:"VWState"`
	Policy      string        `json:"policy"` // this and what follows is not of the form: readers pass over it
	Canary      bool          `json:"canary"`
	Share       *float64      `json:"share"`
	Executed    string        `json:"executed"` // the pair that answered; "": not known
}

type dsjsonContext struct {
	Features []float32      `json:"x,omitempty"`
	Multi    []dsjsonAction `json:"_multi"`
}

type dsjsonAction struct {
	Tag    string         `json:"_tag"`
	Expert map[string]int `json:"e"` // one feature per expert and per advice
	Advice map[string]int `json:"v"`
	Fee    map[string]any `json:"f"`
}

type dsjsonState struct {
	Model string `json:"m"`
}

func (c *dsjson) take(d Priced) error {
	row := dsjsonRow{
		Cost: d.Cost, Probability: d.Propensity[d.Action], Timestamp: time.UnixMicro(d.Time).UTC().Format("2006-01-02T15:04:05.000000Z"),
		Version: "1", EventID: d.ID, PDrop: 1 - d.Keep, State: dsjsonState{d.Digest}, Context: dsjsonContext{Features: d.Features},
		Policy: d.Policy, Canary: d.Canary, Share: shareOf(d.Record),
	}
	actions := d.About.Actions
	for i, ok := range d.Available {
		if !ok {
			continue
		}
		j, k := actions.Pair(i)
		row.Context.Multi = append(row.Context.Multi, dsjsonAction{
			Tag: actions.Name(i), Expert: map[string]int{actions.Experts[j].Name: 1}, Advice: map[string]int{actions.Advice[k].Name: 1},
			Fee: map[string]any{"fee": d.Fees[i]},
		})
		number := len(row.Context.Multi)
		row.A, row.P = append(row.A, number), append(row.P, d.Propensity[i])
		if i == d.Action {
			row.Action, row.Index = number, number-1
		}
	}
	if d.Executed >= 0 {
		row.Executed = actions.Name(d.Executed)
	}
	at := row.Index
	row.A[0], row.A[at] = row.A[at], row.A[0]
	row.P[0], row.P[at] = row.P[at], row.P[0]
	b, err := json.Marshal(row)
	if err != nil {
		return err
	}
	c.rows++
	_, err = c.out.Write(append(b, '\n'))
	return err
}

// shareOf is the share of the canary; nil where it is not known.
func shareOf(r *decisionlog.Record) *float64 {
	if r.Share == decisionlog.ShareUnknown {
		return nil
	}
	share := r.Share
	return &share
}

func (c *dsjson) close(_ context.Context, r *Result) error {
	r.Exported = c.rows
	if c.rows == 0 {
		return noOutcomes(r)
	}
	if err := c.out.Flush(); err != nil {
		return err
	}
	return c.file.CloseAtomicallyReplace()
}
