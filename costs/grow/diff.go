package grow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/progress"
	"pipe/internal/storage"
)

// The aspects of tensors that Diff compares: what DiffOptions.Ignore may name, and DiffReport.Different lists.
const (
	AspectActions    = "actions"    // experts, advice, available pairs
	AspectFees       = "fees"       // of experts and advice
	AspectFeatures   = "features"   // number, names and digest; not the values
	AspectColumns    = "columns"    // optional columns that only one has
	AspectProvenance = "provenance" // digests of other inputs, and the list of parts
	AspectMetadata   = "metadata"   // other metadata
	AspectRows       = "rows"       // rows that only one has
	AspectOrder      = "order"      // of the rows that both have
	AspectValues     = "values"     // of the rows that both have
)

// Aspects are all aspects.
func Aspects() []string {
	return []string{AspectActions, AspectFees, AspectFeatures, AspectColumns, AspectProvenance, AspectMetadata, AspectRows, AspectOrder, AspectValues}
}

// DiffOptions control Diff.
type DiffOptions struct {
	Ignore   []string // aspects that do not count as differences; they are reported all the same
	Progress progress.Progress
}

// DiffReport says what differs between two tensors, A and B.
type DiffReport struct {
	Format     int            `json:"format"`
	Equal      bool           `json:"equal"`                // nothing differs that counts
	Different  []string       `json:"different,omitempty"`  // the aspects that differ and count
	Ignored    []string       `json:"ignored,omitempty"`    // the aspects that differ and do not count
	A          DiffSide       `json:"a"`                    // the first tensor
	B          DiffSide       `json:"b"`                    // the second tensor
	Both       int            `json:"rows_in_both"`         // rows with the same id
	OtherOrder bool           `json:"other_order"`          // these rows have another order
	Actions    string         `json:"actions,omitempty"`    // the first difference of experts, advice and pairs
	Fees       []FeeChange    `json:"fees,omitempty"`       // of experts and advice that both have
	Features   []Change       `json:"features,omitempty"`   // number, names, digest
	Columns    []Change       `json:"columns,omitempty"`    // optional columns that only one has
	Provenance []Change       `json:"provenance,omitempty"` // digests of other inputs, and the list of parts
	Metadata   []Change       `json:"metadata,omitempty"`
	Values     []ColumnChange `json:"values,omitempty"` // columns with other values in rows that both have
	Pairs      []PairChange   `json:"pairs"`            // of every pair, over the rows that both have
}

// DiffSide is one of the tensors.
type DiffSide struct {
	File string  `json:"file"`
	Rows int     `json:"rows"`
	Only RowList `json:"only_here"` // rows that the other one does not have
}

// FeeChange is a fee that two tensors set differently.
type FeeChange struct {
	Kind string  `json:"kind"` // expert or advice
	Name string  `json:"name"`
	A    float64 `json:"a"`
	B    float64 `json:"b"`
}

// Diff compares two tensors, each a file or a folder of parts. Rows are matched
// by id, pairs by the names of expert and advice.
func Diff(ctx context.Context, a, b storage.Location, o DiffOptions) (*DiffReport, error) {
	if o.Progress == nil {
		o.Progress = progress.Silent{}
	}
	d := &differ{options: o}
	if err := d.run(ctx, a, b); err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	return &d.report, nil
}

type differ struct {
	options DiffOptions
	a, b    *input
	report  DiffReport
}

func (d *differ) run(ctx context.Context, a, b storage.Location) (err error) {
	for _, aspect := range d.options.Ignore {
		if !slices.Contains(Aspects(), aspect) {
			return fmt.Errorf("unknown aspect %q; known are %s", aspect, strings.Join(Aspects(), ", "))
		}
	}
	if d.a, err = openInput(ctx, a, 0); err != nil {
		return err
	}
	defer d.a.close()
	if d.b, err = openInput(ctx, b, 0); err != nil {
		return err
	}
	defer d.b.close()
	d.report.Format = 1
	if err := d.describe(); err != nil {
		return err
	}
	if err := d.compareRows(ctx); err != nil {
		return err
	}
	d.judge()
	return nil
}

