package monitor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/tablefile"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/stage"
)

// logRows are consecutive rows of a file.
type logRows struct {
	n        int
	features []float32       // n x dim
	times    []int64         // n, or nil
	executed []int           // n, -1 if not known; nil: the choices of the policy
	loss     []float64       // n, NaN if unknown; nil: tensor has them
	fee      []float64       // n, what loss has of measured fees; nil: nothing
	tensor   *costs.Tensor   // of rows with the outcomes of all pairs; nil for logs
	place    func(i int) int // the row of the file, or line of a text file, from 1
}

// logSource reads a file of new rows. next returns io.EOF after the last.
type logSource interface {
	next(ctx context.Context) (*logRows, error)
	rows() int64 // -1: not known
	timed() bool // rows have times
	close()
}

// The columns of a log besides id and features.
const (
	colExpert   = "expert"
	colAdvice   = "advice"
	colLoss     = "loss"
	colFee      = "fee"
	colTime     = "time"
	colFeatures = "features"
	colSplit    = "split"
)

// notFeatures are columns of text logs that are never features of a policy without names.
var notFeatures = []string{
	"id", colTime, colExpert, colAdvice, colLoss, colFee, colSplit, "group", "label", "action", "expert_index", "advice_index",
}

// openLog opens a file of new rows: a tensor, a decision log, or a table that may have the columns expert, advice and loss.
// raw computes the features; nil: the file has them. Measured fees are added if they count.
func openLog(ctx context.Context, path storage.Location, info *policy.Info, raw *rawColumns, fees bool) (logSource, error) {
	s, err := openKind(ctx, path, info, raw, fees)
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", err)
	}
	return s, nil
}

// hasFees reports whether the outcomes of a file of new rows have measured fees, or there are no outcomes. An error is left to
// openLog.
func hasFees(ctx context.Context, path storage.Location, raw bool) bool {
	if !raw && decisionlog.IsLog(path.String()) {
		return false
	}
	table, err := tablefile.Open(ctx, path)
	if err != nil {
		return true
	}
	defer table.Close()
	names := table.Names()
	return slices.Contains(names, colFee) || !slices.Contains(names, colLoss)
}

func openKind(ctx context.Context, path storage.Location, info *policy.Info, raw *rawColumns, fees bool) (logSource, error) {
	if raw == nil && decisionlog.IsLog(path.String()) {
		return openDecisions(path.String(), info)
	}
	table, err := tablefile.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	names := table.Names()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			table.Close()
			return nil, &costs.DataError{File: path.String(), Row: 1, Column: name, Msg: "is a duplicate"}
		}
	}
	parquet := raw == nil && (stage.IsFolder(ctx, path) || strings.EqualFold(path.Ext(), ".parquet"))
	if parquet && slices.Contains(names, colSplit) && slices.Contains(names, colLoss) && !slices.Contains(names, colExpert) {
		table.Close()
		return openTensor(ctx, path, info)
	}
	pair, err := newPairColumns(path.String(), names, info, fees)
	if err == nil && parquet {
		return openParquetLog(ctx, path, table, pair, info)
	}
	if err == nil {
		return openTextLog(path.String(), table, pair, info, raw)
	}
	table.Close()
	return nil, err
}

// pairColumns read the executed pair of a row and its outcome.
type pairColumns struct {
	file    string
	names   []string // of the columns to choose, expert and advice first
	pair    bool     // the file has expert and advice
	advice  bool     // it has advice
	loss    int      // among names; -1: none
	fee     int
	fees    bool // they count
	actions *costs.Actions
	mask    []bool
}

func newPairColumns(file string, have []string, info *policy.Info, fees bool) (*pairColumns, error) {
	c := &pairColumns{file: file, loss: -1, fee: -1, fees: fees, actions: info.Actions, mask: info.Actions.Mask()}
	has := func(name string) bool { return slices.Contains(have, name) }
	add := func(name string) int {
		c.names = append(c.names, name)
		return len(c.names) - 1
	}
	switch c.pair, c.advice = has(colExpert), has(colAdvice); {
	case c.pair && !c.advice && len(info.Actions.Advice) > 1:
		return nil, &costs.DataError{File: file, Column: colAdvice, Msg: "is missing, but there is a column expert and the policy has advice"}
	case c.advice && !c.pair:
		return nil, &costs.DataError{File: file, Column: colExpert, Msg: "is missing, but there is a column advice"}
	}
	if c.pair {
		add(colExpert)
	}
	if c.pair && c.advice {
		add(colAdvice)
	}
	if has(colLoss) {
		c.loss = add(colLoss)
	}
	if has(colFee) && c.loss >= 0 {
		c.fee = add(colFee)
	}
	return c, nil
}

// read returns the executed pair of a row, -1 if not known, and its outcome, NaN if not known, with the measured fee that is in it.
func (c *pairColumns) read(cells []tablefile.Cell, row int) (executed int, loss, paid float64, err error) {
	executed, loss = -1, math.NaN()
	if c.pair {
		if executed, err = c.executed(cells, row); err != nil {
			return 0, 0, 0, err
		}
	}
	if c.loss < 0 || cells[c.loss].Missing() {
		return executed, loss, 0, nil
	}
	if c.pair && executed < 0 {
		return 0, 0, 0, c.bad(row, colLoss, errors.New("is known, but the row does not say what was executed"))
	}
	if loss, err = cells[c.loss].FlagOrFloat(); err != nil {
		return 0, 0, 0, c.bad(row, colLoss, err)
	}
	if c.fee >= 0 && !cells[c.fee].Missing() {
		fee, err := cells[c.fee].Float()
		if err == nil && fee < 0 {
			err = fmt.Errorf("is %v; measured fees are not negative", fee)
		}
		if err != nil {
			return 0, 0, 0, c.bad(row, colFee, err)
		}
		if c.fees {
			loss, paid = loss+fee, fee
		}
	} else if c.fee >= 0 && c.fees {
		loss = math.NaN() // what it cost is not known
	}
	return executed, loss, paid, nil
}

// executed finds the pair by its names.
func (c *pairColumns) executed(cells []tablefile.Cell, row int) (int, error) {
	if cells[0].Missing() && (!c.advice || cells[1].Missing()) {
		return -1, nil
	}
	j, k := c.actions.ExpertIndex(cells[0].String()), 0
	if j < 0 {
		return 0, c.bad(row, colExpert, fmt.Errorf("%q is not an expert of the policy", cells[0].String()))
	}
	if c.advice {
		if k = c.actions.AdviceIndex(cells[1].String()); k < 0 {
			return 0, c.bad(row, colAdvice, fmt.Errorf("%q is not an advice of the policy", cells[1].String()))
		}
	}
	i := c.actions.Index(j, k)
	if !c.mask[i] {
		return 0, c.bad(row, colAdvice, fmt.Errorf("%s does not exist: the policy's actions call it unavailable", c.actions.Name(i)))
	}
	return i, nil
}

func (c *pairColumns) bad(row int, column string, err error) error {
	return &costs.DataError{File: c.file, Row: row, Column: column, Err: err}
}
