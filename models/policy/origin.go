package policy

import (
	"cmp"
	"maps"
	"strings"
	"time"

	"pipe/costs"
	"pipe/onnx"
)

// Origin is the part of Policy.Info about the tensor that a policy was trained on: its digest, the names of its features
// if it has them, what a loss is worth and how fees were measured if that is known, and the time of its latest training
// row if it has times.
func Origin(t *costs.Tensor) map[string]string {
	about := map[string]string{OriginKey: t.Digest()}
	shared := map[string]string{costs.NamesKey: t.Meta[costs.NamesKey], costs.MoneyKey: t.Meta[costs.MoneyKey]}
	if t.Fee != nil {
		shared[costs.MeterKey] = cmp.Or(t.Meta[costs.PricesKey], "{}")
	}
	for key, value := range shared {
		if value != "" {
			about[strings.TrimPrefix(key, keyPrefix)] = value
		}
	}
	if rows := t.Rows(costs.Train); t.Times != nil && len(rows) > 0 {
		last := t.Times[rows[0]]
		for _, n := range rows {
			last = max(last, t.Times[n])
		}
		about[UntilKey] = costs.TimeText(last)
	}
	return about
}

// Shared are the metadata that a tensor of the policy's decisions has in common with the one that it was trained on, by
// their keys in tensors, and [costs.MeterKey]; as far as the file has them.
func (i *Info) Shared() map[string]string {
	shared := map[string]string{}
	for _, key := range []string{costs.NamesKey, costs.MoneyKey, costs.MeterKey} {
		if value, ok := i.Info[strings.TrimPrefix(key, keyPrefix)]; ok {
			shared[key] = value
		}
	}
	return shared
}

// Until is the time of the latest row that the policy of a file was trained on, in microseconds; ok is false where the
// file does not say.
func (i *Info) Until() (micros int64, ok bool) {
	at, err := time.Parse(time.RFC3339Nano, i.Info[UntilKey])
	return at.UnixMicro(), err == nil
}

// MeasuredFees reports whether the expected losses of the policy include measured fees. It is false for a policy with usage, and
// for files of earlier releases, which do not say.
func (i *Info) MeasuredFees() bool {
	_, ok := i.Info[strings.TrimPrefix(costs.MeterKey, keyPrefix)]
	return ok && i.Usage == nil
}

// Annotate adds one more entry of [Info.Info] to the model of a policy file, or replaces it.
func Annotate(m *onnx.Model, key, value string) {
	meta := maps.Clone(m.Metadata())
	meta[keyPrefix+key] = value
	m.SetMetadata(meta)
}