// describe compares everything but the rows.
func (d *differ) describe() (err error) {
	r, x, y := &d.report, d.a.actions, d.b.actions
	r.A.File, r.A.Rows = d.a.path.String(), d.a.total
	r.B.File, r.B.Rows = d.b.path.String(), d.b.total
	if err := x.SameSet(y); err != nil {
		r.Actions = err.Error()
	}
	r.Fees = feeChanges(x, y)
	if r.Features, err = featureChanges(d.a, d.b); err != nil {
		return err
	}
	for _, c := range optional {
		if has, there := *c.flag(&d.a.columns), *c.flag(&d.b.columns); has != there {
			r.Columns = append(r.Columns, Change{c.name, presence(has), presence(there)})
		}
	}
	r.Columns = append(r.Columns, factChanges(d.a, d.b)...)
	r.Provenance = mapChanges(x.Digests, y.Digests, costs.FeatureDigest)
	if d.a.columns.Meta[partsKey] != d.b.columns.Meta[partsKey] {
		parts, err := d.partChange()
		if err != nil {
			return err
		}
		r.Provenance = append(r.Provenance, parts)
	}
	r.Metadata = mapChanges(d.a.columns.Meta, d.b.columns.Meta, partsKey, costs.NamesKey)
	return nil
}

func presence(is bool) string {
	if is {
		return "present"
	}
	return ""
}

// partChange summarises lists of parts that differ.
func (d *differ) partChange() (Change, error) {
	a, errA := d.a.partNames()
	b, errB := d.b.partNames()
	return Change{"parts", a, b}, cmp.Or(errA, errB)
}

// feeChanges compares the fees of experts and advice that both have.
func feeChanges(a, b *costs.Actions) []FeeChange {
	var list []FeeChange
	there := b.FeeList()
	for _, e := range a.Experts {
		if fee, ok := there.Experts[e.Name]; ok && fee != e.Fee {
			list = append(list, FeeChange{"expert", e.Name, e.Fee, fee})
		}
	}
	for _, v := range a.Advice {
		if fee, ok := there.Advice[v.Name]; ok && fee != v.Fee {
			list = append(list, FeeChange{"advice", v.Name, v.Fee, fee})
		}
	}
	return list
}

// compareRows compares the rows that both have.
func (d *differ) compareRows(ctx context.Context) error {
	match, err := matchRows(ctx, d.a, d.b)
	if err != nil {
		return err
	}
	r := &d.report
	r.Both, r.A.Only, r.B.Only, r.OtherOrder = match.both, match.onlyA, match.onlyB, !match.inOrder
	other, err := newFollower(ctx, d.b, match)
	if err != nil {
		return err
	}
	d.options.Progress.Start(int64(r.A.Rows), "rows")
	defer d.options.Progress.Done()
	values := newValueCount(d.a.actions, d.b.actions)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := d.a.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for n, id := range t.IDs {
			if _, both := match.index[id]; !both {
				continue
			}
			u, row, err := other.at(id)
			if err != nil {
				return err
			}
			values.add(t, n, u, row)
		}
		d.options.Progress.Add(int64(t.Len()))
	}
	r.Values, r.Pairs = values.columns(), values.means()
	return other.finish()
}

// judge says which aspects differ.
func (d *differ) judge() {
	r := &d.report
	for aspect, differs := range map[string]bool{
		AspectActions: r.Actions != "", AspectFees: len(r.Fees) > 0, AspectFeatures: len(r.Features) > 0, AspectColumns: len(r.Columns) > 0,
		AspectProvenance: len(r.Provenance) > 0, AspectMetadata: len(r.Metadata) > 0, AspectRows: r.A.Only.Rows+r.B.Only.Rows > 0,
		AspectOrder: r.OtherOrder, AspectValues: len(r.Values) > 0,
	} {
		switch {
		case !differs:
		case slices.Contains(d.options.Ignore, aspect):
			r.Ignored = append(r.Ignored, aspect)
		default:
			r.Different = append(r.Different, aspect)
		}
	}
	slices.Sort(r.Ignored)
	slices.Sort(r.Different)
	r.Equal = len(r.Different) == 0
}
