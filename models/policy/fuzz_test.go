package policy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// FuzzParsePolicy: for any values of one or two metadata entries, a policy is an error or has plausible metadata: fees
// that are numbers, as many names as features, a fixed pair that is available.
func FuzzParsePolicy(f *testing.F) {
	p := randomPolicy(rand.New(rand.NewPCG(1, 1)), DecoderComposite, 2, true)
	p.Info = map[string]string{GuardKey: `{"rows": 3, "fallback": false}`, "training_digest": "abc"}
	m, err := p.Export()
	if err != nil {
		f.Fatal(err)
	}
	good := m.Metadata()
	for key, value := range good {
		f.Add(key, value, "", "")
	}
	for _, pair := range [][4]string{
		{"pipe.lambda", "1e308"},
		{"pipe.dim", "99999999999"},
		{"pipe.decoder", "fixed", "pipe.members", "0"},
		{"pipe.guard", "null"},
		{"pipe.guard", `{"fallback": true}`},
		{"pipe.feature_names", `["a"]`},
		{"pipe.format", "2"},
		{"pipe.encoder.format", "x"},
		{"pipe.decoder", "fixed", "pipe.fixed", "-1"},
		{"pipe.actions", `{"experts":[{"name":"a"}]}`},
	} {
		f.Add(pair[0], pair[1], pair[2], pair[3])
	}
	f.Fuzz(func(t *testing.T, key, value, key2, value2 string) {
		meta := map[string]string{}
		for k, v := range good {
			meta[k] = v
		}
		meta[key] = value
		if key2 != "" {
			meta[key2] = value2
		}
		m.SetMetadata(meta)
		info, err := Parse(m)
		if err != nil {
			return
		}
		if err := info.Actions.Validate(); err != nil {
			t.Fatal(err)
		}
		if info.Dim != p.FeatureDim() && !info.Encoded || info.Names != nil && len(info.Names) != info.Dim || !(info.Lambda >= 0) || math.IsInf(info.Lambda+info.Tau, 0) {
			t.Fatalf("%+v", info)
		}
		if (info.Decoder == DecoderFixed) != (info.Fixed >= 0) || info.Fixed >= 0 && !info.Actions.Available(info.Fixed) {
			t.Fatalf("%s plays %d", info.Decoder, info.Fixed)
		}
	})
}
