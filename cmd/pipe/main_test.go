package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/internal/storage"
	"pipe/models/estimate"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort"
	"pipe/pipeline/exitcode"
	"pipe/pipeline/learn/learntest"
)

// Most tests wait for processes of their own, so more of them run at a time than there are cores.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"pipe": main, "samples": samples, "edit": edit, "week": week})
}

// TestScripts runs the real program over the scripts in testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	library, _, err := ort.Locate("")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"answered": answered, "badpalette": badPalette, "exits": exits, "picture": picture},
		Setup: func(e *testscript.Env) error {
			e.Setenv(ort.EnvLibrary, library)
			startChat(e)
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name == "runtime" {
				return library != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// exits runs a program and checks its exit code: exits CODE PROGRAM ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var status *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &status) {
		got = status.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s exited with %d, want %d", args[1], got, want)
	}
}

// samples is a program for the scripts. It writes into the working folder a policy of two features (expert by the sign
// of the first, advice by the sign of the second), a fixed one, an any-price one, a matching cost tensor of four rows, a larger one to
// train from, one on which it pays to look at answers, and one with other experts; a small encoder of texts and a small CLIP, with policies on their vectors,
// and a picture.
func samples() {
	if err := writeSamples("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// week is a program for the scripts: learntest.Week.
func week() {
	if err := learntest.Week(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func writeSamples(dir string) error {
	actions := &costs.Actions{
		Experts:  []costs.Expert{{Name: "small", Fee: 0.01}, {Name: "large", Fee: 0.05}},
		Advice:   []costs.Advice{{Name: "none"}, {Name: "search", Fee: 0.02}},
		Features: costs.FeatureSource{Name: "two numbers", Dim: 2},
	}
	learned := &policy.Policy{
		Actions: actions, Method: "ours", Recipe: "paper", Lambda: 1, Tau: 1, Decoder: policy.DecoderComposite,
		Members: []network.MLP{{Layers: []network.Affine{{Out: 4, In: 2, W: []float32{-1, -1, -1, 1, 1, -1, 1, 1}, B: make([]float32, 4)}}}},
	}
	fixed := &policy.Policy{
		Actions: actions, Method: "auto", Recipe: "auto", Lambda: 1, Tau: 1, Decoder: policy.DecoderFixed, Dim: 2, Fixed: 1,
		Info: map[string]string{"guard": `{"fixed":"small/search","gain":0.002,"lower_bound":-0.01,"confidence":0.95,"rows":40,"fallback":true}`},
	}
	if err := writeEncoders(dir); err != nil {
		return err
	}
	prices := policy.DefaultPriceRange()
	anyPrice := &policy.Policy{
		Actions: actions, Method: "auto", Recipe: "auto", Lambda: 1, Tau: 1, Decoder: policy.DecoderEstimate, Dim: 2,
		Estimate: &policy.Estimate{
			Blend: estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.Linear{Affine: network.Affine{
				Out: 4, In: 2, W: []float32{0.25, 0.25, 0.25, -0.25, -0.25, 0.25, -0.25, -0.25}, B: []float32{0.5, 0.5, 0.5, 0.5},
			}}}}},
			Constant: []float64{0.5, 0.5, 0.5, 0.5}, Prices: &prices,
		},
	}
	for name, p := range map[string]*policy.Policy{
		"policy.onnx": learned, "fixed.onnx": fixed, "anyprice.onnx": anyPrice,
		"texts.onnx": encodedPolicy(actions, "text small", hftest.Hidden), "images.onnx": encodedPolicy(actions, "image clip", 12),
	} {
		m, err := p.Export()
		if err != nil {
			return err
		}
		if err := m.WriteFile(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := costs.Write(context.Background(), storage.File(filepath.Join(dir, "table.parquet")), sampleTable(actions, 600)); err != nil {
		return err
	}
	if err := costs.Write(context.Background(), storage.File(filepath.Join(dir, "partial.parquet")), partialTable(actions, 600)); err != nil {
		return err
	}
	if err := writeLogged(dir, actions); err != nil {
		return err
	}
	if err := costs.Write(context.Background(), storage.File(filepath.Join(dir, "looks.parquet")), coststest.Looks(1200, 1)); err != nil {
		return err
	}
	newer := sampleTable(actions, 16) // few rows, so that the older policy stays better
	for n := range newer.IDs {
		newer.IDs[n] = fmt.Sprint("newer ", n)
		newer.Features[2*n] = float32(n*7%20)/10 - 0.95
		newer.Times = append(newer.Times, int64(1000+n)*3600e6)
		copy(newer.Losses(n), []float32{0, 1, 1, 1})
		if newer.Row(n)[0] > 0 {
			copy(newer.Losses(n), []float32{1, 1, 1, 0})
		}
	}
	if err := costs.Write(context.Background(), storage.File(filepath.Join(dir, "newer.parquet")), newer); err != nil {
		return err
	}
	renamed := *actions
	renamed.Experts = []costs.Expert{{Name: "tiny"}, {Name: "large"}}
	if err := costs.Write(context.Background(), storage.File(filepath.Join(dir, "other.parquet")), sampleTable(&renamed, 8)); err != nil {
		return err
	}
	return costs.Write(context.Background(), storage.File(filepath.Join(dir, "costs.parquet")), &costs.Tensor{
		Actions: actions, Dim: 2,
		IDs:      []string{"a", "b", "c", "d"},
		Splits:   []costs.Split{costs.Train, costs.Train, costs.Val, costs.Val},
		Features: []float32{-1, -1, -1, 1, 1, -1, 1, 1},
		Loss:     []float32{0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0},
	})
}

// encodedPolicy is a policy on vectors of an encoder, of the given length.
func encodedPolicy(actions *costs.Actions, features string, dim int) *policy.Policy {
	a, w := *actions, make([]float32, 4*dim)
	a.Features = costs.FeatureSource{Name: features, Dim: dim}
	for i := range w {
		w[i] = float32(i%7) - 3
	}
	return &policy.Policy{
		Actions: &a, Method: "ours", Recipe: "paper", Lambda: 1, Tau: 1, Decoder: policy.DecoderComposite,
		Members: []network.MLP{{Layers: []network.Affine{{Out: 4, In: dim, W: w, B: make([]float32, 4)}}}},
	}
}

// writeEncoders writes the encoders small and clip, and a picture.
func writeEncoders(dir string) error {
	small, clip := filepath.Join(dir, "small"), filepath.Join(dir, "clip")
	img := image.NewNRGBA(image.Rect(0, 0, 50, 40))
	for i := range img.Pix {
		img.Pix[i] = uint8(i * i)
	}
	var b bytes.Buffer
	return errors.Join(
		os.MkdirAll(small, 0o777), hftest.WriteBERT(small),
		os.MkdirAll(clip, 0o777), hftest.WriteCLIP(clip, hftest.SpellingCLIP(1)),
		png.Encode(&b, img), os.WriteFile(filepath.Join(dir, "photo.png"), b.Bytes(), 0o666),
	)
}

// partialTable is sampleTable with times, one an hour, and unknown outcomes on half of the rows.
func partialTable(actions *costs.Actions, rows int) *costs.Tensor {
	t := sampleTable(actions, rows)
	for n := range rows {
		t.Times = append(t.Times, int64(n)*3600e6)
		if n%8 < 4 {
			t.Loss[n*4+n%4] = float32(math.NaN())
		}
	}
	return t
}

// sampleTable has rows on which small without advice is right left of zero, and large with search right of it.
func sampleTable(actions *costs.Actions, rows int) *costs.Tensor {
	t := &costs.Tensor{Actions: actions, Dim: 2}
	for n := range rows {
		u, v := float32(n%40)/20-0.975, float32(n%7)/7
		losses := []float32{0, 1, 1, 1}
		if u > 0 {
			losses = []float32{1, 1, 1, 0}
		}
		split := costs.Train
		if n%4 == 3 {
			split = costs.Val
		}
		t.IDs = append(t.IDs, fmt.Sprint("row ", n))
		t.Splits = append(t.Splits, split)
		t.Features = append(t.Features, u, v)
		t.Loss = append(t.Loss, losses...)
	}
	return t
}

// TestInterrupted cancels a decision that waits for its input, before and after the first row: the program ends with
// 130 and leaves no file.
func TestInterrupted(t *testing.T) {
	if _, _, err := ort.Locate(""); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("needs ONNX Runtime: ", err)
	}
	for _, format := range []string{"auto", "csv", "jsonl", "parquet"} {
		for _, sent := range []string{"", "id,u", "id,u,v\nx,1,2\n"} {
			t.Run(fmt.Sprintf("%s %q", format, sent), func(t *testing.T) { interruptAt(t, format, sent) })
		}
	}
}

func interruptAt(t *testing.T, format, sent string) {
	dir := t.TempDir()
	if err := writeSamples(dir); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	in, feed := io.Pipe() // never closed: a read of more than was sent blocks forever
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = io.WriteString(feed, sent)
		cancel()
	}()
	out := filepath.Join(dir, "decisions.csv")
	code := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		code <- run(ctx, []string{"decide", "--policy", filepath.Join(dir, "policy.onnx"), "--format", format, "--out", out}, in, io.Discard, &stderr)
	}()
	select {
	case got := <-code:
		if got != exitcode.Interrupted && (format != "jsonl" || got != exitcode.BadData) { // invalid JSON may come first
			t.Errorf("exit code %d (%s), want %d", got, stderr.String(), exitcode.Interrupted)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the program did not end")
	}
	for _, pattern := range []string{filepath.Join(dir, "*decisions.csv*"), filepath.Join(dir, ".*"), filepath.Join(temp, "pipe-*")} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v (%v)", left, err)
		}
	}
}

// TestFullDisk writes standard output to a full device.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		missing(t, "/dev/full", err)
	}
	defer full.Close()
	dir := t.TempDir()
	if err := writeSamples(dir); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"inspect", filepath.Join(dir, "costs.parquet")}, nil, full, &stderr)
	if code != exitcode.Failure || !strings.Contains(stderr.String(), "pipe: hint: the disk is full") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}

// missing ends a test whose requirements are not installed: it skips it, or under CI fails it.
func missing(t *testing.T, what string, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs %s: %v", what, err)
	}
	t.Skipf("needs %s: %v", what, err)
}
