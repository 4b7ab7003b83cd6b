package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/pipeline/textlog"
)

// TestTextsAreEncodedAnew serves with a log of texts, encodes the log by another encoder than the policy's, and trains a policy on it.
func TestTextsAreEncodedAnew(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	t.Parallel()
	service := httptest.NewServer(answer())
	t.Cleanup(service.Close)
	gateway := fmt.Sprintf(measuredGateway, service.URL)
	gateway = strings.Replace(gateway, "log: {folder: log", `log: {texts: {folder: texts, redact: ['\d{6,}']}, folder: log`, 1)
	folder := measuredFolder(t, map[string]string{
		"train.yaml": "train: {methods: [], auto: {steps: 50, seeds: 1}}\n", "serve.yaml": gateway,
		"anew.yaml": "train: {methods: [], auto: {steps: 50, seeds: 1, apart: true}}\n", // numbers that the encoder has not seen are alike to it
	})
	runIn(t, folder, "featurize", "--text", "text", "--in", "questions.csv", "--dim", "3", "--out", "other.onnx")
	s := serveIn(t, folder, "--config", "serve.yaml")
	const calls = 60
	for n := range calls {
		s.chats(t, fmt.Sprintf("how is number %d of 1234567", n))
	}
	s.stops(t)
	texts, err := textlog.Read(filepath.Join(folder, "texts"))
	if err != nil || len(texts.ByID) != calls {
		t.Fatal(len(texts.ByID), err)
	}
	for _, text := range texts.ByID {
		if !strings.HasPrefix(text, "how is number ") || !strings.HasSuffix(text, " of [redacted]") {
			t.Error(text)
		}
	}

	runIn(t, folder, "import", "--log", "log", "--no-fees", "--partial", "old.parquet")
	runIn(t, folder, "import", "--log", "log", "--no-fees", "--texts", "texts", "--encoder", "other.onnx", "--partial", "anew.parquet")
	old, anew := readTensor(t, folder, "old.parquet"), readTensor(t, folder, "anew.parquet")
	if anew.Dim != 3 || old.Dim == 3 || anew.Len() != calls || old.Len() != calls || anew.Actions.Features.Name != "text lexical" || anew.Actions.Digests[costs.FeatureDigest] == old.Actions.Digests[costs.FeatureDigest] {
		t.Errorf("%d rows of %d features %+v, before %d of %d", anew.Len(), anew.Dim, anew.Actions.Features, old.Len(), old.Dim)
	}
	for n := range anew.Len() {
		if anew.IDs[n] != old.IDs[n] || fmt.Sprint(anew.Losses(n)) != fmt.Sprint(old.Losses(n)) || fmt.Sprint(anew.Propensity) != fmt.Sprint(old.Propensity) {
			t.Fatalf("row %d is %s %v, before %s %v", n, anew.IDs[n], anew.Losses(n), old.IDs[n], old.Losses(n))
		}
	}
	if out := runIn(t, folder, "train", "--in", "anew.parquet", "--config", "anew.yaml", "--out", "second"); !strings.Contains(out, "auto") {
		t.Error(out)
	}
	if err := os.RemoveAll(filepath.Join(folder, "texts")); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--texts texts --encoder other.onnx": "texts", "--texts texts": "takes --texts and --encoder together", "--encoder other.onnx": "takes --texts and --encoder together",
	} {
		p := start(t, folder, nil, append([]string{"import", "--log", "log", "--partial", "none.parquet"}, strings.Fields(args)...)...)
		if err := <-p.ended; err == nil || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("%s: %v %s", args, err, p.stderr.String())
		}
	}
}
