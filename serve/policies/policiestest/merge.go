// Package policiestest makes policy files for tests of the server.
package policiestest

import (
	"testing"

	"pipe/featurize"
	"pipe/internal/storage"
	"pipe/pipeline/decide"
)

// Merge writes a policy file to the path to: the policy of the file from, behind the text encoder of a model folder.
func Merge(t testing.TB, from, model, to string) {
	t.Helper()
	f, err := decide.ReadPolicy(t.Context(), storage.File(from))
	if err != nil {
		t.Fatal(err)
	}
	m, err := featurize.ReadTextModel(model, featurize.DefaultTextModelOptions())
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := m.Encoder()
	if err != nil {
		t.Fatal(err)
	}
	both, err := f.Behind(encoder, m.Info())
	if err == nil {
		err = both.WriteFile(to)
	}
	if err != nil {
		t.Fatal(err)
	}
}
