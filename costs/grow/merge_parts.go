package grow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"pipe/costs"
	"pipe/internal/strictjson"
)

// PartsKey is the key in the metadata of a merged tensor for the files that it
// was made of: a JSON list of Part.
const PartsKey = "pipe.parts"

// Part is a tensor that is part of another one.
type Part struct {
	Name    string            `json:"name"`
	Digest  string            `json:"digest"` // of the file; of a folder, the digest of the lines "DIGEST  NAME" of its files
	Rows    int               `json:"rows"`
	Digests map[string]string `json:"digests,omitempty"` // of what it was made of, as its actions had them
}

// Parts returns the parts that the metadata of a tensor list, nil if there are
// none.
func Parts(meta map[string]string) ([]Part, error) {
	text, ok := meta[PartsKey]
	if !ok {
		return nil, nil
	}
	var parts []Part
	if err := strictjson.Unmarshal([]byte(text), &parts); err != nil {
		return nil, fmt.Errorf("%s: is not a list of parts: %w", PartsKey, strictjson.Plain(err))
	}
	return parts, nil
}

// parts lists the parts of a file: those that it was merged from, or itself.
func (in *input) parts(ctx context.Context) ([]Part, error) {
	parts, err := Parts(in.columns.Meta)
	if err != nil {
		return nil, &costs.DataError{File: in.path, Err: err}
	}
	if len(parts) > 0 {
		return parts, nil
	}
	sum, err := in.digest(ctx)
	if err != nil {
		return nil, err
	}
	digests := maps.Clone(in.actions.Digests)
	delete(digests, costs.FeatureDigest)
	return []Part{{Name: in.name, Digest: sum, Rows: in.total, Digests: digests}}, nil
}

// describe determines the metadata of the result: what all files share, and the
// list of parts.
func (m *merger) describe(ctx context.Context) error {
	var meta, digests []map[string]string
	var parts []Part
	anyUnknown := false
	for _, in := range m.inputs {
		list, err := in.parts(ctx)
		if err != nil {
			return err
		}
		parts = append(parts, list...)
		digests = append(digests, in.actions.Digests)
		without := maps.Clone(in.columns.Meta)
		delete(without, PartsKey)
		meta = append(meta, without)
		if in.reader != nil {
			m.report.Left = append(m.report.Left, columnWords(in.reader.Ignored())...)
		}
		unknown, err := in.hasUnknown()
		if err != nil {
			return err
		}
		anyUnknown = anyUnknown || unknown
	}
	shareNames(meta)
	text, err := json.Marshal(parts)
	if err != nil {
		return err
	}
	m.columns = m.inputs[0].columns
	m.columns.Unknown = anyUnknown
	var others []string
	m.columns.Meta, others = inAll(meta)
	if err := m.checkMetadata(others, meta); err != nil {
		return err
	}
	if m.columns.Meta == nil {
		m.columns.Meta = map[string]string{}
	}
	m.columns.Meta[PartsKey] = string(text)
	a := m.layout.actions
	a.Digests, _ = inAll(digests)
	m.report.Digests = disagree(digests)
	a.Features = m.inputs[0].actions.Features
	if m.options.FeatureName != "" {
		a.Features.Name = m.options.FeatureName
	}
	if slices.ContainsFunc(m.inputs, func(in *input) bool { return in.actions.Features.Dim > 0 }) {
		a.Features.Dim = m.columns.Dim
	}
	return nil
}

// shareNames gives the names of the features to files that do not state them,
// whose features were found to be the same.
func shareNames(meta []map[string]string) {
	for _, from := range meta {
		names, ok := from[costs.NamesKey]
		if !ok {
			continue
		}
		for i := range meta {
			if meta[i] == nil {
				meta[i] = map[string]string{}
			}
			meta[i][costs.NamesKey] = names
		}
		return
	}
}

// settledByDrop are metadata that must be equal unless MergeOptions.Drop names
// them, and what they mean.
var settledByDrop = map[string]string{
	costs.MoneyKey:  "losses and fees are worth other amounts of money, or it is not known that they are worth the same",
	costs.PricesKey: "measured fees were computed at other prices",
}

// appendedBy says how rows are appended all the same.
var appendedBy = map[string]string{costs.PricesKey: ", and pipe import --append takes the rows with --fees old"}

// checkMetadata decides about metadata that the files do not share.
func (m *merger) checkMetadata(keys []string, meta []map[string]string) error {
	for _, key := range keys {
		means, important := settledByDrop[key]
		other := key == costs.PricesKey && (m.report.Mode == Pairs || !m.columns.Fee) // other experts have other prices
		if !important || other || slices.Contains(m.options.Drop, key) {
			m.report.Left = append(m.report.Left, "metadata "+key)
			continue
		}
		for f, in := range m.inputs {
			if meta[f][key] != meta[0][key] {
				return &costs.DataError{File: in.path, Column: key, Msg: fmt.Sprintf("differs from %q: %s; pipe merge --drop %s joins the files all the same%s", m.inputs[0].path, means, key, appendedBy[key])}
			}
		}
	}
	return nil
}

func columnWords(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, "column "+name)
	}
	return out
}
