package grow

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/internal/lists"
	"pipe/internal/strictjson"
)

// partsKey is the key in the metadata of a merged tensor for the files that it
// was made of: a JSON list of part.
const partsKey = "pipe.parts"

// part is a tensor that is part of another one.
type part struct {
	Name    string            `json:"name"`
	Digest  string            `json:"digest"` // of the file; of a folder, the digest of the lines "DIGEST  NAME" of its files
	Rows    int               `json:"rows"`
	Digests map[string]string `json:"digests,omitempty"` // of what it was made of, as its actions had them
}

// mergedFrom returns the parts that the metadata list, nil if there are none.
func (in *input) mergedFrom() ([]part, error) {
	text, ok := in.columns.Meta[partsKey]
	if !ok {
		return nil, nil
	}
	var parts []part
	if err := strictjson.Unmarshal([]byte(text), &parts); err != nil {
		return nil, &costs.DataError{File: in.path.String(), Err: fmt.Errorf("%s: is not a list of parts: %w", partsKey, strictjson.Plain(err))}
	}
	return parts, nil
}

// partNames lists the names of these parts.
func (in *input) partNames() (string, error) {
	parts, err := in.mergedFrom()
	var names []string
	for _, p := range parts {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", "), err
}

// parts lists the parts of a file: those that it was merged from, or itself.
func (in *input) parts(ctx context.Context) ([]part, error) {
	if parts, err := in.mergedFrom(); err != nil || len(parts) > 0 {
		return parts, err
	}
	sum, err := in.digest(ctx)
	if err != nil {
		return nil, err
	}
	digests := maps.Clone(in.actions.Digests)
	delete(digests, costs.FeatureDigest)
	return []part{{Name: in.name, Digest: sum, Rows: in.total, Digests: digests}}, nil
}

// describe determines the metadata of the result: what all files share, and the
// list of parts.
func (m *merger) describe(ctx context.Context) error {
	var meta, digests []map[string]string
	var parts []part
	anyUnknown := false
	for _, in := range m.inputs {
		list, err := in.parts(ctx)
		if err != nil {
			return err
		}
		parts = append(parts, list...)
		digests = append(digests, in.actions.Digests)
		without := maps.Clone(in.columns.Meta)
		delete(without, partsKey)
		meta = append(meta, without)
		if in.reader != nil {
			m.report.Left = append(m.report.Left, lists.Each(in.reader.Ignored(), func(name string) string { return "column " + name })...)
		}
		unknown, err := in.hasUnknown(ctx)
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
	m.columns.Meta[partsKey] = string(text)
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
				return &costs.DataError{File: in.path.String(), Column: key, Msg: fmt.Sprintf("differs from %q: %s; pipe merge --drop %s joins the files all the same%s", m.inputs[0].path, means, key, appendedBy[key])}
			}
		}
	}
	return nil
}
